#!/bin/sh
# Makes sure that a container engine answers. Where one does already, nothing happens.
#
# As root on Debian or Ubuntu it installs the package docker.io and starts dockerd; anywhere else,
# and with NO_INSTALL=1, it says what to do and ends with exit code 1.
#
#   NO_INSTALL=1         install and start nothing
#   SEGTRIAL_STUB_GPU=1  for tests without a GPU: the engine is started with a stand-in for NVIDIA's
#                        start hook, so that requests for a GPU are accepted (and nothing is given)
set -eu

SOCKET=/var/run/docker.sock
STATE=/run/segtrial-engine
LOG=/var/log/segtrial-dockerd.log
START_S=60

say() { printf 'engine: %s\n' "$*"; }

give_up() {
    printf '%s\n' "$*" >&2
    exit 1
}

# answers SOCKET: true when an engine behind it says OK within five seconds.
answers() {
    python3 - "$1" <<'PYTHON' 2>/dev/null
import socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.settimeout(5)
    connection.connect(sys.argv[1])
    connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
    answer = b"".join(iter(lambda: connection.recv(4096), b""))
sys.exit(not answer.endswith(b"OK"))
PYTHON
}

# is_running PIDFILE NAME: true when the file names a living process of that name.
is_running() {
    pid=$(cat "$1" 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ]
}

what_to_do() {
    cat <<'TEXT'
No container engine answers on this machine, and segtrial runs every model in a container. Install
Docker Engine 20.10 or newer (on Debian and Ubuntu: `apt-get install docker.io`, as root) and start
it (`systemctl start docker`, or `dockerd` where there is no systemd). The user who runs segtrial
has to be root or in the group docker. Then type the same command again.
TEXT
}

install_engine() {
    command -v dockerd >/dev/null && return
    command -v apt-get >/dev/null || give_up "$(what_to_do)"
    say 'installing the package docker.io (NO_INSTALL=1 prevents this)'
    export DEBIAN_FRONTEND=noninteractive
    set -- install -y -qq -o DPkg::Lock::Timeout=120 --no-install-recommends docker.io
    # The package lists of a fresh machine may be absent or old.
    apt-get "$@" >/dev/null 2>&1 || { apt-get update -qq && apt-get "$@" >/dev/null; } ||
        give_up 'engine: docker.io could not be installed; apt said why above. Install it by hand, then type the same command again.'
}

# The engine needs control groups; a bare container or a minimal virtual machine mounts none.
mount_cgroups() {
    mountpoint -q /sys/fs/cgroup && return
    say 'mounting the control groups'
    if mount -t cgroup2 cgroup2 /sys/fs/cgroup && grep -qw memory /sys/fs/cgroup/cgroup.controllers; then
        return
    fi
    umount /sys/fs/cgroup 2>/dev/null || true
    mount -t tmpfs -o mode=0755 cgroup /sys/fs/cgroup
    for controller in $(awk '$4 == 1 { print $1 }' /proc/cgroups); do
        mkdir -p "/sys/fs/cgroup/$controller"
        mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller" ||
            rmdir "/sys/fs/cgroup/$controller"
    done
}

# A killed engine leaves its process numbers behind; the next one refuses to start if the number
# belongs to anybody by now.
forget_dead_engines() {
    is_running /var/run/docker.pid dockerd || rm -f /var/run/docker.pid
    for file in /var/run/docker/containerd/containerd.pid /var/run/docker/containerd/docker-containerd.pid; do
        is_running "$file" containerd || rm -f "$file"
    done
}

stub_gpu() {
    [ "${SEGTRIAL_STUB_GPU:-}" = 1 ] || return 0
    command -v nvidia-container-runtime-hook >/dev/null && return
    say 'with a stand-in for the GPU hook (SEGTRIAL_STUB_GPU=1)'
    mkdir -p "$STATE"
    printf '#!/bin/sh\nexit 0\n' >"$STATE/nvidia-container-runtime-hook"
    chmod 0755 "$STATE/nvidia-container-runtime-hook"
    PATH="$STATE:$PATH"
    export PATH
}

# start_by_hand [OPTION...]: dockerd in a session of its own, so that it outlives this script, its
# terminal and a Ctrl-C typed there. True once it answers.
start_by_hand() {
    : >"$LOG"
    setsid dockerd "$@" >>"$LOG" 2>&1 </dev/null &
    daemon=$!
    wait_for_answer "$daemon"
}

# wait_for_answer PID: until the engine answers, nobody is starting one any more, or time is up.
# (A package's own start script may be as quick as we are; then ours ends and its engine answers.)
wait_for_answer() {
    waited=0
    while [ "$waited" -lt "$START_S" ]; do
        answers "$SOCKET" && return
        kill -0 "$1" 2>/dev/null || is_running /var/run/docker.pid dockerd || return 1
        sleep 1
        waited=$((waited + 1))
    done
    return 1
}

start_engine() {
    if [ -d /run/systemd/system ] && systemctl start docker 2>/dev/null; then
        say 'started by systemd'
        wait_for_answer 1 && return
        give_up "engine: docker.service was started but does not answer within $START_S s; see \`journalctl -u docker\`."
    fi
    if is_running /var/run/docker.pid dockerd; then
        say 'waiting for the dockerd that is starting'
        wait_for_answer "$(cat /var/run/docker.pid)" && return
        give_up "engine: a dockerd (process $(cat /var/run/docker.pid)) is running but does not answer within $START_S s. End it, then type the same command again."
    fi
    mount_cgroups
    forget_dead_engines
    stub_gpu
    say "starting dockerd; it writes to $LOG"
    start_by_hand && return
    if grep -qi iptables "$LOG"; then
        # Sealed runs have no network, so all that is lost is a network while building images.
        say 'this kernel cannot filter packets; starting without a bridge, so builds have no network'
        start_by_hand --iptables=false --bridge=none && return
    fi
    tail -n 15 "$LOG" >&2
    give_up "engine: dockerd does not answer; the end of $LOG is above. Correct what it says, then type the same command again."
}

case "${DOCKER_HOST:-}" in
'') ;;
unix://*) SOCKET=${DOCKER_HOST#unix://} ;;
*)
    say "DOCKER_HOST is $DOCKER_HOST; that engine is used as it is"
    exit 0
    ;;
esac

if answers "$SOCKET"; then
    say "one answers at $SOCKET"
elif [ "${NO_INSTALL:-}" = 1 ] || [ "$(id -u)" != 0 ] || [ -n "${DOCKER_HOST:-}" ]; then
    give_up "$(what_to_do)"
else
    say "none answers at $SOCKET"
    install_engine
    start_engine
    say 'ready'
fi
