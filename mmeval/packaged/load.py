"""Loads the entry points of the package in a folder; prints ``GROUP NAME``, a tab and a reason for each that cannot be.

python -m mmeval.packaged.load FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.metadata import distributions

from mmeval.errors import MissingExtraError


def faults(folder: str) -> Iterator[str]:
    (found,) = distributions(path=[folder])
    for entry in found.entry_points:
        try:
            with redirect_stdout(sys.stderr):
                entry.load()
        except MissingExtraError:
            pass
        except BaseException as error:  # a module may fail in any way when it is imported, and even try to exit
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            yield f"{entry.group} {entry.name}\tcannot be loaded: {reason}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{fault}\n" for fault in faults(sys.argv[1]))
