from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from scripts.make_quality_page import NONE, PAGE, begin, end, files, updated
from scripts.quality_damages import PROFILES, STUDIES, Point, Study, measured
from tests.support.doc_examples import ROOT, blocks_run_by, commands

EVERY = [(part, study) for part, studies in STUDIES.items() for study in studies]
ALIKE = 0.02
"""How far a number of the page may be from what another machine makes: other libraries of signals and pictures."""
EMPTY = "\n".join(f"{begin(part)}\n{end(part)}" for part in STUDIES)


@cache
def points(part: str, title: str) -> list[Point]:
    return measured(next(study for study in STUDIES[part] if study.title == title))


def stated(part: str, title: str) -> Mapping[str, Sequence[str]]:
    """The rows of a study in the table of the page, by profile."""
    made = PAGE.read_text("utf-8").partition(begin(part))[2].partition(end(part))[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in made.splitlines() if line[:1] == "|"]
    at = next(number for number, row in enumerate(rows) if row[0] == title)
    return {row[1].strip("`"): row[2:] for row in rows[at + 1 : at + 1 + len(PROFILES)]}


@pytest.mark.parametrize(("part", "study"), EVERY, ids=[f"{part}: {study.title}" for part, study in EVERY])
def test_the_page_says_what_the_metrics_give_today(part: str, study: Study) -> None:
    for profile, cells in stated(part, study.title).items():
        values = [point.qualities[profile] for point in points(part, study.title)]
        assert [cell == NONE for cell in cells] == [value is None for value in values]
        found = [float(cell) for cell in cells if cell != NONE]
        assert found == pytest.approx([value for value in values if value is not None], abs=ALIKE), (
            "run: python -m scripts.make_quality_page"
        )


REAL = [(part, study) for part, study in EVERY if study.title != "seams"]
"""A seam is no damage, which the page says."""


@pytest.mark.parametrize(("part", "study"), REAL, ids=[f"{part}: {study.title}" for part, study in REAL])
def test_the_strongest_damage_costs_something(part: str, study: Study) -> None:
    first, *_, last = (point.qualities["standard"] for point in points(part, study.title))

    assert first is not None
    assert last is not None
    assert last < first - 0.05


@pytest.mark.parametrize("part", STUDIES)
def test_the_pictures_of_the_page_are_there(part: str) -> None:
    drawn, shown = files(part)

    assert PAGE.with_name(drawn).read_text("utf-8").count("<path ") == len(STUDIES[part]) * len(PROFILES)
    assert PAGE.with_name(shown).read_bytes().startswith(b"\x89PNG")
    assert {drawn, shown} <= set(re.findall(r"\]\((\S+)\)", PAGE.read_text("utf-8")))


@pytest.mark.slow
def test_the_command_of_the_page_makes_tables_and_pictures_again(tmp_path: Path) -> None:
    (block,) = blocks_run_by(
        "tests/soak/scripts/test_make_quality_page.py::test_the_command_of_the_page_makes_tables_and_pictures_again"
    )
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    page = tmp_path / PAGE.relative_to(ROOT)
    page.parent.mkdir(parents=True)
    page.write_text(EMPTY, "utf-8")

    for command in commands(block.text):
        subprocess.run([sys.executable, *command.text.split()[1:]], cwd=tmp_path, check=True)

    found = {part: [measured(study) for study in studies] for part, studies in STUDIES.items()}
    assert page.read_text("utf-8") == updated(EMPTY, found)
    assert {file.name for file in page.parent.iterdir()} == {
        PAGE.name,
        *(name for part in STUDIES for name in files(part)),
    }


def test_a_page_without_the_marks_is_not_written_over() -> None:
    unknown = {
        part: [[Point(step, dict.fromkeys(PROFILES), {}) for step in study.steps] for study in studies]
        for part, studies in STUDIES.items()
    }

    with pytest.raises(ValueError, match="the marks of what is made are gone: <!-- pictures"):
        updated(EMPTY.replace(begin("pictures"), ""), unknown)
