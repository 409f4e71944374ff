from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mmeval.results.provenance import made_with, skipped_metrics_note
from mmeval.results.stored_run import StoredRun
from tests.support.stored_run import Told, text, write_run

DATED = {"role": "judge", "asked": "m", "served": "m-2026", "fingerprint": ""}
CAPTIONER = {"role": "captioner", "asked": "c", "served": "", "fingerprint": ""}


def stored(folder: Path, **ours: Any) -> StoredRun:
    return StoredRun(write_run(folder / "night", [Told([text("a")], [text("b")])], results=ours))


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        ({}, "Made with model: teller, profile: standard, run: night."),
        (
            {"judges": {"told": [CAPTIONER, DATED]}, "metrics": {"told": {"right": {"profile": "official"}}}},
            "Made with model: teller, judge: m (served as m-2026), captioner: c, profile: official, run: night.",
        ),
        ({"judges": {"another": [DATED]}}, "Made with model: teller, profile: standard, run: night."),
    ],
    ids=["alone", "judged", "another task"],
)
def test_a_line_names_who_answered_and_judged_as_they_were_served(
    ours: dict[str, Any], said: str, tmp_path: Path
) -> None:
    assert made_with(stored(tmp_path, **ours)) == said


def test_results_of_a_part_of_the_metrics_say_which_lack_and_how_to_see_all(tmp_path: Path) -> None:
    (said,) = skipped_metrics_note(stored(tmp_path, left_aside={"told": ["right", "other"]}))
    assert said.startswith("these results are without right, other, which the last scoring was not asked for")
    assert said.endswith(f"mmeval score {tmp_path / 'night'} shows all again")
    assert list(skipped_metrics_note(stored(tmp_path))) == []
