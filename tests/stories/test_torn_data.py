"""Data that cannot be read to their end: what was read of them counts, and the same
command asks the rest."""

import json
from pathlib import Path

import pytest

from tests.support.cli import Ended, mmeval, results, run_folder
from tests.support.task_folder import write_pair

GOOD, TORN = b'{"input": "1 + 1", "reference": "2"}', b'{"input": '


def write_rows(folder: Path, name: str, *rows: bytes) -> None:
    (folder / f"{name}_data").mkdir(exist_ok=True)
    (folder / f"{name}_data" / "test.jsonl").write_bytes(b"\n".join(rows))


def run(folder: Path, tasks: str, *flags: str) -> Ended:
    where = ("--include_path", folder, "-o", folder / "runs", "--score_workers", "0")
    return mmeval(
        "--tasks", tasks, "--model", "reference", "--model_tag", "m", *where, *flags
    )


def test_data_that_end_too_early_cost_neither_other_tasks_nor_what_was_asked(
    tmp_path: Path,
) -> None:
    # where the row after the torn one begins is not known
    write_rows(tmp_path, "torn", GOOD, GOOD, TORN, GOOD)
    write_rows(tmp_path, "sound", GOOD)
    folder = run_folder(write_pair(tmp_path, "torn", "sound") / "runs")
    torn = run(tmp_path, "both")
    found = results(folder)
    again = mmeval("score", folder)
    write_rows(tmp_path, "torn", GOOD, GOOD, GOOD, GOOD)
    mended = run(tmp_path, "both")
    assert (torn.code, again.code, mended.code) == (2, 3, 0), mended.err
    assert (
        found["results"]["sound"]["exact_match,none"]
        == found["results"]["torn"]["exact_match,none"]
        == 1
    )
    assert found["mmeval"]["unfinished"] == {"torn": {"made": 2, "of": 4}}
    assert "torn" in torn.err and "test.jsonl:3:" in torn.err
    assert "answers kept: 3" in mended.err
    assert results(folder)["mmeval"]["unfinished"] == {}


DEEP = b"[" * 900 + b"]" * 900
BAD_ROWS = {
    "a role that is a list": b'{"input": [{"role": ["user"], "content": "a"}]}',
    "an id that is a list": b'{"id": ["a"], "input": "a"}',
    "a kind that is an object": b'{"input": [{"type": {"a": 1}}]}',
    "media that are a list": b'{"input": "a", "media": [["image1"]]}',
    "a label that is deep": b'{"input": "a", "label": '
    + b"[" * 600
    + b"]" * 600
    + b"}",
    "an input that is deep": b'{"input": ' + DEEP + b"}",
    "deeper than Python": b'{"input": "a", "label": '
    + DEEP
    + b', "b": '
    + b"[" * 90_000
    + b"]" * 90_000
    + b"}",
    "a number of 5,000 digits": b'{"input": "a", "label": ' + b"7" * 5000 + b"}",
    "a long line": b'{"input": "' + b"a " * 2**22 + b'"}',
    "no object": b"7",
}


@pytest.mark.parametrize("loader", ["interleaved", "datasets"])
def test_a_row_that_nothing_can_be_made_of_fails_alone_and_by_name(
    loader: str, tmp_path: Path
) -> None:
    taken = (
        BAD_ROWS
        if loader == "interleaved"
        else {name: BAD_ROWS[name] for name in BAD_ROWS if "deep" in name}
    )
    write_rows(tmp_path, "bad", GOOD, *taken.values(), GOOD)
    write_rows(tmp_path, "sound", GOOD)
    write_pair(tmp_path, "bad", "sound")
    if loader == "datasets":
        columns = "loader: datasets\ncolumns: {input: input, reference: reference}\n"
        (tmp_path / "bad.yaml").write_text(
            (tmp_path / "bad.yaml").read_text() + columns
        )
    checked, done = (
        mmeval("check", tmp_path / "bad.yaml", "--json"),
        run(tmp_path, "both"),
    )
    assert (checked.code, done.code) == (3, 3), done.err
    causes = [row["cause"] for row in json.loads(checked.out)["findings"]]
    assert [f"row {number}: " in cause for number, cause in enumerate(causes, 2)] == [
        True
    ] * len(taken), checked.out
    found = {
        row["task"]: row
        for row in results(run_folder(tmp_path / "runs"))["mmeval"]["results"]
    }
    assert (found["bad"]["n"], found["bad"]["scored"], found["sound"]["scored"]) == (
        len(taken) + 2,
        2,
        1,
    )
    assert "unexpected" not in checked.err + done.err


def test_a_row_that_the_prompt_cannot_be_made_of_fails_alone_and_by_name(
    tmp_path: Path,
) -> None:
    labelled = b'{"input": "1 + 1", "reference": "2", "ws": "x"}'
    write_rows(tmp_path, "bad", labelled, labelled, GOOD)
    write_rows(tmp_path, "sound", GOOD)
    write_pair(tmp_path, "bad", "sound")
    prompt = 'prompt: "{{ input }} {{ ws }}"\nprompt_fields: [ws]\n'
    (tmp_path / "bad.yaml").write_text((tmp_path / "bad.yaml").read_text() + prompt)
    done = run(tmp_path, "both")
    folder = run_folder(tmp_path / "runs")
    assert (done.code, mmeval("score", folder).code) == (3, 3), done.err
    assert "'ws' is undefined" in done.err
    found = {row["task"]: row for row in results(folder)["mmeval"]["results"]}
    assert (found["bad"]["n"], found["bad"]["scored"], found["sound"]["scored"]) == (
        3,
        2,
        1,
    )
