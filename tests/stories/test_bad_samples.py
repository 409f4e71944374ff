"""Samples that cannot be put to a model: each costs itself alone, is named with its file and row, and is asked by the
same command once its data are mended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import mmeval, openai, results, run_folder
from tests.support.lm_eval_reader import latest, read_samples
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_task
from tests.support.tiny_media import picture

BAD = {"id": "1", "input": "<<image1>>", "media": {"image1": "gone.png"}, "reference": "answer 1", "level": "hard"}
PLACE = 'test.jsonl: row 2: media image1 "gone.png" is missing'


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


def question(number: int) -> dict[str, Any]:
    return {"id": str(number), "input": f"question {number}", "reference": f"answer {number}", "level": "easy"}


def write(folder: Path, *bad: int, count: int = 3) -> list[str | Path]:
    """A task of so many questions, of which some lack their picture; the flags that name it."""
    rows = [{**BAD, "id": str(n)} if n in bad else question(n) for n in range(count)]
    tasks = write_task(folder / "tasks", "ask", rows, more="breakdown: [level]\n")
    return ["--tasks", "ask", "--include_path", tasks, "--output_path", folder / "runs", "--score_workers", "0"]


def test_a_bad_row_costs_itself_and_is_asked_by_the_same_command_when_it_is_mended(
    server: MockServer, tmp_path: Path
) -> None:
    flags = [*write(tmp_path, 1), *openai(server)]
    first, again = mmeval(*flags), mmeval(*flags)
    asked = server.stats()["requests"]
    write(tmp_path)
    mended = mmeval(*flags)

    assert (first.code, again.code, asked, mended.code) == (3, 3, 2, 0), mended.err
    assert "kept 2 answers" in again.err and "nothing new to ask" in again.err
    assert any(PLACE in line for line in first.warnings)
    assert "(bad_sample)" in first.err
    assert "kept 2 answers" in mended.err and "asking 1 new" in mended.err
    assert (server.stats()["unique"], server.stats()["repeated"]) == (3, 0)


def test_a_bad_sample_has_failed_in_its_slice_and_in_the_bounds(server: MockServer, tmp_path: Path) -> None:
    mmeval(*write(tmp_path, 1), *openai(server))

    found = {row["slice"]: row for row in results(run_folder(tmp_path / "runs"))["mmeval"]["results"]}

    assert (found[""]["n"], found[""]["scored"], found[""]["failed"]) == (3, 2, 1)
    assert found[""]["bounds"][1] - found[""]["bounds"][0] == pytest.approx(1 / 3)
    assert (found["level=hard"]["n"], found["level=hard"]["failed"], found["level=hard"]["value"]) == (1, 1, None)


def test_a_medium_that_goes_and_comes_back_costs_no_answer(server: MockServer, tmp_path: Path) -> None:
    flags = [*write(tmp_path, 1), *openai(server)]
    medium = tmp_path / "tasks" / "ask_data" / "gone.png"
    codes = []
    for there in (True, False, True):
        medium.write_bytes(picture()) if there else medium.unlink()
        codes.append(mmeval(*flags).code)

    assert codes == [0, 3, 0]
    assert server.stats()["requests"] == 3


def test_a_dry_run_counts_them_and_names_each(server: MockServer, tmp_path: Path) -> None:
    ended = mmeval(*write(tmp_path, 0, 1), *openai(server), "--dry_run")

    assert ended.code == 0 and server.stats()["requests"] == 0
    assert "problem: ask: 2 samples" in ended.out
    assert PLACE in ended.out and PLACE.replace("row 2", "row 1") in ended.out
    assert "|ask  | 3 of 3|model|    1|" in ended.out


def test_the_samples_file_and_the_page_show_the_reason(server: MockServer, tmp_path: Path) -> None:
    mmeval(*write(tmp_path, 1), *openai(server), "--log_samples")

    line = read_samples(latest(tmp_path / "runs")[1]["ask"])[1]
    page = "".join(file.read_text() for file in (run_folder(tmp_path / "runs") / "report" / "data").glob("*.js"))

    assert line["error"][0]["kind"] == "bad_sample" and PLACE in line["doc"]["fault"]
    assert (line["resps"], line["arguments"]["gen_args_0"]["arg_0"]) == ([[""]], "")
    assert json.dumps(PLACE)[1:-1] in page and "bad_sample" in page


@pytest.mark.parametrize("model", ["reference", "empty"])
def test_backends_that_answer_from_the_sample_are_not_asked_for_it(model: str, tmp_path: Path) -> None:
    ended = mmeval(*write(tmp_path, 1), "--model", model)

    (found,) = [row for row in results(tmp_path / "runs")["mmeval"]["results"] if not row["slice"]]
    assert ended.code == 3
    assert (found["scored"], found["failed"], found["unsupported"]) == (2, 1, 0)


@pytest.mark.parametrize("logged", [False, True], ids=["run folder", "samples file"])
def test_a_replay_takes_the_answers_that_were_given_and_misses_the_one_that_was_not(
    server: MockServer, tmp_path: Path, logged: bool
) -> None:
    mmeval(*write(tmp_path, 1), *openai(server), "--log_samples")
    folder = run_folder(tmp_path / "runs")
    path = latest(tmp_path / "runs")[1]["ask"] if logged else folder
    replay = ["--model", "replay", "--model_args", f"path={path},name=again"]

    bad = mmeval(*write(tmp_path, 1), *replay)
    mended = mmeval(*write(tmp_path), *replay, "--fresh")

    assert (bad.code, mended.code) == (3, 3)
    assert "replaying 2 answers" in bad.err and "2 of 2 are there" in bad.err
    assert "3 answers" in mended.err and "1 trial failed (no_answer 1)" in mended.err
