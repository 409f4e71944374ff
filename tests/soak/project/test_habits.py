"""The files of the project's habits: licence, citation, change log, and the hooks before a commit."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.fresh_environment import ROOT, clean_environ, copy_of_tree

PAPERS = {
    "2603.05075": "UniM",
    "2505.17613": "MMMG",
    "2411.17188": "ISG-Bench",
    "2504.03641": "MME-Unify",
    "2601.22155": "UEval",
}
"""The benchmarks that mmeval is about, by their preprint."""


def read(name: str) -> Any:
    """A YAML file of the checkout; what it holds is checked by the tests."""
    return yaml.safe_load((ROOT / name).read_text())


def test_the_licence_is_apache_2_whole_and_is_what_the_package_says() -> None:
    text = (ROOT / "LICENSE").read_text()

    assert text.split()[:4] == ["Apache", "License", "Version", "2.0,"]
    assert [f"{number}. " in text for number in range(1, 10)] == [True] * 9
    assert "END OF TERMS AND CONDITIONS" in text
    assert metadata("mmeval")["License"] == "Apache-2.0"


def test_the_citation_has_the_keys_and_types_of_its_format() -> None:
    citation = read("CITATION.cff")

    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert {"message", "title", "authors", "references"} <= citation.keys()
    assert all(set(author) in ({"name"}, {"family-names", "given-names"}) for author in citation["authors"])


@pytest.mark.parametrize("paper", PAPERS, ids=PAPERS.get)
def test_the_citation_names_the_paper_of_each_benchmark(paper: str) -> None:
    (found,) = (entry for entry in read("CITATION.cff")["references"] if paper in entry["url"])

    assert found["identifiers"][0]["value"] == f"arXiv:{paper}"
    assert found["url"] == f"https://arxiv.org/abs/{paper}"
    assert found["type"] == "article"
    assert found["title"]
    assert isinstance(found["year"], int)
    assert len(found["authors"]) >= 5
    assert all(set(author) == {"family-names", "given-names"} for author in found["authors"])


def test_the_change_log_names_what_was_done_to_each_thing() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    kinds = re.findall(r"^### (.+)$", text.partition("## Unreleased")[2].partition("\n## ")[0], re.MULTILINE)

    assert kinds
    assert kinds == [kind for kind in ("Breaking", "Added", "Changed", "Fixed", "Removed") if kind in kinds]


def hooks() -> list[dict[str, Any]]:
    return [hook for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]


def test_the_hooks_before_a_commit_fetch_nothing() -> None:
    assert [repo["repo"] for repo in read(".pre-commit-config.yaml")["repos"]] == ["local"]
    assert {hook["language"] for hook in hooks()} == {"system"}


def test_the_hooks_before_a_commit_are_the_static_checks_of_make() -> None:
    (static,) = re.findall(r"^static: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert [hook["entry"] for hook in hooks()] == [f"make {check}" for check in static.split()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout whose environment is that of this test, as make would have made it."""
    folder = tmp_path_factory.mktemp("clone")
    copy_of_tree(folder)
    if (
        ROOT / ".mypy_cache"
    ).is_dir():  # what it holds is checked by content; without it, types take a quarter of a minute
        shutil.copytree(ROOT / ".mypy_cache", folder / ".mypy_cache")
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (folder / ".venv" / "dev.stamp").touch()
    return folder


def make(entry: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {
        name: value for name, value in clean_environ().items() if not name.startswith(("MAKE", "MFLAGS", "VENV"))
    }
    return subprocess.run(entry.split(), cwd=folder, env=environ, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("entry", [hook["entry"] for hook in hooks()])
def test_the_command_of_a_hook_runs(entry: str, clone: Path) -> None:
    done = make(entry, clone)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "fault"),
    [("make format", "x   = 1\n"), ("make lint", "import os\n"), ("make types", 'WRONG: int = "one"\n')],
)
def test_the_command_of_a_hook_finds_a_fault(entry: str, fault: str, clone: Path) -> None:
    file = clone / "mmeval" / "faulty.py"
    file.write_text(f'"""A module with a fault."""\n\n{fault}')
    try:
        done = make(entry, clone)
    finally:
        file.unlink()

    assert done.returncode != 0
    assert "mmeval/faulty.py" in done.stdout
