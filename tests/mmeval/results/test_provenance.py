from pathlib import Path
from typing import Any

from mmeval.results.provenance import made_with, skipped_metrics_note
from mmeval.results.stored_run import StoredRun
from tests.support.stored_runs import write_run

DATED = {"role": "judge", "asked": "m", "served": "m-2026", "fingerprint": ""}
CAPTIONER = {"role": "captioner", "asked": "c", "served": "", "fingerprint": ""}


def stored(folder: Path, **ours: Any) -> StoredRun:
    return StoredRun(write_run(folder / "night", [], results=ours))


def test_a_line_names_the_model_and_the_judges_as_they_were_served(
    tmp_path: Path,
) -> None:
    def fields(**ours: Any) -> list[str]:
        return (
            made_with(stored(tmp_path, **ours))
            .removeprefix("Made with ")
            .removesuffix(".")
            .split(", ")
        )

    judges = {
        "judges": {"told": [CAPTIONER, DATED]},
        "metrics": {"told": {"right": {"profile": "official"}}},
    }
    served = ["judge: m (served as m-2026)", "captioner: c"]
    assert fields(**judges) == [
        "model: teller",
        *served,
        "profile: official",
        "run: night",
    ]
    for others in ({}, {"judges": {"another": [DATED]}}):
        assert fields(**others) == ["model: teller", "profile: standard", "run: night"]


def test_a_line_states_the_share_of_released_prompts(tmp_path: Path) -> None:
    prompts = {"tree": {"words": "released"}, "leaf": {"words": "own"}}
    line = made_with(stored(tmp_path, prompts=prompts))
    assert "prompts in the authors' words: 1 of 2" in line


def test_results_of_a_part_of_the_metrics_name_the_others_and_the_command_for_all(
    tmp_path: Path,
) -> None:
    (note,) = skipped_metrics_note(
        stored(tmp_path, left_aside={"told": ["right", "other"], "more": ["right"]})
    )
    assert "left out right, other." in note
    assert f"mmeval score {tmp_path / 'night'} " in note
    assert list(skipped_metrics_note(stored(tmp_path))) == []
