"""Loads a package's entry points; prints ``GROUP NAME``, tab and reason of faults.
python -m mmeval.authoring.package.load FOLDER"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.metadata import distributions

from mmeval.errors import Caught, MissingExtraError


def faults(folder: str) -> Iterator[str]:
    (found,) = distributions(path=[folder])
    for entry in found.entry_points:
        with Caught() as failure, redirect_stdout(sys.stderr):
            entry.load()
        if failure and not isinstance(failure.error, MissingExtraError):
            yield (
                f"{entry.group} {entry.name}\tcannot be loaded: "
                f"{' '.join(failure.reason.split())}"
            )


if __name__ == "__main__":
    sys.stdout.writelines(f"{fault}\n" for fault in faults(sys.argv[1]))
