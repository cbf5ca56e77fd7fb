"""``python -m segtrial`` is the command ``evaluate``."""

from segtrial.cli import main

if __name__ == "__main__":
    main()
