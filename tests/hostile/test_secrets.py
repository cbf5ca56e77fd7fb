"""Programs that look for the reference, the case, the network or the host."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from containers import Bench
from segtrial.container.failure import classify
from segtrial.contracts.limits import Relaxations

pytestmark = pytest.mark.docker

CASE = "patient-0042-unmistakable"
"""Name of a folder of the host on the path of the staged case, and of one beside it."""


@pytest.fixture
def named_bench(exchange_bench: Bench) -> Bench:
    """A bench whose staged case lies below a folder that names it, beside its reference."""
    folder = exchange_bench.folder / CASE
    folder.mkdir()
    (exchange_bench.folder / "input").rename(folder / "input")
    (folder / "reference.nii.gz").write_bytes(b"reference")
    return replace(exchange_bench, folder=folder)


def test_nothing_a_container_can_read_names_the_case(named_bench: Bench) -> None:
    """Its own mounts, environment, groups and input: `/proc` shows host paths to everybody."""
    seen = named_bench.python(
        "import os",
        "for name in ('mountinfo', 'mounts', 'environ', 'cgroup', 'cmdline', 'maps', 'status'):",
        "    print(open(f'/proc/self/{name}', 'rb').read(), flush=True)",
        "    print(open(f'/proc/1/{name}', 'rb').read() if name != 'environ' else '', flush=True)",
        "print(dict(os.environ), os.uname(), os.listdir('/'), flush=True)",
        "for folder, _, files in os.walk('/input'):",
        "    print(folder, files, flush=True)",
        "    for file in files: print(open(os.path.join(folder, file), 'rb').read(), flush=True)",
    )

    assert seen.state is not None
    assert seen.state.exit_code == 0, seen.log
    printed = seen.log.head + seen.log.tail
    assert b"request.json" in printed
    assert b"/input" in printed
    for secret in (CASE, named_bench.folder.name, "reference", str(named_bench.folder.parent)):
        assert secret.encode() not in printed


def test_times_and_inodes_of_the_input_say_nothing(named_bench: Bench) -> None:
    """Whenever the case was staged, every attempt sees the same inodes, and no time but its own."""
    look = (
        "import os",
        "for name in ('/input', '/input/request.json', '/input/scan.nii.gz'):",
        "    seen = os.stat(name)",
        "    print(seen.st_ino, seen.st_mode, seen.st_uid, seen.st_gid, seen.st_size)",
        "    print('times', seen.st_atime, seen.st_mtime, seen.st_ctime)",
    )
    printed = []
    for age_s in (1000, 1_000_000):
        for path in (named_bench.folder / "input").iterdir():
            os.utime(path, (age_s, age_s))
        began = time.time()
        rows = named_bench.python(*look).log.head.decode().splitlines()
        times = [float(t) for row in rows if row.startswith("times") for t in row.split()[1:]]
        assert len(times) == 9
        assert all(moment == 0 or moment > began - 1 for moment in times)
        printed.append([row for row in rows if not row.startswith("times")])

    assert len(printed[0]) == 3
    assert printed[0] == printed[1]


def test_no_file_system_of_the_host_is_in_reach(named_bench: Bench) -> None:
    seen = named_bench.python(
        "import os",
        f"needles = ({CASE!r}, 'reference.nii.gz')",
        "for top in ('/', '/proc/1/root', '/proc/self/cwd', '/dev', '/run', '/sys/fs'):",
        "    for folder, inner, files in os.walk(top):",
        "        inner[:] = [i for i in inner if i not in ('proc', 'usr', 'bin', 'lib')]",
        "        found = [f for f in [*inner, *files] if any(n in f for n in needles)]",
        "        if found: print('FOUND', folder, found, flush=True)",
        "print('searched', flush=True)",
    )

    assert seen.log.head.strip() == b"searched"


def test_the_input_cannot_be_changed(exchange_bench: Bench) -> None:
    program = (
        "import os",
        "def attempt(act, *arguments):",
        "    try: act(*arguments); print('DONE', act.__name__, flush=True)",
        "    except OSError as error: print(error.strerror, flush=True)",
        "attempt(open, '/input/new', 'w')",
        "attempt(open, '/input/request.json', 'a')",
        "attempt(os.unlink, '/input/request.json')",
        "attempt(os.chmod, '/input/request.json', 0o777)",
        "attempt(os.rename, '/input/request.json', '/input/other')",
    )

    for granted in (Relaxations(), Relaxations(root=True)):
        seen = exchange_bench.run(replace(exchange_bench.spec(*program), granted=granted))
        rows = seen.log.head.splitlines()
        assert len(rows) == 5
        assert set(rows) <= {b"Read-only file system", b"Permission denied"}
    assert set(rows) == {b"Read-only file system"}
    assert (exchange_bench.folder / "input" / "request.json").read_bytes() == b"{}"


def test_the_root_file_system_cannot_be_written(bench: Bench) -> None:
    seen = bench.python(
        "import os",
        "for folder in ('/', '/etc', '/usr/bin', '/var/tmp', '/root', '/home', '/opt', '/run'):",
        "    try: open(os.path.join(folder, 'x'), 'w'); print('WROTE', folder, flush=True)",
        "    except OSError: pass",
        "open('/tmp/x', 'w').close()",
        "open(os.path.expanduser('~/y'), 'w').close()",
        "print('tried', flush=True)",
    )

    assert seen.log.head.strip() == b"tried"


def test_there_is_no_network(bench: Bench) -> None:
    seen = bench.python(
        "import os, socket",
        "print(os.listdir('/sys/class/net'), flush=True)",
        "socket.setdefaulttimeout(2)",
        "def attempt(what, act):",
        "    try: act(); print('REACHED', what, flush=True)",
        "    except OSError as error: print(what, type(error).__name__, flush=True)",
        "tcp = lambda host: socket.create_connection((host, 80))",
        "attempt('tcp', lambda: tcp('1.1.1.1'))",
        "attempt('metadata', lambda: tcp('169.254.169.254'))",
        "attempt('bridge', lambda: tcp('172.17.0.1'))",
        "attempt('tcp6', lambda: tcp('2606:4700:4700::1111'))",
        "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "attempt('udp', lambda: udp.sendto(b'x', ('8.8.8.8', 53)))",
        "attempt('dns', lambda: socket.gethostbyname('example.org'))",
        "attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))",
        "attempt('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))",
    )

    rows = seen.log.head.decode().splitlines()
    assert rows[0] == "['lo']"
    assert len(rows) == 9
    assert not [row for row in rows if "REACHED" in row]


def test_it_has_no_rights_and_cannot_gain_any(bench: Bench) -> None:
    seen = bench.python(
        "import os",
        "rows = dict(r.split(':\\t', 1) for r in open('/proc/self/status').read().splitlines())",
        "names = ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp')",
        "print([rows[name] for name in names], os.getuid(), flush=True)",
    )

    none = "0" * 16
    assert seen.log.head.decode().strip() == f"{[none] * 5 + ['1', '2']} 65534"


def test_kernel_doors_are_shut(bench: Bench) -> None:
    """Calls that the default seccomp profile refuses, or that need a capability."""
    seen = bench.python(
        "import ctypes, errno, os",
        "libc = ctypes.CDLL(None, use_errno=True)",
        "def attempt(name, *arguments):",
        "    ctypes.set_errno(0)",
        "    result = getattr(libc, name)(*arguments)",
        "    print(name, result, errno.errorcode.get(ctypes.get_errno()), flush=True)",
        "attempt('unshare', 0x10000000)  # a user namespace",
        "attempt('mount', b'none', b'/tmp', b'tmpfs', 0, None)",
        "attempt('sethostname', b'x', 1)",
        "attempt('chroot', b'/tmp')",
        "for path in ('/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern', '/dev/mem'):",
        "    try: open(path, 'w'); print('OPENED', path, flush=True)",
        "    except OSError: pass",
    )

    rows = seen.log.head.decode().splitlines()
    assert len(rows) == 4
    assert all(row.endswith(("-1 EPERM", "-1 ENOSYS")) for row in rows)


def test_processes_of_the_host_cannot_be_seen(bench: Bench) -> None:
    seen = bench.python(
        "import os",
        "print(sorted(int(p) for p in os.listdir('/proc') if p.isdecimal()), flush=True)",
    )

    pids = seen.log.head.decode()
    assert pids.startswith("[1, ")
    assert pids.count(",") <= 2


def test_engine_sockets_are_not_in_reach(bench: Bench) -> None:
    seen = bench.python(
        "import os, socket",
        "for path in ('/var/run/docker.sock', '/run/docker.sock', '/run/containerd'):",
        "    if os.path.exists(path): print('FOUND', path, flush=True)",
        "names = open('/proc/net/unix').read().splitlines()[1:]",
        "print(len(names), flush=True)",
    )

    assert seen.log.head.strip() == b"0"
    assert classify(seen).outcome == "failed: no_output"
