"""Data that cannot be read to their end: what was read of them counts, and the same command asks the rest."""

from pathlib import Path

from tests.support.cli import Ended, mmeval, results, run_folder
from tests.support.task_folder import write_pair

GOOD, TORN = b'{"input": "1 + 1", "reference": "2"}', b'{"input": '


def write_rows(folder: Path, name: str, *rows: bytes) -> None:
    (folder / f"{name}_data").mkdir(exist_ok=True)
    (folder / f"{name}_data" / "test.jsonl").write_bytes(b"\n".join(rows))


def run(folder: Path, tasks: str) -> Ended:
    where = ("--include_path", folder, "-o", folder / "runs", "--score_workers", "0")
    return mmeval("--tasks", tasks, "--model", "reference", "--model_tag", "m", *where)


def test_data_that_end_too_early_cost_neither_other_tasks_nor_what_was_asked(tmp_path: Path) -> None:
    write_rows(tmp_path, "torn", GOOD, GOOD, TORN, GOOD)  # where the row after the torn one begins is not known
    write_rows(tmp_path, "sound", GOOD)
    folder = run_folder(write_pair(tmp_path, "torn", "sound") / "runs")
    torn = run(tmp_path, "both")
    found = results(folder)
    again = mmeval("score", folder)
    write_rows(tmp_path, "torn", GOOD, GOOD, GOOD, GOOD)
    mended = run(tmp_path, "both")
    assert (torn.code, again.code, mended.code) == (2, 3, 0), mended.err
    assert found["results"]["sound"]["exact_match,none"] == found["results"]["torn"]["exact_match,none"] == 1
    assert found["mmeval"]["unfinished"] == {"torn": {"made": 2, "of": 4}}
    assert "unfinished: 2 of 4" in torn.out and "unfinished: 2 of 4" in again.out
    assert "torn" in torn.err and "test.jsonl:3: " in torn.err
    assert "kept 3 answers" in mended.err and "unfinished" not in mended.out
    assert results(folder)["mmeval"]["unfinished"] == {}
