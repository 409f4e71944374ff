"""The screen of a dry run: its size, its verdict, and a line a benchmark."""

from pathlib import Path

import pytest
import yaml

from tests.support.cli import mmeval

MODEL = ("--model", "openai", "--model_args", "base_url=http://localhost:1/v1,model=m")
BUNDLED = (*MODEL, "--data", "bundled", "--dry_run")


def screen(folder: Path, tasks: str, *words: str | Path) -> list[str]:
    command = ("--tasks", tasks, *BUNDLED, "--output_path", "runs", *words)
    return mmeval(*command, cwd=folder).out.splitlines()


def row(lines: list[str], name: str) -> list[str]:
    """The cells of a line of the table."""
    (line,) = (line for line in lines if line.startswith(f"{name} "))
    return line.split()


@pytest.fixture(scope="module")
def two_groups(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return screen(tmp_path_factory.mktemp("runs"), "unim,mmmg_audio")


def test_a_dry_run_of_two_groups_fits_a_screen(two_groups: list[str]) -> None:
    assert len(two_groups) <= 30
    assert max(map(len, two_groups)) <= 80


def test_the_verdict_counts_calls_and_tasks_that_cannot_be_asked(
    two_groups: list[str],
) -> None:
    assert two_groups[0] == (
        "9 calls of 2 benchmarks; 8 tasks cannot be asked (dry run: nothing was sent)"
    )


def test_a_group_is_one_line_with_the_sums_of_its_tasks(
    two_groups: list[str],
) -> None:
    assert row(two_groups, "unim")[:6] == ["unim", "3", "of", "3", "13", "9"]
    assert row(two_groups, "all")[:6] == ["all", "3", "of", "11", "25", "9"]


def test_a_single_task_is_shown_by_its_name(tmp_path: Path) -> None:
    lines = screen(tmp_path, "unim_hard")
    assert row(lines, "unim_hard")[:5] == ["unim_hard", "8", "of", "13", "5"]


def test_many_tasks_outside_of_groups_share_the_last_lines(tmp_path: Path) -> None:
    lines = screen(tmp_path, "mmmg_sound_*,mmmg_self_*,mmmg_object_*")
    assert row(lines, "7 others")[:3] == ["7", "others", "7"]


def test_the_host_that_gets_the_data_is_shown(tmp_path: Path) -> None:
    lines = screen(tmp_path, "ueval_art")
    assert "model m, data go to localhost:1: 1 call" in [
        " ".join(line.split()) for line in lines
    ]


def test_the_file_for_unknown_prices_is_whole(tmp_path: Path) -> None:
    (line,) = (
        line for line in screen(tmp_path, "ueval_art") if line.startswith("no price")
    )
    content = line.partition(" with ")[2]
    assert yaml.safe_load(content) == {"models": {"m": {"input": 0, "output": 0}}}


def test_the_costs_of_all_roles_are_summed(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  m: {input: 0, output: 0, per_call: 2}\n")
    lines = screen(tmp_path, "ueval", "--model_cost_config", prices)
    assert row(lines, "ueval")[-1] == "18.00"


def test_the_first_request_is_shown_with_its_question(tmp_path: Path) -> None:
    lines = screen(tmp_path, "unim_hard")
    (position,) = (i for i, line in enumerate(lines) if line.startswith("first "))
    assert lines[position].endswith("to the model: unim_hard, natural_science/math/2")
    assert "<document: doc_0002_01.pdf, 663 B>" in lines[position + 1]


def test_every_task_is_shown_on_demand(tmp_path: Path) -> None:
    lines = screen(tmp_path, "unim,mmmg_audio", "--table", "full")
    tasks = [line for line in lines if line.startswith(("|unim_", "|mmmg_"))]
    assert len(tasks) == 11


def test_a_judge_is_counted_in_the_calls_of_its_benchmark(tmp_path: Path) -> None:
    judge = ("--judge", "openai,model=j,base_url=http://localhost:2/v1")
    lines = screen(tmp_path, "ueval_art", *judge)
    assert lines[0].startswith("about 2 calls of 1 task ")
