"""Small task files: a folder of YAML and rows, and a distribution that registers one by
an entry point."""

import atexit
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mmeval.task.build import build
from mmeval.task.file import TaskFile, parse_task
from mmeval.task.include import TaskFiles
from mmeval.task.task import Task, TaskOverrides

TASK = "task: {name}\nmetric_list:\n  - metric: exact_match\nmetadata: {{version: 1}}\n"
_KEYS = "metric_list: [{metric: exact_match}]\nmetadata: {version: 1.0}\n"


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def write_rows(folder: Path, *rows: Mapping[str, Any], split: str = "test") -> Path:
    """Rows of the interleaved schema as one split of a data set."""
    return write_files(
        folder, {f"{split}.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows)}
    )


def write_pair(folder: Path, *names: str) -> Path:
    """Tasks, whose data are to lie in ``NAME_data`` beside them, and the group ``both``
    of them."""
    for name in names:
        (folder / f"{name}.yaml").write_text(
            f"task: {name}\ndataset_path: {name}_data\n{_KEYS}"
        )
    (folder / "both.yaml").write_text(
        f"group: both\ntask: [{', '.join(names)}]\naggregate_{_KEYS}"
    )
    return folder


def task(name: str, more: str = "") -> str:
    return TASK.format(name=name) + more


def parsed(folder: Path, text: str) -> TaskFile:
    """The task of a file ``t.yaml`` of this text."""
    return parse_task(
        TaskFiles([folder]).document(write_files(folder, {"t.yaml": text}) / "t.yaml")
    )


def built(folder: Path, more: str = "", **overrides: Any) -> Task:
    """The task ``t`` of a file whose lines from the fifth on are ``more``."""
    return build(parsed(folder, task("t", more)), TaskOverrides(**overrides))


def ids(made: Task) -> list[str]:
    return [sample.id for sample in made.dataset()]


def write_distribution(site: Path, name: str, entry_points: str) -> None:
    """The metadata that an installation leaves, and nothing else."""
    meta = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
    info = {"METADATA": meta, "entry_points.txt": entry_points}
    write_files(site / f"{name.replace('-', '_')}-1.dist-info", info)


@contextmanager
def installed(
    site: Path,
    monkeypatch: pytest.MonkeyPatch,
    packages: Mapping[str, Mapping[str, str]],
    *,
    more: str = "",
) -> Iterator[dict[str, Path]]:
    """Distributions (``dist-NAME``) that register packages of task files; ``more`` are
    further entry points of each."""
    folders = {}
    for name, files in packages.items():
        folders[name] = write_files(site / f"pkg_{name}", {"__init__.py": "", **files})
        write_distribution(
            site, f"dist-{name}", f"[mmeval.tasks]\n{name} = pkg_{name}\n{more}"
        )
    monkeypatch.syspath_prepend(str(site))
    yield folders


@contextmanager
def with_plugins(name: str, entry_points: str) -> Iterator[None]:
    """The distribution ``dist-NAME``, which registers plugins, until the block ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(_site_of_plugins(name, entry_points)))
        yield


@cache
def _site_of_plugins(name: str, entry_points: str) -> Path:
    """The tests of a process share the folder: the entry points of a search path are
    read once."""
    site = Path(tempfile.mkdtemp(prefix="mmeval-plugins-"))
    atexit.register(shutil.rmtree, site)
    write_distribution(site, f"dist-{name}", entry_points)
    return site
