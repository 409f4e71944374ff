import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import RUN, TASK, Case, shown

FLAGS = "--ratings ratings.jsonl --metric judge"
FILES = f"calibrate --scores scores.jsonl {FLAGS}"


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def files(*, how: str = "random") -> Mapping[str, str]:
    """Scores of two runs by a judge that is too lenient, and ratings of every third
    trial."""
    random = np.random.default_rng(0)
    scores: list[dict[str, object]] = []
    ratings: list[dict[str, object]] = []
    for run, truth in (("base", 0.45), ("chat", 0.6)):
        for place in range(90):
            human = float(random.random() < truth)
            judge = round(0.2 + 0.6 * human + 0.2 * random.random(), 2)
            trial = {"trial": f"t{place}", "run": run}
            level = "easy" if place < 75 else "hard\x1b[31m"
            row = {"metric": "judge", "value": judge, "labels": {"level": level}}
            scores.append({**trial, **row})
            if place % 3 == 0:
                draw = {"how": how}
                ratings.append({**trial, "rater": "r", "value": human, "draw": draw})
    ratings.append({"trial": "t999", "run": "base", "rater": "r", "value": 1.0})
    return {"scores.jsonl": lines(scores), "ratings.jsonl": lines(ratings)}


def files_of_run(*runs: str) -> Mapping[str, str]:
    """A task of 30 samples, and a table of ratings of 20 answers of each run."""
    samples: list[dict[str, object]] = []
    for place in range(30):
        sample: dict[str, object] = {"id": f"s{place}", "input": f"{place}?"}
        samples.append({**sample, "reference": str(place)})
    table = ["run,trial,rater,value,draw.how"]
    for place in range(20):
        for run in runs:
            is_good = place > (15 if run == "empty" else 3)
            table.append(f"{run},t/s{place}/0,ann,{int(is_good)},random")
    return {
        "t.yaml": TASK,
        "rows/test.jsonl": lines(samples),
        "ratings.csv": "\n".join(table),
    }


CASES = {
    **{
        words: Case(f"{FILES} {words}", files())
        for words in (
            "--run base",
            "--run base --by level --range 0,1",
            "--run base --strata level",
            "--run base --against chat",
            "--run base --precision 0.1",
            "--run base --precision 0.01 --range 0,1 --sequence",
            "--run base --format json",
            "--run base --format yaml",
            "--run base --range 1,0",
            "--run bsae",
        )
    },
    "chosen ratings": Case(f"{FILES} --run base", files(how="chosen")),
    "a run whose metric is always right": Case(
        "calibrate runs --ratings ratings.csv --metric exact_match",
        files_of_run(""),
        before=(RUN,),
    ),
    "two runs": Case(
        "calibrate --run runs/reference/default --against runs/empty/default "
        "--ratings ratings.csv --metric exact_match",
        files_of_run("reference", "empty"),
        before=(RUN, RUN.replace("reference", "empty")),
    ),
    "neither run nor scores": Case(f"calibrate {FLAGS}", files()),
}


@pytest.mark.parametrize("name", CASES)
def test_calibrate(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
