"""The static checks of `make` find a fault."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fresh_environment import ROOT, clean_environ, copy_of_tree


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
