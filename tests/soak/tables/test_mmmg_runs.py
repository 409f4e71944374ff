"""All 49 tasks as users run them: from the command line, with models and judges behind
servers."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image

from tests.support.cli import Ended, mmeval, openai, results, run_folder
from tests.support.mock_openai_server import MockServer
from tests.support.shipped_tasks import NEED_WEIGHTS, TASKS

NAMES = [counted.task for counted in TASKS]

SAYS: Mapping[str, Any] = {
    "shows this: yellow disc": "no",
    "shows this: a blue square\n": "no",
    "shows this": "yes",
    "is the picture about this": "yes",
    "How many of these": "C",
    "Where is the first one": "A",
    "At which height": "A",
    "quarter is this: red disc": "A",
    "quarter is this: green square": "D",
    "Which Chinese characters": "三十",
    "written on the sign on the left,": ["IN"],
    "written on the sign on the right,": ["OUT"],
    "written on the sign,": ["OPEN"],
    "written on the board above the door,": ["TÜR"],
    "written on the board,": ["WE ALL GO", "UP AT TEN"],
    "written in the picture": ["OPEN"],
    "geometric pattern": "yes",
    "description agree": "yes",
}
"""The reply of a judge who sees the bundled right answers to each question. Of two
pictures that are asked about in the same words, one has no text; a judge that looks at
no picture is wrong there."""


class Finished(NamedTuple):
    output: Path
    done: Ended
    found: dict[str, Any]

    def overall(self, task: str) -> dict[str, Any]:
        rows: list[dict[str, Any]] = self.found["mmeval"]["results"]
        return next(
            row
            for row in rows
            if (row["task"], row["metric"], row["slice"]) == (task, "overall", "")
        )


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    replies = tmp_path_factory.mktemp("judge") / "replies.jsonl"
    rows = (
        {"contains": words, "reply": json.dumps({"reason": "so", "answer": said})}
        for words, said in SAYS.items()
    )
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with MockServer(replies=str(replies)) as server:
        yield server


def judges(server: MockServer) -> tuple[str, ...]:
    asked = f"openai,model=j,base_url={server.url}"
    return ("--judge", asked, "--role", f"gemini={asked}")


def run(output: Path, *flags: str, tasks: str = "mmmg") -> Finished:
    done = mmeval(
        "--tasks",
        tasks,
        "--data",
        "bundled",
        *flags,
        "--output_path",
        output,
        "--report",
        "false",
    )
    return Finished(output, done, results(output))


@pytest.fixture(scope="module")
def right(judge: MockServer, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Right answers, and judges who know them."""
    return run(tmp_path_factory.mktemp("right"), "--model", "reference", *judges(judge))


@pytest.fixture(scope="module")
def served(judge: MockServer, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A model that answers everything with some text, a picture and a sound."""
    with MockServer() as model:
        flags = (*openai(model, outputs="text+image+audio"), *judges(judge))
        return run(tmp_path_factory.mktemp("served"), *flags)


def test_the_run_ends_well(right: Finished, served: Finished) -> None:
    assert (right.done.code, served.done.code) == (0, 0), served.done.err


@pytest.mark.parametrize("name", NAMES)
def test_a_task_is_scored_or_unavailable_with_its_reason(
    served: Finished, name: str
) -> None:
    row = served.overall(name)
    if name not in NEED_WEIGHTS:
        assert (row["scored"], row["unscored"], row["failed"]) == (row["n"], 0, 0)
        assert 0 <= row["value"] <= 1
        return
    assert (row["value"], row["unavailable"]) == (None, row["n"])
    subjects = [one["subject"] for one in served.found["mmeval"]["findings"]]
    lacking = {one.get("metric") for one in subjects if one.get("task") == name}
    assert "overall" in lacking
    assert lacking - {"overall"}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NEED_WEIGHTS])
def test_right_answers_get_the_best_value(right: Finished, name: str) -> None:
    row = right.overall(name)
    assert row["scored"] == row["n"] > 0
    assert row["value"] == (0.5 if name == "mmmg_text_editing" else 1.0)


def test_instrument_and_tempo_share_the_answers_to_their_common_rows(
    tmp_path: Path,
) -> None:
    with MockServer() as model:
        found = run(
            tmp_path, *openai(model, outputs="audio"), tasks="a_music_attribute"
        )
        asked = model.stats()["requests"]
    trials = {
        name: found.overall(name)["n"]
        for name in ("mmmg_instrument_inclusion", "mmmg_music_tempo")
    }
    assert trials == {"mmmg_instrument_inclusion": 8, "mmmg_music_tempo": 8}
    assert asked == 12  # three different rows, four times each


def test_every_picture_of_an_export_is_rgb(right: Finished, tmp_path: Path) -> None:
    done = mmeval(
        "export",
        run_folder(right.output, "reference"),
        "--format",
        "mmmg",
        "-o",
        tmp_path,
    )
    assert done.out == f"{tmp_path / 'reference'}\n", done.err
    modes = set()
    for file in (pictures := list(tmp_path.glob("*/image/*.png"))):
        with Image.open(file) as shown:
            modes.add((shown.format, shown.mode))
    assert (len(pictures), modes) == (204, {("PNG", "RGB")})
