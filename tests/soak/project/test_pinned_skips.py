"""Skipped tests are counted, and a run of continuous integration skips for known
reasons only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak.support.chromium import executable

ROOT = Path(__file__).resolve().parents[3]
TESTS = """\
import pytest

@pytest.mark.skip(reason="nothing can be mounted here")
def test_known(): ...

@pytest.mark.skip(reason="not here")
def test_other(): ...
"""


@pytest.mark.parametrize(
    ("choice", "ci", "code"),
    [
        (["-k", "known"], "true", 0),
        (["-k", "other"], "true", 1),
        (["-n", "2"], "true", 1),
        ([], "", 0),
    ],
    ids=["known", "other", "two workers", "elsewhere"],
)
def test_continuous_integration_skips_for_known_reasons_only(
    choice: list[str], ci: str, code: int, tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text("from tests.support.pinned_skips import *\n")
    (tmp_path / "test_a.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *choice]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CI": ci},
        text=True,
    )
    assert done.returncode == code


@pytest.mark.parametrize(
    ("ci", "raised"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)]
)
def test_a_missing_chromium_fails_continuous_integration_and_skips_elsewhere(
    ci: str, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CI", ci)
    with pytest.raises(raised):
        executable()
