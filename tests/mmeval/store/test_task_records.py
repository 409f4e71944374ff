from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mmeval.records.sample import Sample
from mmeval.store.task_records import TaskRecords, sample_head, tally, trial_head
from mmeval.system.json_lines import sealed, to_line
from tests.support.toy import sample


def keep(
    folder: Path, *trials: tuple[int, int, str], asked: Sample | None = None
) -> None:
    """Write trials, each an index, a repeat and a digest, in one session."""
    with closing(TaskRecords(folder, "t")) as records:
        for index, repeat, digest in trials:
            one = asked or sample(f"s{index}")
            records.keep_sample(index, one, to_line(one.to_json()))
            records.keep_trial(index, repeat, digest, {"x": []})


def kept(folder: Path) -> list[tuple[int, int, str, str]]:
    with closing(TaskRecords(folder, "t")) as records:
        return [
            (trial["i"], trial["n"], trial["d"], row["id"])
            for trial, row in records.trials()
        ]


def test_trials_come_back_in_order_each_in_its_latest_form(tmp_path: Path) -> None:
    keep(tmp_path, (2, 0, "c"), (0, 1, "b"), (0, 0, "old"))
    keep(tmp_path, (0, 0, "new"), asked=sample("renamed"))
    assert kept(tmp_path) == [
        (0, 0, "new", "renamed"),
        (0, 1, "b", "renamed"),
        (2, 0, "c", "s2"),
    ]


def test_what_is_known_is_not_written_again(tmp_path: Path) -> None:
    for _ in range(2):
        keep(tmp_path, *((0, repeat, f"d{repeat}") for repeat in range(3)))
    lines = {
        path.parent.name: len(path.read_text().splitlines())
        for path in tmp_path.rglob("*.jsonl")
    }
    assert lines == {"samples": 1, "trials": 3}


def test_a_trial_whose_sample_was_not_written_before_a_kill_is_left_out(
    tmp_path: Path,
) -> None:
    keep(tmp_path, (0, 0, "a"), (1, 0, "b"))
    file = tmp_path / "samples" / "t.jsonl"
    file.write_bytes(file.read_bytes()[:-5])
    assert kept(tmp_path) == [(0, 0, "a", "s0")]
    file.unlink()
    assert kept(tmp_path) == []


def test_a_tally_counts_trials_and_changes_with_each_of_them() -> None:
    trials = {1: "a", 2: "b"}
    assert tally(trials)["count"] == 2
    assert tally(trials) == tally({2: "b", 1: "a"})
    assert tally(trials) != tally({1: "a", 2: "c"})
    assert tally(trials) != tally({1: "a", 3: "b"})


def test_the_head_of_a_written_sample_is_its_index_and_digest(tmp_path: Path) -> None:
    keep(tmp_path, (7, 0, "a"), asked=sample("seven"))
    (line,) = (tmp_path / "samples" / "t.jsonl").read_bytes().splitlines(keepends=True)
    assert sample_head(line) == (7, sample("seven").digest)


def test_the_head_of_a_written_trial_is_its_sample_and_repeat(tmp_path: Path) -> None:
    keep(tmp_path, (7, 3, "a"))
    (line,) = (tmp_path / "trials" / "t.jsonl").read_bytes().splitlines(keepends=True)
    assert trial_head(line) == (7, 3)


def test_a_line_with_its_keys_in_another_order_is_decoded() -> None:
    line = sealed(to_line({"d": "ab", "n": 3, "i": 7}))
    assert sample_head(line) == (7, "ab")
    assert trial_head(line) == (7, 3)


@pytest.mark.parametrize("head", [sample_head, trial_head])
def test_a_damaged_line_has_no_head(head: Callable[[bytes], object]) -> None:
    line = sealed(to_line({"i": 7, "n": 3, "d": "ab"}))
    with pytest.raises(ValueError, match="checksum"):
        head(line.replace(b"7", b"8"))
