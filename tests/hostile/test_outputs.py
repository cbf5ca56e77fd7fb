"""Outputs that are not a file, on both ways out of a container."""

from __future__ import annotations

import stat

import pytest

from containers import Bench, needs_root
from segtrial.container.failure import classify

pytestmark = pytest.mark.docker

OUT = "/output/segmentation.nii.gz"


@pytest.mark.parametrize(
    "trick",
    [
        "os.symlink('/etc/passwd', OUT)",
        "os.symlink('..', OUT)",
        "os.symlink('../../../../../../../etc/shadow', OUT)",
        "os.symlink('/proc/1/cwd/etc/hostname', OUT)",
        "os.mkfifo(OUT)",
        "os.mkdir(OUT, 0o000)",
        "os.mkdir(OUT), open(OUT + '/inner', 'w').write('x')",
        "socket.socket(socket.AF_UNIX).bind(OUT)",
    ],
)
def test_anything_but_a_file_is_unreadable(exchange_bench: Bench, trick: str) -> None:
    seen = exchange_bench.python("import os, socket", f"OUT = {OUT!r}", trick)

    assert classify(seen).outcome == "failed: unreadable_output"
    assert not exchange_bench.output.exists()


@needs_root
def test_a_file_with_a_second_name_is_refused_where_names_can_be_counted(bench: Bench) -> None:
    seen = bench.python(
        "import os",
        "open('/output/other', 'w').write('x')",
        f"os.link('/output/other', {OUT!r})",
    )

    assert classify(seen).outcome == "failed: unreadable_output"


def test_a_hard_link_to_an_input_cannot_be_made(exchange_bench: Bench) -> None:
    seen = exchange_bench.python("import os", f"os.link('/input/request.json', {OUT!r})")

    assert b"Invalid cross-device link" in seen.log.head
    assert classify(seen).outcome == "failed: crash"


@pytest.mark.parametrize("kind", ["S_IFCHR", "S_IFBLK"])
def test_a_device_cannot_be_made(bench: Bench, kind: str) -> None:
    seen = bench.python(
        "import os, stat",
        f"os.mknod({OUT!r}, stat.{kind} | 0o666, os.makedev(8, 0))",
    )

    assert b"Operation not permitted" in seen.log.head
    assert classify(seen).outcome == "failed: crash"


def test_a_setuid_file_comes_out_as_plain_bytes(exchange_bench: Bench) -> None:
    seen = exchange_bench.python(
        "import os",
        f"open({OUT!r}, 'w').write('#!/bin/sh')",
        f"os.chmod({OUT!r}, 0o6777)",
    )

    assert classify(seen).outcome == "ok"
    assert stat.S_IMODE(exchange_bench.output.stat().st_mode) == 0o600


def test_a_file_that_its_owner_may_not_read_comes_out(exchange_bench: Bench) -> None:
    seen = exchange_bench.python(
        "import os",
        f"open({OUT!r}, 'w').write('result')",
        f"os.chmod({OUT!r}, 0)",
        "os.chmod('/output', 0) if os.getuid() == 0 else None",
    )

    assert classify(seen).outcome == "ok"
    assert exchange_bench.output.read_bytes() == b"result"


def test_names_that_are_no_text_disturb_nobody(exchange_bench: Bench) -> None:
    seen = exchange_bench.python(
        "import os",
        "for name in (b'\\xff\\xfe', b'new\\nline', b'\\x1b[2J', b'-rf', b'a' * 255):",
        "    open(b'/output/' + name, 'w').write('x')",
        f"open({OUT!r}, 'w').write('result')",
    )

    assert classify(seen).outcome == "ok"


def test_programs_cannot_be_run_from_the_output(bench: Bench) -> None:
    seen = bench.python(
        "import os, shutil",
        "shutil.copy('/bin/true', '/output/true')",
        "try: os.execv('/output/true', ['true'])",
        "except OSError as error: print(error.strerror, flush=True)",
    )

    assert seen.log.head.strip() == b"Permission denied"
