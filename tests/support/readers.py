"""Results files and reports, read back as their readers do."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

# A reader of lm-evaluation-harness's results files, as strict as the readers that
# people use. It follows the published layout: every number of a task is
# ``"<metric>,<filter>"`` with ``"<metric>_stderr,<filter>"`` beside it, a standard
# error is a number or "N/A", and a results file and its samples files share their
# time.

TOP_LEVEL = {
    "results",
    "groups",
    "group_subtasks",
    "configs",
    "versions",
    "n-shot",
    "higher_is_better",
    "n-samples",
    "config",
    "git_hash",
    "date",
    "task_hashes",
    "model_name",
    "model_source",
    "model_name_sanitized",
    "chat_template",
    "chat_template_sha",
    "system_instruction_sha",
    "total_evaluation_time_seconds",
    "pretty_env_info",
}
SAMPLE_KEYS = {
    "doc_id",
    "doc",
    "target",
    "arguments",
    "resps",
    "filtered_resps",
    "filter",
    "metrics",
    "doc_hash",
    "prompt_hash",
    "target_hash",
}
_NOT_METRICS = {"alias", "name", "sample_len", "sample_count"}


class Number(NamedTuple):
    task: str
    metric: str
    filter: str
    value: float | None
    stderr: float | None
    version: Any
    higher_is_better: bool


def read_numbers(document: dict[str, Any], column: str = "results") -> list[Number]:
    """Every number of a results file; raises for anything that a reader of the layout
    would stumble over."""
    assert set(document) >= TOP_LEVEL, TOP_LEVEL - set(document)
    found = []
    for task, entry in document[column].items():
        for key, value in entry.items():
            metric, comma, name = key.partition(",")
            if key in _NOT_METRICS or metric.endswith("_stderr"):
                continue
            assert comma, f"{task}: {key} names no filter"
            stderr = entry[f"{metric}_stderr,{name}"]
            known = None if stderr == "N/A" else float(stderr)
            better = document["higher_is_better"][task][metric]
            found.append(
                Number(
                    task,
                    metric,
                    name,
                    value,
                    known,
                    document["versions"].get(task),
                    better,
                )
            )
    return found


def latest(folder: Path) -> tuple[dict[str, Any], dict[str, Path]]:
    """The newest results file of a folder, and the samples files of the same time by
    task."""
    file = max(
        folder.rglob("results_*.json"), key=lambda path: path.stem.rpartition("_")[2]
    )
    time = file.stem.rpartition("_")[2]
    samples = {
        path.stem[len("samples_") : -len(time) - 1]: path
        for path in file.parent.glob(f"samples_*_{time}.jsonl")
    }
    return json.loads(file.read_text(encoding="utf-8")), samples


def read_samples(file: Path) -> list[dict[str, Any]]:
    """The lines of a samples file; raises when a line lacks a key or a metric that it
    announces."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        assert row.keys() >= SAMPLE_KEYS | set(row["metrics"]), file.name
        assert all(isinstance(text, str) for texts in row["resps"] for text in texts), (
            file.name
        )
    return rows


# The data files of a report, read back as the page reads them.


@dataclass(frozen=True)
class Report:
    """A report folder: its index, its trials in full, what the text filter searches,
    and its page."""

    folder: Path

    @property
    def index(self) -> dict[str, Any]:
        return dict(called(self.folder / "data" / "index.js", "index")[0])

    @property
    def trials(self) -> list[dict[str, Any]]:
        return self._chunked("details")

    @property
    def texts(self) -> list[str]:
        return self._chunked("text")

    @property
    def page(self) -> str:
        return (self.folder / "index.html").read_text()

    def _chunked(self, name: str) -> list[Any]:
        chunks = [
            called(file, name)
            for file in sorted((self.folder / "data").glob(f"{name}-*.js"))
        ]
        assert [number for number, _ in chunks] == list(range(len(chunks)))
        return [item for _, items in chunks for item in items]


def called(file: Path, name: str) -> list[Any]:
    """The values that a data file hands to its function."""
    found = re.fullmatch(rb"mmeval\.(\w+)\((.*)\);\n", file.read_bytes(), re.DOTALL)
    assert found is not None and found[1].decode() == name
    return list(json.loads(b"[" + found[2] + b"]"))
