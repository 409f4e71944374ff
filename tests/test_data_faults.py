from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Ended, mmeval, results, run_folder
from tests.support.task_pair import write_pair

GOOD, BAD, TORN = b'{"input": "1 + 1", "reference": "2"}', b'{"reference": "nothing is asked"}', b'{"input": '


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A group of two tasks; the third row of the first one is no JSON, so that nobody knows where the next one is."""
    for name, rows in (("torn", [GOOD, GOOD, TORN, GOOD]), ("sound", [GOOD])):
        write_rows(tmp_path, name, rows)
    return write_pair(tmp_path, "torn", "sound")


def write_rows(folder: Path, name: str, rows: list[bytes]) -> None:
    (folder / f"{name}_data").mkdir(exist_ok=True)
    (folder / f"{name}_data" / "test.jsonl").write_bytes(b"\n".join(rows))


def run(folder: Path, tasks: str = "both") -> Ended:
    return mmeval(
        "--tasks", tasks, "--model", "reference", "--model_tag", "m", "--include_path", folder, "-o", folder / "runs"
    )


def test_data_that_end_too_early_cost_neither_what_was_asked_nor_the_other_tasks(folder: Path) -> None:
    ended = run(folder)
    found = results(run_folder(folder / "runs"))

    assert ended.code == 2
    assert found["results"]["sound"]["exact_match,none"] == found["results"]["torn"]["exact_match,none"] == 1
    assert found["mmeval"]["unfinished"] == {"torn": {"made": 2, "of": 4}}
    assert "unfinished: 2 of 4" in ended.out
    assert "the data of torn cannot be read on after 2 trials: " in ended.err
    assert "test.jsonl:3: row 3 is no JSON" in ended.err and "the same command asks the rest" in ended.err


def test_the_same_command_makes_the_rest_when_the_row_is_mended(folder: Path) -> None:
    run(folder)
    again = mmeval("score", run_folder(folder / "runs"))
    write_rows(folder, "torn", [GOOD, GOOD, GOOD, GOOD])
    mended = run(folder)

    assert again.code == 3 and "unfinished: 2 of 4" in again.out
    assert mended.code == 0, mended.err
    assert "kept 3 answers" in mended.err and "unfinished" not in mended.out
    assert results(run_folder(folder / "runs"))["mmeval"]["unfinished"] == {}


def test_data_of_which_nothing_can_be_read_end_the_run(folder: Path) -> None:
    write_rows(folder, "torn", [BAD])

    ended = run(folder, "torn")

    assert ended.code == 2 and "test.jsonl: row 1: " in ended.err
    assert not list(folder.glob("runs/**/results_*.json"))


def test_data_that_are_whole_but_smaller_than_expected_are_a_subset_everywhere(folder: Path) -> None:
    with (folder / "sound.yaml").open("a") as file:
        file.write("expected: {rows: 20}\n")

    ended = run(folder, "sound")
    found = results(run_folder(folder / "runs"))["mmeval"]
    page = (run_folder(folder / "runs") / "report" / "index.html").read_text()

    assert (ended.code, "subset: 1 of 20" in ended.out) == (0, True)
    assert "sound: its data hold 1 row, the task file expects 20: its numbers are those of a subset" in ended.err
    assert found["subset"] == {"sound": {"of": 20, "chosen": 1, "how": ["data"]}}
    assert "sound is a subset: 1 of 20 samples (its data hold fewer than the task file expects)." in page
    assert "subset: 1 of 20" in mmeval("score", run_folder(folder / "runs")).out
