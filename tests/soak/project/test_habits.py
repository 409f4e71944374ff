"""The files of the project's habits: citation, change log, and the hooks before a commit."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.fresh_environment import ROOT, clean_environ, copy_of_tree

PAPERS = {"2603.05075", "2505.17613", "2411.17188", "2504.03641", "2601.22155"}
"""The benchmarks that mmeval is about, by their preprint."""


def read(name: str) -> Any:
    """A YAML file of the checkout; what it holds is checked by the tests."""
    return yaml.safe_load((ROOT / name).read_text())


def test_the_citation_names_the_paper_of_each_benchmark() -> None:
    citation = read("CITATION.cff")

    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert {entry["url"] for entry in citation["references"]} >= {f"https://arxiv.org/abs/{paper}" for paper in PAPERS}
    assert all(entry["title"] and entry["year"] and entry["authors"] for entry in citation["references"])


def test_the_change_log_names_what_was_done_to_each_thing() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    kinds = re.findall(r"^### (.+)$", text.partition("## Unreleased")[2].partition("\n## ")[0], re.MULTILINE)

    assert kinds
    assert kinds == [kind for kind in ("Breaking", "Added", "Changed", "Fixed", "Removed") if kind in kinds]


def test_the_hooks_before_a_commit_are_the_static_checks_of_make_and_fetch_nothing() -> None:
    repos = read(".pre-commit-config.yaml")["repos"]
    (static,) = re.findall(r"^static: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    hooks = [(repo["repo"], hook["language"], hook["entry"]) for repo in repos for hook in repo["hooks"]]
    assert hooks == [("local", "system", f"make {check}") for check in static.split()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout whose environment is that of this test, as make would have made it."""
    folder = tmp_path_factory.mktemp("clone")
    copy_of_tree(folder)
    if (ROOT / ".mypy_cache").is_dir():  # what it holds is checked by content
        shutil.copytree(ROOT / ".mypy_cache", folder / ".mypy_cache")
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (folder / ".venv" / "dev.stamp").touch()
    return folder


@pytest.mark.parametrize(
    ("check", "fault"), [("format", "x   = 1\n"), ("lint", "import os\n"), ("types", 'WRONG: int = "one"\n')]
)
def test_a_static_check_finds_a_fault(check: str, fault: str, clone: Path) -> None:
    file = clone / "mmeval" / "faulty.py"
    file.write_text(f'"""A module with a fault."""\n\n{fault}')
    environ = {k: value for k, value in clean_environ().items() if not k.startswith(("MAKE", "MFLAGS", "VENV"))}

    done = subprocess.run(["make", check], cwd=clone, env=environ, capture_output=True, text=True)

    file.unlink()
    assert done.returncode != 0
    assert "mmeval/faulty.py" in done.stdout
