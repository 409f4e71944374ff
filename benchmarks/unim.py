"""All that UniM's full size costs: reading its data, the first request, and the numbers, tables and report at the end.

    python benchmarks/unim.py    # about five minutes

This runs ``benchmarks/unim_data.py`` and ``benchmarks/unim_layout.py``, which say what they measure. Exit code 1 when
a figure misses its goal.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import unim_data, unim_layout


def main() -> int:
    return max(unim_data.main([]), unim_layout.main([]))


if __name__ == "__main__":
    sys.exit(main())
