"""The tables, charts and pictures that scripts write into the pages."""

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from scripts import make_mmmg_page, make_quality_page, make_unim_page
from scripts.make_quality_page import NONE, begin, end, files
from scripts.quality.damages import PROFILES, STUDIES, Point, Study, measured
from scripts.unim_curves import picture
from tests.support.doc_examples import ROOT, blocks_run_by, commands

OF_A_COMMAND = "test_the_command_of_a_page_makes_it_again"
COMMANDS = [
    command.text
    for block in blocks_run_by(f"tests/soak/scripts/test_pages.py::{OF_A_COMMAND}")
    for command in commands(block.text)
]
EMPTY = {
    make_mmmg_page: f"{make_mmmg_page.BEGIN}\n{make_mmmg_page.END}",
    make_unim_page: "\n".join(
        f"{make_unim_page.begin(part)}\n{make_unim_page.end(part)}"
        for part in make_unim_page.PARTS
    ),
}
"""Pages that their task files make anew in no time."""
EVERY = [(part, study) for part, studies in STUDIES.items() for study in studies]
ALIKE = 0.02
"""How far a number of the page may be from what another machine makes: other libraries
of signals and pictures."""


@pytest.mark.parametrize("script", EMPTY, ids=lambda script: script.__name__)
def test_a_page_is_what_its_script_makes_of_the_task_files_of_today(
    script: ModuleType,
) -> None:
    text = script.PAGE.read_text("utf-8")
    assert script.updated(text) == text, f"run: python -m {script.__name__}"


@pytest.mark.parametrize("script", EMPTY, ids=lambda script: script.__name__)
def test_what_is_written_by_hand_stays_and_a_page_without_marks_is_refused(
    script: ModuleType,
) -> None:
    page = script.updated(f"before\n{EMPTY[script]}\nafter\n")
    assert (page[:7], page[-7:], script.updated(page)) == (
        "before\n",
        "\nafter\n",
        page,
    )
    with pytest.raises(ValueError, match="marks"):
        script.updated("nothing")


def test_the_chart_of_unim_is_the_one_of_today() -> None:
    chart = make_unim_page.PAGE.with_name(make_unim_page.PICTURE)
    assert chart.read_text("utf-8") == picture(), (
        "run: python -m scripts.make_unim_page"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_of_a_page_makes_it_again(command: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    made = sys.modules[command.rsplit(maxsplit=1)[-1]]
    (tmp_path / made.PAGE.relative_to(ROOT)).parent.mkdir(parents=True)
    (tmp_path / "docs" / "pictures").mkdir(exist_ok=True)
    page = tmp_path / made.PAGE.relative_to(ROOT)
    empty = EMPTY.get(made) or "\n".join(
        f"{begin(part)}\n{end(part)}" for part in STUDIES
    )
    page.write_text(empty, "utf-8")

    subprocess.run([sys.executable, *command.split()[1:]], cwd=tmp_path, check=True)

    if made in EMPTY:
        assert page.read_text("utf-8") == made.updated(empty)
        return
    assert page.read_text("utf-8") == made.updated(
        empty,
        {
            part: [points(part, study.title) for study in studies]
            for part, studies in STUDIES.items()
        },
    )
    drawn = {
        file.relative_to(page.parent).as_posix()
        for file in page.parent.glob("pictures/*")
    }
    assert drawn == {name for part in STUDIES for name in files(part)}


@cache
def points(part: str, title: str) -> list[Point]:
    return measured(next(study for study in STUDIES[part] if study.title == title))


def stated(part: str, title: str) -> Mapping[str, Sequence[str]]:
    """The rows of a study in the table of the page of quality, by profile."""
    made = (
        make_quality_page.PAGE.read_text("utf-8")
        .partition(begin(part))[2]
        .partition(end(part))[0]
    )
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in made.splitlines()
        if line[:1] == "|"
    ]
    at = next(number for number, row in enumerate(rows) if row[0] == title)
    return {row[1].strip("`"): row[2:] for row in rows[at + 1 : at + 1 + len(PROFILES)]}


@pytest.mark.parametrize(
    ("part", "study"), EVERY, ids=[f"{part}: {study.title}" for part, study in EVERY]
)
def test_the_page_of_quality_says_what_the_metrics_give_today(
    part: str, study: Study
) -> None:
    for profile, cells in stated(part, study.title).items():
        values = [point.qualities[profile] for point in points(part, study.title)]
        assert [cell == NONE for cell in cells] == [value is None for value in values]
        found = [float(cell) for cell in cells if cell != NONE]
        assert found == pytest.approx(
            [value for value in values if value is not None], abs=ALIKE
        )
    first, *_, last = (
        point.qualities["standard"] for point in points(part, study.title)
    )
    assert study.title == "seams" or (
        first is not None and last is not None and last < first - 0.05
    )
