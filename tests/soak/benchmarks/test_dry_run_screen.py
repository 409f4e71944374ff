"""A dry run of five benchmarks fits one screen."""

from pathlib import Path

import pytest

from tests.support.cli import mmeval

TASKS = "unim,mmmg,isg,mme_unify,ueval"
MODEL = ("--model", "openai", "--model_args", "base_url=http://localhost:1,model=m")


@pytest.fixture(scope="module")
def screen(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder: Path = tmp_path_factory.mktemp("five")
    words = ("--tasks", TASKS, "--data", "bundled", *MODEL, "--dry_run")
    return mmeval(*words, cwd=folder).out.splitlines()


def test_it_has_at_most_thirty_lines(screen: list[str]) -> None:
    assert len(screen) <= 30


def test_its_lines_have_at_most_eighty_columns(screen: list[str]) -> None:
    assert max(map(len, screen)) <= 80


def test_the_verdict_stands_first(screen: list[str]) -> None:
    verdict = "46 calls of 5 benchmarks; 60 tasks cannot be asked"
    assert screen[0].startswith(verdict)
