from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.tasks.unim.domains import DOMAINS
from scripts.make_unim_page import PAGE, PARTS, PICTURE, PUBLISHED, begin, end, updated
from scripts.unim_curves import picture
from tests.support.doc_examples import ROOT, blocks_run_by, commands

TEXT = PAGE.read_text("utf-8")
EMPTY = "\n".join(f"{begin(part)}\n{end(part)}" for part in PARTS)


def made(part: str) -> str:
    return TEXT.partition(begin(part))[2].partition(end(part))[0]


def test_the_page_and_its_picture_are_what_the_script_makes_today() -> None:
    assert updated(TEXT) == TEXT, "run: python -m scripts.make_unim_page"
    assert PAGE.with_name(PICTURE).read_text("utf-8") == picture(), "run: python -m scripts.make_unim_page"


def test_every_domain_stands_there_with_the_counts_that_its_task_expects() -> None:
    files = choose(["unim_domains"], TaskIndex()).tasks
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in made("domains").splitlines()]

    for domain in DOMAINS:
        (row,) = (row for row in rows if row[:1] == [str(domain.number)])
        counts = [int(cell.replace(",", "")) for cell in row[4:]]
        assert (row[2], tuple(counts[:3]), counts[3]) == (f"`{domain.task}`", domain.counts, sum(domain.counts))
        assert files[domain.task].keys.expected.samples == counts[3]


def test_every_metric_of_the_tasks_stands_there() -> None:
    (file,) = choose(["unim_easy"], TaskIndex()).tasks.values()

    assert re.findall(r"^\|`(\w+)`", made("metrics"), re.M) == [entry.metric for entry in file.keys.metric_list]


@pytest.mark.parametrize("agent", ["without TER", "without TCDC", "without verification"])
def test_what_a_part_of_the_agent_was_worth_is_the_difference_of_the_published_figures(agent: str) -> None:
    published = json.loads(PUBLISHED.read_text("utf-8"))["ablation"]
    (line,) = (line for line in made("ablation").splitlines() if line.startswith(f"|{agent}"))

    cells = re.findall(r"([0-9.]+) \(([+-][0-9.]+)\)", line)

    assert [float(value) for value, _ in cells] == list(published[agent].values())
    lost = [value - whole for value, whole in zip(published[agent].values(), published["UniMA"].values(), strict=True)]
    assert [float(difference) for _, difference in cells] == pytest.approx(lost)


def test_the_command_of_the_page_makes_tables_and_chart_again(tmp_path: Path) -> None:
    (block,) = blocks_run_by(
        "tests/soak/scripts/test_make_unim_page.py::test_the_command_of_the_page_makes_tables_and_chart_again"
    )
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    page = tmp_path / PAGE.relative_to(ROOT)
    page.parent.mkdir(parents=True)
    page.write_text(EMPTY, "utf-8")

    for command in commands(block.text):
        subprocess.run([sys.executable, *command.text.split()[1:]], cwd=tmp_path, check=True)

    assert page.read_text("utf-8") == updated(EMPTY)
    assert page.with_name(PICTURE).read_text("utf-8") == picture()


def test_what_is_written_by_hand_stays() -> None:
    page = updated(f"before\n{EMPTY}\nafter\n")

    assert page.startswith("before\n")
    assert page.endswith("\nafter\n")
    assert updated(page) == page


def test_a_page_without_the_marks_is_not_written_over() -> None:
    with pytest.raises(ValueError, match="the marks of what is made are gone: <!-- metrics"):
        updated(EMPTY.replace(begin("metrics"), ""))
