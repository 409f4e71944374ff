"""Run in an environment that a package was installed into: what it has registered, and what of that cannot be loaded.

    python -m mmeval.authoring.package.installed DISTRIBUTION FILE

writes a JSON object to FILE: ``faults``, each with ``entry`` and ``reason``; ``benchmarks``, the names under which it
registers task files; ``tasks``, the names of its tasks and groups as ``benchmark/task``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, distribution
from pathlib import Path
from typing import Any

from mmeval.errors import MissingExtraError
from mmeval.plugins import GROUPS


def report(name: str) -> dict[str, Any]:
    """What an installed distribution has registered; ``Any``: it becomes JSON."""
    entries = distribution(name).entry_points
    benchmarks = {entry.name for entry in entries if entry.group == "mmeval.tasks"}
    return {
        "faults": [fault for entry in entries if (fault := _fault(entry))],
        "benchmarks": sorted(benchmarks),
        "tasks": list(_tasks(benchmarks)),
    }


def _fault(entry: EntryPoint) -> dict[str, str]:
    """Why an entry point cannot be used; empty when it can, or when it only needs an extra."""
    where = f'[project.entry-points."{entry.group}"] {entry.name} = "{entry.value}"'
    if entry.group.startswith("mmeval.") and entry.group not in GROUPS:
        return {"entry": where, "reason": f"there is no such group; the groups are {', '.join(GROUPS)}"}
    try:
        entry.load()
    except MissingExtraError:
        return {}
    except BaseException as error:  # a module may fail in any way when it is imported, and even try to exit
        return {"entry": where, "reason": f"cannot be loaded: {type(error).__name__}: {error}"}
    return {}


def _tasks(benchmarks: set[str]) -> Iterator[str]:
    from mmeval.task.index import TaskIndex

    yield from (entry.full_name for entry in TaskIndex().entries() if entry.benchmark in benchmarks)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(report(sys.argv[1])), encoding="utf-8")
