"""Programs that end in strange ways, or not at all."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.markup import escape

from containers import SMALL, Bench
from segtrial.container.failure import classify
from segtrial.policy.disclosure import plain_text

pytestmark = pytest.mark.docker

SHORT = SMALL.model_copy(update={"time_s": 1.5})


def test_one_that_ignores_every_signal_is_killed_at_the_deadline(bench: Bench) -> None:
    seen = bench.python(
        "import signal, time",
        "for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:",
        "    signal.signal(number, signal.SIG_IGN)",
        "while True: time.sleep(1)",
        limits=SHORT,
    )

    assert classify(seen).outcome == "failed: timeout"


def test_one_that_stops_itself_is_killed_at_the_deadline(bench: Bench) -> None:
    seen = bench.python(
        "import os, signal",
        "os.kill(os.getpid(), signal.SIGSTOP)",
        limits=SHORT,
    )

    assert classify(seen).outcome == "failed: timeout"


@pytest.mark.parametrize(
    ("signal", "code"), [("SIGSEGV", 139), ("SIGABRT", 134), ("SIGILL", 132), ("SIGBUS", 135)]
)
def test_a_crash_by_signal_is_never_exit_code_0(bench: Bench, signal: str, code: int) -> None:
    seen = bench.python("import os, signal", f"os.kill(os.getpid(), signal.{signal})")

    assert seen.state is not None
    assert seen.state.exit_code == code
    verdict = classify(seen)
    assert (verdict.outcome, verdict.fault) == ("failed: crash", "author")


@pytest.mark.parametrize("code", [137, 143])
def test_an_exit_code_of_a_killed_process_is_ambiguous(bench: Bench, code: int) -> None:
    seen = bench.python(f"raise SystemExit({code})")

    verdict = classify(seen)
    assert (verdict.outcome, verdict.fault, verdict.retry) == ("failed: crash", "ambiguous", "once")


def test_killing_itself_is_ambiguous(bench: Bench) -> None:
    seen = bench.python("import os, signal", "os.kill(os.getpid(), signal.SIGKILL)")

    assert classify(seen).fault == "ambiguous"


def test_exit_0_without_output_is_no_output(exchange_bench: Bench) -> None:
    seen = exchange_bench.python("print('all good')")

    assert classify(seen).outcome == "failed: no_output"


def test_an_output_under_another_name_is_no_output(bench: Bench) -> None:
    seen = bench.python("open('/output/Segmentation.nii.gz', 'w').write('result')")

    assert classify(seen).outcome == "failed: no_output"


def test_a_child_cannot_change_the_output_after_the_exit(exchange_bench: Bench) -> None:
    seen = exchange_bench.python(
        "import os, time",
        "path = '/output/segmentation.nii.gz'",
        "open(path, 'w').write('honest')",
        "if os.fork() == 0:",
        "    os.setsid()",
        "    if os.fork() == 0:",
        "        out = open(path, 'w')",
        "        while True: out.seek(0); out.write('forged'); out.flush()",
        "    os._exit(0)",
        "os.wait()",
    )

    # Which of the two is read is a race inside the container; that nothing runs while it is read
    # is what the evaluator promises.
    assert seen.state is not None
    assert exchange_bench.output.read_bytes() in (b"honest", b"forged", b"")
    assert len(exchange_bench.output.read_bytes()) == seen.output.size_bytes


def test_deleting_its_own_root_deletes_nothing(bench: Bench) -> None:
    seen = bench.python(
        "import os, shutil",
        "shutil.rmtree('/', ignore_errors=True)",
        "print(os.path.exists('/bin/sh'), os.path.exists('/input/request.json'), flush=True)",
        "open('/output/segmentation.nii.gz', 'w').write('result')",
    )

    assert seen.log.head.split() == [b"True", b"True"]
    assert classify(seen).outcome == "ok"
    assert (bench.folder / "input" / "request.json").read_bytes() == b"{}"


def test_closing_every_stream_changes_nothing(bench: Bench) -> None:
    seen = bench.python(
        "import os, time",
        "for stream in (0, 1, 2): os.close(stream)",
        "time.sleep(0.5)",
        "open('/output/segmentation.nii.gz', 'w').write('result')",
    )

    assert classify(seen).outcome == "ok"


def test_terminal_escapes_and_markup_stay_text(bench: Bench) -> None:
    seen = bench.python(
        "import os",
        "os.write(1, b'\\x1b[2J\\x1b]0;owned\\x07[bold red]not red[/] ')",
        "os.write(1, b'\\xff\\x9b31m \\xe2\\x80\\xae')",
    )
    screen = io.StringIO()

    Console(file=screen, force_terminal=True, width=200).print(
        escape(plain_text(seen.log.head)), highlight=False
    )

    assert screen.getvalue().strip() == (
        "\\x1b[2J\\x1b]0;owned\\x07[bold red]not red[/] \\xff\\x9b31m \\u202e"
    )
