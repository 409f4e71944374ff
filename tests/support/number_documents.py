"""Results files as small as a test of tables and charts needs them, and their
tables."""

from typing import Any

from mmeval.report.table_formats import TABLES
from mmeval.results.numbers import number_rows


def result(
    task: str, metric: str = "m", value: float | None = 0.5, **more: Any
) -> dict[str, Any]:
    return {"task": task, "metric": metric, "value": value, "n": 4, "scored": 4, **more}


def document(
    *results: dict[str, Any], groups: dict[str, list[str]] | None = None, **ours: Any
) -> dict[str, Any]:
    tasks = dict.fromkeys(row["task"] for row in results)
    return {
        "results": {name: {"alias": name.upper()} for name in tasks},
        "group_subtasks": {
            **(groups or {}),
            **{name: [] for name in tasks if name not in (groups or {})},
        },
        "versions": dict.fromkeys(tasks, "1.0"),
        "mmeval": {"results": list(results), **ours},
    }


ONE = document(
    result("a", value=0.5, stderr=0.125, ci95=[0.25, 0.75]),
    result("a", value=None, scored=0, unscored=4, slice="level=50% & \\more{}"),
)
TWO = document(result("a", value=0.75), protocols={"a": "episode"})


def table(name: str, *documents: dict[str, Any]) -> str:
    found = TABLES[name]
    names = ["one", "two"][: len(documents)]
    rows = number_rows(documents, names, every_slice=found.every_slice)
    return found.render(rows, names)
