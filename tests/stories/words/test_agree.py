import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import RUN, TASK, Case, shown

FILES = "agree ratings.jsonl --scores scores.jsonl"
WORST = "\x1b[31mred <script>"


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def files() -> Mapping[str, str]:
    """Two raters and a judge on 40 trials, of which a few lack something."""
    random = np.random.default_rng(0)
    ratings: list[dict[str, object]] = []
    scores: list[dict[str, object]] = []
    for place in range(40):
        level = int(random.integers(1, 6))
        name = f"t{place}"
        for rater in ("ann", WORST):
            value = int(np.clip(level + random.integers(-1, 2), 1, 5))
            ratings.append({"trial": name, "rater": rater, "value": value})
        task = "music" if place % 2 else WORST
        score = {"trial": name, "metric": "judge", "task": task, "value": level}
        scores.append(score)
    ratings.append({"trial": "t0", "rater": "ann", "value": 1})
    ratings.append({"trial": "t1", "rater": "ann", "value": 1, "pass": 2})
    ratings.append({"trial": "unknown", "rater": "ann", "value": 1})
    scores.append({"trial": "t99", "metric": "judge", "value": 1})
    gold = [{"trial": f"t{place}", "value": 3} for place in range(5)]
    return {
        "ratings.jsonl": lines(ratings),
        "scores.jsonl": lines(scores),
        "gold.jsonl": lines(gold),
    }


def words() -> Mapping[str, str]:
    ratings: list[dict[str, object]] = []
    scores: list[dict[str, object]] = []
    for place in range(12):
        value = "yes" if place % 3 else "no"
        ratings.append({"trial": f"t{place}", "rater": "ann", "value": value})
        scores.append({"trial": f"t{place}", "metric": "judge", "value": "yes"})
    return {"ratings.jsonl": lines(ratings), "scores.jsonl": lines(scores)}


def pairs(*outcomes: str) -> Mapping[str, str]:
    """Judgements of three models; the first of each is better."""
    ratings: list[dict[str, object]] = []
    models = [("omni", "base"), ("base", WORST), ("omni", WORST)]
    for place, value in enumerate(outcomes * 6):
        a, b = models[place % 3]
        row = {"trial": f"p{place}", "rater": "ann", "a": a, "b": b, "value": value}
        ratings.append({**row, "first": "a" if place % 4 else "b"})
    return {"ratings.jsonl": lines(ratings)}


LABEL_STUDIO = json.dumps(
    [
        {
            "id": place,
            "data": {"trial": f"t{place}"},
            "annotations": [
                {
                    "completed_by": {"email": f"{rater}@example.org"},
                    "was_cancelled": place == 3,
                    "result": [
                        {
                            "from_name": question,
                            "type": "rating",
                            "value": {"rating": 1 + (place + shift) % 5},
                        }
                        for question in ("quality", "style")
                    ],
                }
                for shift, rater in enumerate(("ann", "bob"))
            ],
        }
        for place in range(8)
    ]
)


def files_of_run() -> Mapping[str, str]:
    samples: list[dict[str, object]] = []
    ratings: list[dict[str, object]] = []
    for place in range(6):
        samples.append(
            {"id": f"s{place}", "input": f"{place}?", "reference": str(place)}
        )
        trial = f"t/s{place}/0"
        ratings.append({"trial": trial, "rater": "ann", "value": int(place > 1)})
    return {
        "t.yaml": TASK,
        "rows/test.jsonl": lines(samples),
        "ratings.jsonl": lines(ratings),
    }


def put_into_run(folder: Path) -> None:
    file = folder / "runs/reference/default/ratings/first/ratings.jsonl"
    file.parent.mkdir(parents=True)
    (folder / "ratings.jsonl").rename(file)


CASES = {
    **{
        f"a judge {flags}".strip(): Case(f"{FILES} {flags}", files())
        for flags in (
            "",
            "--human majority --by task --macro",
            "--gold gold.jsonl",
            "--metric jugde",
            "--human mode",
            "--by levle",
            "--macro",
            "--run runs",
            "--format yaml",
        )
    },
    "people alone": Case("agree ratings.jsonl", files()),
    "words": Case(FILES, words()),
    "words in JSON": Case(f"{FILES} --format json", words()),
    "pairs": Case("agree ratings.jsonl", pairs("a", "a", "tie_a", "b", "a")),
    "pairs in JSON": Case(
        "agree ratings.jsonl --format json --ties half", pairs("a", "b", "tie_a")
    ),
    "pairs without a rank": Case("agree ratings.jsonl", pairs("a", "tie_b", "a")),
    "pairs with a tie without a side": Case(
        "agree ratings.jsonl --ties forced", pairs("a", "b", "tie")
    ),
    "an unknown way of ties": Case("agree ratings.jsonl --ties none", pairs("a")),
    "another program": Case(
        "agree export.json --form label_studio --question quality",
        {"export.json": LABEL_STUDIO},
    ),
    "several questions": Case(
        "agree export.json --form label_studio", {"export.json": LABEL_STUDIO}
    ),
    "an unknown form": Case(
        "agree export.json --form labelstudio", {"export.json": LABEL_STUDIO}
    ),
    "a run": Case(
        "agree ratings.jsonl --run runs/reference/default --metric exact_match",
        files_of_run(),
        before=(RUN,),
    ),
    "a run with its ratings": Case(
        "agree runs/reference/default --metric exact_match",
        files_of_run(),
        before=(RUN,),
        meanwhile=put_into_run,
    ),
    "a run without ratings": Case(
        "agree runs/reference/default --metric exact_match",
        files_of_run(),
        before=(RUN,),
    ),
    "no file": Case("agree missing.jsonl", {}),
    "no rating": Case("agree ratings.jsonl", {"ratings.jsonl": ""}),
}


@pytest.mark.parametrize("name", CASES)
def test_agree(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
