"""What the engine says of itself that a sealed run depends on. Pure: from its info to findings."""

from __future__ import annotations

from segtrial.container.engine import Json
from segtrial.container.finding import Finding, measured


def judge_engine(info: Json, *, host_swap_bytes: int | None) -> tuple[Finding, ...]:
    """Findings from the engine's own description.

    Parameters
    ----------
    info
        Answer of the engine's info call.
    host_swap_bytes
        Swap of the engine's host; None when that host is not this one.
    """
    return (
        _versions(info),
        _default_runtime(info),
        _seccomp(info),
        _swap(info, host_swap_bytes),
        _user_namespaces(info),
        _log_driver(info),
    )


def _versions(info: Json) -> Finding:
    runc = (info.get("RuncCommit") or {}).get("ID") or "unknown"
    return Finding(
        key="engine",
        status="note",
        sentence=(
            f"Engine {info.get('ServerVersion')}, runtime {info.get('DefaultRuntime')} ({runc}), "
            f"storage {info.get('Driver')}, control groups v{info.get('CgroupVersion')} by "
            f"{info.get('CgroupDriver')}, kernel {info.get('KernelVersion')}. Keep engine and "
            "runtime up to date: an escape that was fixed upstream is open until you update."
        ),
    )


def _default_runtime(info: Json) -> Finding:
    runtime = str(info.get("DefaultRuntime"))
    return measured(
        "default_runtime",
        holds=runtime != "nvidia",
        good="No container gets a GPU unless it is asked for.",
        bad=(
            "The engine's default runtime is nvidia, with which an image can grant itself every "
            'GPU by an environment variable. Remove "default-runtime" from '
            "/etc/docker/daemon.json and restart the engine."
        ),
    )


def _seccomp(info: Json) -> Finding:
    options = [str(option) for option in info.get("SecurityOptions") or ()]
    found = [option for option in options if option.startswith("name=seccomp")]
    return measured(
        "seccomp_profile",
        holds=bool(found) and not any("unconfined" in option for option in found),
        good="The engine filters system calls by its default seccomp profile.",
        bad=(
            "The engine filters no system calls. Use a kernel with seccomp, and leave "
            '"seccomp-profile" in /etc/docker/daemon.json at its default.'
        ),
    )


def _swap(info: Json, host_swap_bytes: int | None) -> Finding:
    return measured(
        "swap",
        holds=bool(info.get("SwapLimit")) or host_swap_bytes == 0,
        good="The memory limit has no swap behind it.",
        bad=(
            "The kernel cannot keep a container out of the host's swap, so the memory limit does "
            "not hold. Boot with swapaccount=1, use control groups v2, or switch swap off."
        ),
    )


def _user_namespaces(info: Json) -> Finding:
    options = " ".join(str(option) for option in info.get("SecurityOptions") or ())
    if "name=rootless" in options:
        sentence = "The engine runs without root: an escape would end as an ordinary user."
    elif "name=userns" in options:
        sentence = "Root in a container is an ordinary user of the host (user namespaces)."
    else:
        sentence = (
            "User namespaces are off: user numbers in a container are those of the host. Nothing "
            "of a run depends on them; userns-remap is one wall more where the engine has it."
        )
    return Finding(key="user_namespaces", status="note", sentence=sentence)


def _log_driver(info: Json) -> Finding:
    drivers = (info.get("Plugins") or {}).get("Log") or ()
    return measured(
        "log_driver",
        holds="local" in drivers,
        good="The engine has the log driver that keeps raw bytes and rotates them.",
        bad="The engine has no log driver 'local' (Docker 18.09 or newer has). Update the engine.",
    )
