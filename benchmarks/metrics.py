"""How long the metrics take, how much memory, and how far they are from the peers'.

    python benchmarks/metrics.py [--rounds 5] [--peer-python PYTHON]

The pair is a synthetic abdomen of 15 structures (512 x 512 x 220 voxels of 0.78 x 0.78 x 2.5 mm).
Methods take turns, each turn in a fresh process, so that what else the machine does strikes all of
them; figures are medians, ratios are medians of the ratios within a round. The peers come from the
package index: surface-distance-based-measures, segauge 0.1.0, libigl, monai and torch, in the
environment of ``--peer-python`` where they do not share segtrial's.
"""

from __future__ import annotations

import sys

# A script's own folder comes first in the search path, and statistics.py there would stand in for
# the standard library's module of the same name.
sys.path.insert(0, sys.path.pop(0) + "/metrics_parts")

import argparse
import itertools
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from edge_cases import CASES, growing_noise
from methods import cropped, igl, labels_of, mask_pairs
from synthetic_abdomen import SPACING_MM, STRUCTURES, LabelMap, synthetic_pair

from segtrial.metrics import evaluate_label_maps

PARTS = Path(__file__).parent / "metrics_parts"
Turn = dict[str, Any]
OURS = "segtrial"
IN_TURNS = (
    OURS,
    "segtrial, 1 thread",
    "surface-distance",
    "surface-distance, pre-cropped",
    "igl",
    "igl, pre-cropped",
)
SLOW = ("segauge", "monai")
EXAMPLE = "pancreas"
EXAMPLE_PEERS = ("igl", "surface-distance", "segauge", "monai")
MOST_BY_IGL = 3  # labels of an edge case
KEYS = ("dice", "iou", "hd", "hd95", "hd95_pooled", "assd", "masd", "nsd")


def main() -> None:
    """Run every part and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-rounds", type=int, default=1)
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--only", choices=["turns", "files", "edges", "growth", "example"])
    options = parser.parse_args()
    print(f"{os.cpu_count()} processors, Python {sys.version.split()[0]}, numpy {np.__version__}")
    parts: dict[str, Callable[[argparse.Namespace], None]] = {
        "turns": turns,
        "files": whole_processes,
        "edges": edges,
        "growth": growth,
        "example": example,
    }
    for name, part in parts.items():
        if options.only in (None, name):
            part(options)


def turns(options: argparse.Namespace) -> None:
    """All methods on the abdomen, in turns."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_pair(folder, *synthetic_pair())
        taken: dict[str, list[Turn]] = {method: [] for method in (*IN_TURNS, *SLOW)}
        for number in range(options.rounds):
            slow = SLOW if number < options.slow_rounds else ()
            for method in (*IN_TURNS, *slow):
                taken[method].append(turn(method, folder, options.peer_python))
    print_turns(taken)
    found = {method: results[0]["found"] for method, results in taken.items() if results}
    print_differences(found)


def save_pair(folder: Path, reference: LabelMap, prediction: LabelMap) -> None:
    """What a turn reads."""
    np.save(folder / "reference.npy", reference)
    np.save(folder / "prediction.npy", prediction)
    (folder / "spacing.json").write_text(json.dumps(SPACING_MM))


def turn(method: str, folder: Path, peer_python: str) -> Turn:
    """One method's turn in a fresh process."""
    python = sys.executable if method.startswith(OURS) else peer_python
    command = [python, str(PARTS / "methods.py"), method, str(folder)]
    done = subprocess.run(  # noqa: S603 - our own script, and the interpreter the user named
        command, check=True, capture_output=True, text=True
    )
    result: Turn = json.loads(done.stdout.splitlines()[-1])
    return result


def print_turns(taken: dict[str, list[Turn]]) -> None:
    """Seconds, ratios and memory of each method."""
    print("\n| method | s, median | of | rounds | times segtrial | CPU s | peak MiB above |")
    print("|---|---|---|---|---|---|---|")
    ours = [one["seconds"] for one in taken[OURS]]
    for method, results in taken.items():
        if not results:
            continue
        seconds = [one["seconds"] for one in results]
        ratio = float(np.median([s / o for s, o in zip(seconds, ours, strict=False)]))
        cpu, above = (
            float(np.median([one[key] for one in results])) for key in ("cpu_seconds", "above_mib")
        )
        print(
            f"| {method} | {np.median(seconds):.3f} | {min(seconds):.3f} to {max(seconds):.3f} "
            f"| {len(seconds)} | {ratio:.1f} | {cpu:.2f} | {above:.0f} |"
        )


def print_differences(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """Largest relative difference to segtrial of each metric, over all structures."""
    print("\nlargest relative difference to segtrial, over all structures")
    print("\n| method | " + " | ".join(KEYS) + " |\n|" + "---|" * (len(KEYS) + 1))
    for method, structures in found.items():
        if method.startswith(OURS) or "pre-cropped" in method:
            continue
        cells = []
        for key in KEYS:
            pairs = [
                (theirs[key], found[OURS][name][key])
                for name, theirs in structures.items()
                if key in theirs
            ]
            worst = max((relative(a, b) for a, b in pairs), default=None)
            cells.append("" if worst is None else f"{worst:.1g}")
        print(f"| {method} | " + " | ".join(cells) + " |")


def example(options: argparse.Namespace) -> None:
    """What each method says of one structure: the table of docs/metrics.md."""
    masks = [label_map == STRUCTURES[EXAMPLE] for label_map in synthetic_pair()]
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_pair(folder, *(mask.astype(np.uint8) for mask in cropped((masks[0], masks[1]))))
        for method in (OURS, *EXAMPLE_PEERS):
            found[method] = turn(method, folder, options.peer_python)["found"]["1"]
    print(
        f"\n{EXAMPLE}: value, and difference to segtrial\n\n| method | " + " | ".join(KEYS) + " |"
    )
    print("|" + "---|" * (len(KEYS) + 1))
    for method, values in found.items():
        cells = [
            f"{values[key]:.4f}{difference(values[key], found[OURS][key])}" if key in values else ""
            for key in KEYS
        ]
        print(f"| {method} | " + " | ".join(cells) + " |")


def difference(value: float, ours: float) -> str:
    """Difference to segtrial's value in percent, where four digits show one."""
    share = 100 * (value - ours) / ours
    return f" ({share:+.1f} %)" if abs(share) >= 0.05 else ""


def relative(value: float, reference: float) -> float:
    """Difference relative to a reference value, or to 0.001 where that is smaller.

    Where surfaces coincide rounding gives 1e-14 mm for 0.
    """
    return abs(value - reference) / max(abs(reference), 1e-3)


def whole_processes(options: argparse.Namespace) -> None:
    """From two compressed files to all metrics, start of the interpreter and imports included."""
    scripts = {
        OURS: [sys.executable, str(PARTS / "files_segtrial.py")],
        "nibabel + surface-distance": [options.peer_python, str(PARTS / "files_peer.py")],
    }
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / "reference.nii.gz", Path(name) / "prediction.nii.gz"]
        for file, label_map in zip(files, synthetic_pair(), strict=True):
            image = nibabel.Nifti1Image(label_map, np.diag([*SPACING_MM, 1.0]))
            nibabel.save(image, file)
        seconds: dict[str, list[float]] = {method: [] for method in scripts}
        for _ in range(options.rounds):
            for method, script in scripts.items():
                started = time.perf_counter()
                subprocess.run(  # noqa: S603 - as above
                    [*script, *map(str, files)], check=True, capture_output=True
                )
                seconds[method].append(time.perf_counter() - started)
    print("\nwhole process, from two .nii.gz files\n")
    print("| method | s, median | times segtrial |\n|---|---|---|")
    for method, times in seconds.items():
        ratio = np.median([t / o for t, o in zip(times, seconds[OURS], strict=True)])
        print(f"| {method} | {np.median(times):.3f} | {ratio:.1f} |")


def edges(_: argparse.Namespace) -> None:
    """Hard cases: time beside libigl's, and the largest difference of any metric."""
    print("\n| case | segtrial ms | igl ms | largest relative difference |\n|---|---|---|---|")
    for name, (make, spacing_mm) in CASES.items():
        reference, prediction = make()
        started = time.perf_counter()
        found = evaluate_label_maps(reference, prediction, spacing_mm=spacing_mm)
        ours_ms = 1000 * (time.perf_counter() - started)
        started = time.perf_counter()
        worst = 0.0
        pairs = mask_pairs(reference, prediction, labels_of(reference))
        for label, masks in itertools.islice(pairs, MOST_BY_IGL):
            exact = igl(masks, list(spacing_mm))
            worst = max(
                worst, *(relative(found[label][key] or 0.0, value) for key, value in exact.items())
            )
        igl_ms = f"{1000 * (time.perf_counter() - started):.0f}"
        if len(found) > MOST_BY_IGL:
            igl_ms += f" for {MOST_BY_IGL} labels"
        print(f"| {name} | {ours_ms:.1f} | {igl_ms} | {worst:.0e} |", flush=True)


def growth(_: argparse.Namespace) -> None:
    """Time per voxel of noise while the volume grows."""
    print("\n| noise 20 % | s | us per voxel |\n|---|---|---|")
    for shape, (reference, prediction) in growing_noise():
        started = time.perf_counter()
        evaluate_label_maps(reference, prediction, spacing_mm=SPACING_MM)
        seconds = time.perf_counter() - started
        size = "x".join(map(str, shape))
        print(f"| {size} | {seconds:.3f} | {1e6 * seconds / reference.size:.2f} |")


if __name__ == "__main__":
    main()
