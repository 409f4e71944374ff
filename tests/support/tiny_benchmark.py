from pathlib import Path

from tests.support.task_folder import write_rows

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
    asked = (
        {"id": f"{i}", "input": f"question {i}", "references": [f"answer {i}"], "level": i % 2} for i in range(rows)
    )
    data = write_rows(folder / "data", *asked)
    for name in names or ("tiny",):
        (folder / f"{name}.yaml").write_text(TASK.format(name=name, alias=name.capitalize(), data=data))
    return folder
