"""UEval from end to end, on the bundled rows: model and judge behind servers, cases,
and replies without a verdict."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.cli import Ended, mmeval, openai, results, run_folder
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.tiny_media import picture

ROWS, CRITERIA = 9, 24
TABLES = ("\n1,", "\n2,", "\n4a,", "\n4b,")


class Left(NamedTuple):
    """What a command left behind."""

    done: Ended
    output: Path

    def values(self, task: str = "ueval") -> dict[str, float | None]:
        rows = results(self.output)["mmeval"]["results"]
        return {
            row["metric"]: row["value"]
            for row in rows
            if (row["task"], row["slice"]) == (task, "")
        }


def run(output: Path, server: MockServer, *words: str | Path) -> Left:
    flags = (
        "--tasks",
        "ueval",
        "--data",
        "bundled",
        "--output_path",
        output,
        "--report",
        "false",
    )
    return Left(mmeval(*flags, *words, *judge(server)), output)


def asked(server: MockServer) -> int:
    return int(server.stats()["requests"])


def test_the_reference_has_all_of_a_kind_judge_and_the_empty_answer_nothing_without_a_call(
    tmp_path: Path,
) -> None:
    with judge_server(tmp_path) as server:
        best = run(tmp_path / "best", server, "--model", "reference")
        assert (best.done.code, asked(server), server.stats()["unique"]) == (
            0,
            CRITERIA,
            CRITERIA,
        )
        nothing = run(tmp_path / "nothing", server, "--model", "empty")
        assert (nothing.done.code, asked(server)) == (0, CRITERIA)
    every = ("ueval_score", "ueval_image", "ueval_text")
    assert (best.values(), nothing.values()) == (
        dict.fromkeys(every, 1.0),
        dict.fromkeys(every, 0.0),
    )
    assert best.values("ueval_space") == best.values()


def test_a_model_of_text_alone_has_numbers_of_its_text_and_none_of_pictures(
    tmp_path: Path,
) -> None:
    with judge_server(tmp_path) as server:
        left = run(tmp_path / "runs", server, *openai(server))
    assert left.values() == {"ueval_score": 1.0, "ueval_image": None, "ueval_text": 1.0}


def test_the_official_profile_asks_only_what_it_shows_otherwise(tmp_path: Path) -> None:
    with judge_server(tmp_path) as server:
        run(tmp_path / "runs", server, "--model", "reference")
        folder = run_folder(tmp_path / "runs", "reference")
        again = mmeval("score", folder, "--profile", "official", *judge(server))
        # The row that has only ``task_type`` is judged as an open question: its two
        # criteria of pictures.
        assert (again.code, asked(server)) == (0, CRITERIA + 2)


def test_an_export_read_back_has_the_same_scores_and_the_layout_prints(
    tmp_path: Path,
) -> None:
    with judge_server(
        tmp_path,
        {"red": {"criteria_met": False}, "steps": {"criteria_met": "not sure"}},
    ) as server:
        first = run(tmp_path / "runs", server, "--model", "reference")
        folder, out = run_folder(first.output, "reference"), tmp_path / "out"
        exported = mmeval("export", folder, "--format", "ueval", "--output_path", out)
        (place,) = out.iterdir()
        replayed = run(
            tmp_path / "replayed",
            server,
            "--model",
            "replay",
            "--model_args",
            f"format=ueval,path={place}",
        )
        assert (exported.code, asked(server)) == (0, 2 * CRITERIA)
    assert 0 < (first.values()["ueval_score"] or 0) < 1
    assert replayed.values() == first.values()
    told = json.loads((place / "results.json").read_text())["summary"]
    table = mmeval("report", folder, "--layout", "ueval", "--format", "csv")
    assert (table.code, [words in table.out for words in TABLES]) == (0, [True] * 4)
    micro = {}
    for line in table.out.splitlines():
        name, _, _, column, value, *_ = line.split(",")
        if name == "released" and value:
            micro[column] = float(value)
    assert micro["Text"] == pytest.approx(told["text_avg_rate"], abs=0.001)
    assert micro["Image"] == pytest.approx(told["image_avg_rate"], abs=0.001)


@pytest.mark.parametrize(
    "reply",
    [
        "It is met.",
        '{"criteria_met": true} {"criteria_met": false}',
        '{"criteria_met": tr',
        " ",
        '{"criteria_met": 1}',
    ],
    ids=["prose", "two objects", "cut", "empty", "a number"],
)
def test_a_reply_that_is_no_verdict_is_asked_for_again_and_then_lost_with_bounds(
    reply: str, tmp_path: Path
) -> None:
    with judge_server(
        tmp_path, dict.fromkeys(("red lamp is shown.", "names the colour red."), reply)
    ) as server:
        left = run(
            tmp_path / "runs", server, "--model", "reference", "--max_unscored", "9"
        )
        assert asked(server) == CRITERIA + 2 * 2, (
            "two criteria are asked about three times each"
        )
    rows = results(left.output)["mmeval"]["results"]
    bounds = {
        row["metric"]: row["bounds"] for row in rows if row["task"] == "ueval_space"
    }
    assert bounds == {
        "ueval_text": [0.5, 1.0],
        "ueval_image": [0.5, 1.0],
        "ueval_score": [0.5, 1.0],
    }


def case(name: str, **row: Any) -> dict[str, Any]:
    labels = {"task": "art", "text_rubrics": [f"[{name}] Words."], "image_rubrics": []}
    return {
        "name": name,
        "input": "How?",
        "answer": "So.",
        "metadata": {**labels, **row.pop("metadata", {})},
        **row,
    }


CASES: Mapping[str, tuple[str, tuple[Any, Any], tuple[Any, Any]]] = {
    "yes": ('```json\n{"criteria_met": "Yes"}\n```', (1, None), (1, None)),
    "unsure": ('{"criteria_met": "not sure"}', (0, None), (0, None)),
    "one": ('{"criteria_met": 1}', (None, None), (0, None)),
    "key": ('{"met": true}', (None, None), (0, None)),
    "python": ("{'criteria_met': True}", (1, None), (None, None)),
}
"""By name: the judge's reply, and both numbers in the profiles ``standard`` and
``official``."""


def test_cases_are_scored_by_the_verb_metric_in_both_profiles(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(picture())
    parts = [{"type": "text", "text": "So."}, {"type": "image", "path": "x.png"}]
    sides = {
        "task": "diagram",
        "text_rubrics": [],
        "image_rubrics": ["[yes] Sight one.", "[unsure] Sight two."],
    }
    rows = [
        *map(case, CASES),
        case("sides", answer=parts, metadata=sides),
        case("none", answer="", metadata=sides),
    ]
    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with judge_server(
        tmp_path / "judge", {f"[{name}]": reply for name, (reply, *_) in CASES.items()}
    ) as server:
        for at, profile in enumerate(("standard", "official")):
            flags = ("--cases", cases, "--json", "--profile", profile)
            done = mmeval("try", "metric", "ueval_rubric", *flags, *judge(server))
            found = {
                row["name"]: row["outputs"]
                for row in map(json.loads, done.out.splitlines())
            }
            values = {
                name: tuple(one["value"] for one in outputs.values())
                for name, outputs in found.items()
            }
            wanted = {name: both[at] for name, (_, *both) in CASES.items()}
            assert values == {
                **wanted,
                "sides": (None, 0.5),
                "none": (None, (0, 0.5)[at]),
            }
