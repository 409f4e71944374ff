"""Questions about pictures from outside: the command, a real server, real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import mmeval
from tests.support.judges import judge, judge_server
from tests.support.picture_judging import DOWN, RED, judged, trial_of

TAILS = {
    "kites": "Yes",
    "eyes": "There are no eyes here. No",
    "masts": "yes, but the picture shows something else entirely",
}


def cases(folder: Path, rows: list[dict[str, Any]]) -> Path:
    (folder / "a.png").write_bytes(RED.read())
    file = folder / "cases.jsonl"
    file.write_text("".join(f"{json.dumps({'files': ['a.png'], **row})}\n" for row in rows))
    return file


@pytest.mark.parametrize(("profile", "values"), [("official", [1.0, 1.0, 0.0]), ("standard", [1.0, 0.0, None])])
def test_the_tail_of_a_reply_decides_in_the_official_profile(
    tmp_path: Path, profile: str, values: list[float | None]
) -> None:
    file = cases(tmp_path, [{"id": word, "metadata": {"object": word}} for word in TAILS])
    with judge_server(tmp_path, TAILS) as server:
        done = mmeval("metric", "judge_presence", "--cases", file, "--profile", profile, *judge(server))
        asked = server.stats()["requests"]

    assert [json.loads(line)["value"] for line in done.out.splitlines()] == values
    assert (done.code, asked) == (
        (0, 3) if profile == "official" else (3, 5)
    )  # what is unreadable is asked three times


@pytest.mark.parametrize(
    ("said", "value"), [("Answer: A", 1.0), ("**Answer: D**", 0.0), ("first Answer: A then Answer: B", 1.0)]
)
def test_the_first_letter_that_is_stated_decides_in_the_official_profile(
    tmp_path: Path, said: str, value: float
) -> None:
    file = cases(tmp_path, [{"metadata": {"constraint": [["kite", "bottom left"]]}}])
    with judge_server(tmp_path, {"shows this": "Yes", "In which": said}) as server:
        done = mmeval("metric", "judge_position", "--cases", file, "--profile", "official", *judge(server))

    assert json.loads(done.out)["value"] == value


def test_two_judges_read_chinese(tmp_path: Path) -> None:
    file = cases(tmp_path, [{"metadata": {"text": "和平"}}])
    with (
        judge_server(tmp_path / "a", {"Chinese": {"answer": "和平"}}) as first,
        judge_server(tmp_path / "b", {"Chinese": {"answer": "和"}}) as second,
    ):
        other = ("--role", f"second_judge=openai,model=g,base_url={second.url}")
        done = mmeval("metric", "judge_ocr_multilingual", "--cases", file, *judge(first), *other)

    assert (done.code, json.loads(done.out)["value"]) == (0, 0.5)


def test_a_judge_that_only_fails_is_unscored_and_wrong_for_the_release(tmp_path: Path) -> None:
    file = cases(tmp_path, [{"metadata": {"object": "kites", "count": 3}}])
    with judge_server(tmp_path, {"": ""}) as server:
        ends = [
            mmeval("metric", "judge_count", "--cases", file, "--profile", profile, *judge(server))
            for profile in ("standard", "official")
        ]

    assert [(end.code, json.loads(end.out)["value"]) for end in ends] == [(3, None), (0, 0.0)]


@pytest.mark.parametrize(
    ("task", "role", "calls"),
    [
        ("mmmg_object_count", "judge", "4"),
        ("mmmg_relative_spatial", "judge", "8"),
        ("mmmg_double_text_rendering", "judge", "12"),
        ("mmmg_decomposition", "judge", "about 12"),
        ("mmmg_self_count", "judge", "about 4"),
        ("mmmg_self_color", "judge", "about 12"),
        ("mmmg_self_size", "judge", "about 12"),
        ("mmmg_self_relative_spatial", "gemini", "about 16"),
        ("mmmg_self_absolute_spatial", "gemini", "about 16"),
        ("mmmg_self_ocr", "judge", "about 4"),
        ("mmmg_interleaved_math", "gemini", "about 8"),
    ],
)
def test_what_the_judge_will_be_asked_is_counted_beforehand(tmp_path: Path, task: str, role: str, calls: str) -> None:
    model = ("--model", "openai", "--model_args", "model=m,base_url=http://localhost:1/v1,outputs=[text,image]")
    others = (
        "--role",
        f"{role}=openai,model=j,base_url=http://localhost:1/v1",
        "--output_path",
        tmp_path,
        "--dry_run",
    )
    done = mmeval("--tasks", task, "--data", "bundled", *model, *others)

    (row,) = [line for line in done.out.splitlines() if line.startswith("| ") and f"|{role}" in line]
    assert row.split("|")[4].strip() == calls, done.err


def test_a_run_says_how_many_replies_it_could_not_read_where_they_count_as_wrong(tmp_path: Path) -> None:
    tasks = ("--tasks", "mmmg_object_count,mmmg_object_exclusion", "--data", "bundled", "--model", "reference")
    with judge_server(tmp_path, {"": "I am a teapot"}) as server:
        done = mmeval(*tasks, "--profile", "official", "--output_path", tmp_path / "runs", *judge(server))
        again = mmeval("score", tmp_path / "runs" / "reference" / "default")

    for end in (done, again):
        (said,) = [line for line in end.warnings if "could not be read" in line]
        assert "count as wrong" in said
        assert "mmmg_object_count " in said and "mmmg_object_exclusion " in said


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_judge_that_fails_gives_no_verdict_in_any_profile(profile: str) -> None:
    score = judged("judge_presence", trial_of("", RED, object="a"), {"": DOWN}, profile).score

    assert (score.status, score.bounds, score.cause) == ("unscored", (0.0, 1.0), "lost")
