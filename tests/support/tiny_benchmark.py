"""A benchmark of a few rows in a folder of its own, for tests that run the command line from end to end."""

from __future__ import annotations

import json
from pathlib import Path

TASK = """\
task: {name}
task_alias: {alias}
dataset_path: {data}
loader: interleaved
output_modalities: [text]
metric_list:
  - metric: exact_match
metadata:
  version: 1.0
"""


def write_benchmark(folder: Path, *names: str, rows: int = 3) -> Path:
    """Tasks whose answers are ``answer 0``, ``answer 1`` ... to ``question 0``, ``question 1`` ..."""
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    lines = (
        json.dumps({"id": str(i), "input": f"question {i}", "references": [f"answer {i}"], "level": i % 2})
        for i in range(rows)
    )
    (data / "test.jsonl").write_text("\n".join(lines) + "\n")
    for name in names or ("tiny",):
        (folder / f"{name}.yaml").write_text(TASK.format(name=name, alias=name.capitalize(), data=data))
    return folder
