"""From two compressed files to every metric, by segtrial: read at once, checked, canonical."""

from __future__ import annotations

import sys

from segtrial.metrics import evaluate_label_maps
from segtrial.scans import read_pair, to_canonical


def main() -> None:
    """Read, measure, print."""
    pair = read_pair(
        sys.argv[1],
        sys.argv[2],
        allowed_labels=frozenset(range(1, 16)),
        max_bytes=1 << 30,
    )
    reference, prediction = to_canonical(pair.reference), to_canonical(pair.prediction)
    found = evaluate_label_maps(
        reference.labels,
        prediction.labels,
        spacing_mm=reference.grid.spacing_mm,
        structures={str(label): label for label in range(1, 16)},
    )
    print({name: record.as_dict() for name, record in found.items()})


if __name__ == "__main__":
    main()
