import csv
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.records.score import Result
from mmeval.results.stored_run import StoredRun
from mmeval.system.json_lines import sealed_document, unsealed_document
from tests.support.cli import Ended, mmeval
from tests.support.stored_runs import WrittenTrial, text, write_run

TRIALS, RATED = 60, 30


def stored(folder: Path) -> Path:
    trials = []
    for place in range(TRIALS):
        score = {"status": "scored", "value": float(place % 3 > 0)}
        told = WrittenTrial(
            [text("?")],
            [text("!")],
            {"right": score},
        )
        trials.append(replace(told, sample=f"s{place}", place=place))
    return write_run(folder, trials, results={})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return stored(tmp_path / "run")


def ratings(folder: Path, name: str = "panel.jsonl", how: str = "random") -> Path:
    lines = []
    for place in range(RATED):
        row = {"trial": f"told/s{place}/0", "rater": "ann", "value": place % 2}
        lines.append(json.dumps({**row, "draw": {"how": how}}))
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(lines))
    return file


def write_number(run: Path, row: Mapping[str, Any]) -> None:
    (file,) = run.glob("results_*.json")
    document = unsealed_document(json.loads(file.read_bytes()))
    document["mmeval"]["results"] = [row]
    file.write_bytes(sealed_document(document))


def calibrated(run: Path, file: Path) -> Ended:
    return mmeval("calibrate", run, "--ratings", file, "--metric", "right")


def shown(run: Path) -> dict[str, Mapping[str, str]]:
    table = mmeval("report", run, "--format", "csv").out
    return {row["metric"]: row for row in csv.DictReader(io.StringIO(table))}


def test_a_run_shows_the_corrected_number_and_its_own(run: Path) -> None:
    calibrated(run, ratings(run.parent))
    assert list(shown(run)) == ["right", "right corrected (panel)"]


def test_the_corrected_number_states_what_it_rests_on(run: Path) -> None:
    calibrated(run, ratings(run.parent))
    row = shown(run)["right corrected (panel)"]
    assert (row["scored"], row["n"]) == (str(RATED), str(TRIALS))
    assert float(row["ci95_low"]) < float(row["value"]) < float(row["ci95_high"])


def test_ratings_of_a_run_are_named_by_their_folder(run: Path) -> None:
    (run / "ratings").mkdir()
    calibrated(run, ratings(run / "ratings", "doctors/ratings.jsonl"))
    assert "right corrected (doctors)" in shown(run)


def test_a_later_calibration_replaces_an_earlier_one(run: Path) -> None:
    file = ratings(run.parent)
    calibrated(run, file)
    file.write_text(file.read_text().replace('"value": 0', '"value": 1'))
    calibrated(run, file)
    assert float(shown(run)["right corrected (panel)"]["value"]) > 0.9


def test_a_refused_calibration_is_not_kept(run: Path) -> None:
    ended = calibrated(run, ratings(run.parent, how="chosen"))
    assert ended.code == 3
    assert list(shown(run)) == ["right"]


def test_a_refused_calibration_removes_an_earlier_number(run: Path) -> None:
    calibrated(run, ratings(run.parent))
    calibrated(run, ratings(run.parent, how="chosen"))
    assert list(shown(run)) == ["right"]


def test_a_number_is_not_shown_beside_one_that_has_changed(run: Path) -> None:
    row = Result("told", "right", 0.66, n=TRIALS, scored=TRIALS).to_json()
    write_number(run, row)
    calibrated(run, ratings(run.parent))
    assert StoredRun(run).ours["corrected"]
    write_number(run, {**row, "n": TRIALS + 1})
    assert "corrected" not in StoredRun(run).ours


def test_a_damaged_correction_is_left_out(run: Path) -> None:
    calibrated(run, ratings(run.parent))
    (kept,) = run.glob("ratings/*/corrected.json")
    kept.write_text("{}")
    assert StoredRun(run).ours.get("corrected") is None
