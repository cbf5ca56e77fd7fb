#!/usr/bin/env bash
# Makes sure that a Chromium is there for the page's tests; installs Debian's where it may.
set -euo pipefail

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then
    exit 0
  fi
done

how="Install one (Debian, Ubuntu: apt-get install chromium) and run this again; 'make quick' runs
every test that needs no browser and no container engine."
if [[ -n "${NO_INSTALL:-}" ]]; then
  printf 'No Chromium was found, and NO_INSTALL is set. %s\n' "$how" >&2
  exit 1
fi
if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
  printf 'No Chromium was found, and only root on Debian or Ubuntu can have it installed here. %s\n' "$how" >&2
  exit 1
fi
echo "no Chromium found: installing the package 'chromium' (NO_INSTALL=1 stops this)"
log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -o DPkg::Lock::Timeout=120) # another apt may be at work
if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends chromium; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "Installing Chromium failed (above are the last lines). $how" >&2
  exit 1
fi
