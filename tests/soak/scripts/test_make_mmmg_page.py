from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.make_mmmg_page import BEGIN, END, PAGE, updated
from tests.support.doc_examples import ROOT, blocks_run_by, commands
from tests.support.mmmg_tasks import TASKS, Counted


def test_the_page_is_what_the_script_makes_of_the_task_files_of_today() -> None:
    page = PAGE.read_text("utf-8")

    assert updated(page) == page, "run: python -m scripts.make_mmmg_page"


@pytest.mark.parametrize("counted", TASKS, ids=lambda counted: counted.id)
def test_every_task_is_told_of_with_its_rows(counted: Counted) -> None:
    made = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    task, name, rows, *_ = counted
    lines = [line for line in made.splitlines() if line.startswith(f"|`{task}`") and f"|`{name}`" in line]

    assert len(lines) == 1
    assert f"|{rows:>4}|" in lines[0]


def test_the_command_of_the_page_makes_the_tables_again(tmp_path: Path) -> None:
    (block,) = blocks_run_by(
        "tests/soak/scripts/test_make_mmmg_page.py::test_the_command_of_the_page_makes_the_tables_again"
    )
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    page = tmp_path / PAGE.relative_to(ROOT)
    page.parent.mkdir(parents=True)
    page.write_text(f"by hand\n{BEGIN}\nof long ago\n{END}\n", "utf-8")

    for command in commands(block.text):
        subprocess.run([sys.executable, *command.text.split()[1:]], cwd=tmp_path, check=True)

    assert page.read_text("utf-8") == updated(f"by hand\n{BEGIN}{END}\n")


def test_what_is_written_by_hand_stays() -> None:
    assert updated(f"before\n{BEGIN}\nold\n{END}\nafter\n").startswith(f"before\n{BEGIN}\n\n### ")
    assert updated(f"{BEGIN}{END}\nafter\n").endswith(f"{END}\nafter\n")


def test_a_page_without_the_marks_is_not_written_over() -> None:
    with pytest.raises(ValueError, match="the marks of what is made are gone"):
        updated("nothing")
