from __future__ import annotations

from contextlib import closing
from pathlib import Path

from mmeval.records.sample import Sample
from mmeval.store.task_records import TaskRecords
from mmeval.system.json_lines import to_line
from tests.support.toy import sample

# --- samples and trials ------------------------------------------------------------------------------------------


def keep(records: TaskRecords, index: int, repeat: int, digest: str, asked: Sample | None = None) -> None:
    one = asked or sample(f"s{index}")
    records.keep_sample(index, one, to_line(one.to_json()))
    records.keep_trial(index, repeat, digest, {"x": []})


def trials(folder: Path) -> list[tuple[int, int, str, str]]:
    with closing(TaskRecords(folder, "t")) as records:
        return [(trial["i"], trial["n"], trial["d"], row["id"]) for trial, row in records.trials()]


def test_trials_come_back_in_the_order_of_the_data_set_each_in_its_latest_form(tmp_path: Path) -> None:
    with closing(TaskRecords(tmp_path, "t")) as records:
        keep(records, 2, 0, "c")
        keep(records, 0, 1, "b")
        keep(records, 0, 0, "old")
    with closing(TaskRecords(tmp_path, "t")) as records:
        keep(records, 0, 0, "new", sample("renamed"))

    assert trials(tmp_path) == [(0, 0, "new", "renamed"), (0, 1, "b", "renamed"), (2, 0, "c", "s2")]


def test_what_is_known_is_not_written_again(tmp_path: Path) -> None:
    for _ in range(2):
        with closing(TaskRecords(tmp_path, "t")) as records:
            for repeat in range(3):
                keep(records, 0, repeat, f"d{repeat}")

    lines = {path.parent.name: len(path.read_text().splitlines()) for path in tmp_path.rglob("*.jsonl")}
    assert lines == {"samples": 1, "trials": 3}


def test_a_trial_whose_sample_was_not_written_before_a_kill_is_left_out(tmp_path: Path) -> None:
    with closing(TaskRecords(tmp_path, "t")) as records:
        keep(records, 0, 0, "a")
        keep(records, 1, 0, "b")
    file = tmp_path / "samples" / "t.jsonl"
    file.write_bytes(file.read_bytes()[:-5])
    assert trials(tmp_path) == [(0, 0, "a", "s0")]

    file.unlink()
    assert trials(tmp_path) == []


def test_nothing_is_written_for_a_task_that_made_no_trial(tmp_path: Path) -> None:
    assert trials(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
