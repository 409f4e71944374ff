"""Loads a package's entry points and prints each fault as ``GROUP NAME``, a tab and the
reason. Run it by ``python -m mmeval.authoring.package.load FOLDER``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.metadata import distributions

from mmeval.errors import MissingExtraError


def faults(folder: str) -> Iterator[str]:
    (package,) = distributions(path=[folder])
    for entry in package.entry_points:
        try:
            with redirect_stdout(sys.stderr):
                entry.load()
        except MissingExtraError:
            continue
        # the code of a plugin may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            yield f"{entry.group} {entry.name}\tcannot be loaded: {reason}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{fault}\n" for fault in faults(sys.argv[1]))
