from pathlib import Path
from typing import Any

import pytest

from mmeval.results.provenance import made_with, skipped_metrics_note
from mmeval.results.stored_run import StoredRun
from tests.support.stored_run import Told, text, write_run

DATED = {"role": "judge", "asked": "m", "served": "m-2026", "fingerprint": ""}
CAPTIONER = {"role": "captioner", "asked": "c", "served": "", "fingerprint": ""}
ALONE = {"model": "teller", "profile": "standard", "run": "night"}


def stored(folder: Path, **ours: Any) -> StoredRun:
    return StoredRun(write_run(folder / "night", [Told([text("a")], [text("b")])], results=ours))


@pytest.mark.parametrize(
    ("ours", "made"),
    [
        ({}, ALONE),
        (
            {"judges": {"told": [CAPTIONER, DATED]}, "metrics": {"told": {"right": {"profile": "official"}}}},
            {**ALONE, "judge": "m (served as m-2026)", "captioner": "c", "profile": "official"},
        ),
        ({"judges": {"another": [DATED]}}, ALONE),
    ],
    ids=["alone", "judged", "another task"],
)
def test_a_line_names_model_and_judges_as_served(ours: dict[str, Any], made: dict[str, str], tmp_path: Path) -> None:
    line = made_with(stored(tmp_path, **ours))
    fields = line.removeprefix("Made with ").removesuffix(".").split(", ")
    assert dict(field.split(": ") for field in fields) == made
    assert [field.split(":")[0] for field in fields][:2] == ["model", "judge" if "judge" in made else "profile"]


def test_results_of_a_part_of_the_metrics_name_the_others_and_the_command_for_all(tmp_path: Path) -> None:
    (note,) = skipped_metrics_note(stored(tmp_path, left_aside={"told": ["right", "other"], "more": ["right"]}))
    assert "without right, other," in note
    assert f"mmeval score {tmp_path / 'night'} " in note
    assert list(skipped_metrics_note(stored(tmp_path))) == []
