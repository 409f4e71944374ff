"""Two tasks and the group of both, for tests of what becomes of a group when the data of one task are at fault."""

from __future__ import annotations

from pathlib import Path

_TASK = """
task: {name}
dataset_path: {name}_data
metric_list: [{{metric: exact_match}}]
metadata: {{version: 1.0}}
"""
_BOTH = """
group: both
task: [{names}]
aggregate_metric_list: [{{metric: exact_match}}]
metadata: {{version: 1.0}}
"""


def write_pair(folder: Path, *names: str) -> Path:
    """The files of the tasks, whose data are to lie in ``NAME_data`` beside them, and of the group ``both``."""
    for name in names:
        (folder / f"{name}.yaml").write_text(_TASK.format(name=name))
    (folder / "both.yaml").write_text(_BOTH.format(names=", ".join(names)))
    return folder
