"""2,000 attempts with random kills of the evaluator and of the engine; prints what was lost.

make soak        (or: python benchmarks/soak.py --attempts 100)
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from private_engine import running_engine
from segtrial.container.base_image import BASE_TAG, ensure_base_image
from segtrial.container.engine import connect
from soak import soak


def main() -> None:
    """Soak, and print one line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--between-kills", type=int, default=60, help="most attempts between two kills"
    )
    asked = parser.parse_args()
    base = ensure_base_image(connect(), announce=print).id
    with running_engine(storage="overlay2") as engine, tempfile.TemporaryDirectory() as work:
        engine.load(base, tag=BASE_TAG)
        seen = soak(
            Path(work),
            attempts=asked.attempts,
            seed=asked.seed,
            engine=engine,
            between_kills=asked.between_kills,
            say=partial(print, flush=True),
        )
    print(f"attempts {seen.attempts} in {seen.time_s:.0f} s")
    print(f"kills of the evaluator {seen.evaluator_kills}, of the engine {seen.engine_kills}")
    print(f"final attempts lost {seen.lost}, wrong outcomes {seen.wrong}")
    print(f"left behind: {', '.join(seen.left_behind) or 'nothing'}")


if __name__ == "__main__":
    main()
