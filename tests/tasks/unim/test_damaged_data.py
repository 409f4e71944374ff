"""The commands over UniM data with damaged records: each is named, everything else is checked, counted and asked."""

import json
import re
import shutil
from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.errors import EXIT_INCOMPLETE, EXIT_MISSING, EXIT_USAGE
from scripts.make_unim_hub import HUB, ROOT

FOLDER = ROOT / HUB
DAMAGED = ("record '2'", "record '4'", "record '5'", "record '6'", "record '7'", "record '9'", "record '10'")
"""Records that are named, of those that are damaged; a command names ten."""
LAST = "record '14'"
"""The one that is named where all are."""


def outcomes(runs: Path) -> tuple[set[str], set[str]]:
    """The samples that could not be asked, and those that have an answer, as the last results tell."""
    last = {re.sub(r"_\d{4}-.*", "", file.name): file for file in sorted(runs.rglob("samples_*.jsonl"))}
    rows = [json.loads(line) for file in last.values() for line in file.read_text().splitlines()]
    bad = {row["doc"]["id"] for row in rows if row["error"][0] is not None}
    assert {row["error"][0]["kind"] for row in rows if row["doc"]["id"] in bad} == {"bad_sample"}
    return bad, {row["doc"]["id"] for row in rows} - bad


def run(data: Path, runs: Path, *words: str) -> int:
    usual = ["--tasks", "unim", "--model", "reference", "--data_dir", str(data), "--output_path", str(runs)]
    return main([*usual, "--score_workers", "0", "--log_samples", *words])


def test_validate_names_the_damaged_records_and_takes_no_tag_of_a_mesh_for_a_mistake(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["validate", "unim_hard", "--data_dir", str(FOLDER)]) == EXIT_USAGE

    out = capsys.readouterr().out
    assert all(re.search(rf"error: .*image_image\.jsonl:\d+: {name}: ", out) for name in DAMAGED)
    assert "has no medium" not in out


def test_prepare_names_them_and_says_that_the_data_are_not_ready(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prepare", "unim_hard", "--data_dir", str(FOLDER)]) == EXIT_MISSING

    said = capsys.readouterr()
    assert all(re.search(rf"image_image\.jsonl:\d+: {name}: ", said.out + said.err) for name in DAMAGED)


@pytest.mark.parametrize("verb", ["prepare", "validate"])
def test_every_damaged_record_is_in_the_log_for_those_who_ask(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([verb, "unim_hard", "--data_dir", str(FOLDER)])
    few = capsys.readouterr()
    main([verb, "unim_hard", "--data_dir", str(FOLDER), "--verbosity", "DEBUG"])

    assert "--verbosity DEBUG names them" in few.out
    assert LAST not in few.out + few.err
    assert LAST in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_asks_everything_else_and_one_that_is_repaired_later(tmp_path: Path) -> None:
    data, runs = tmp_path / "data", tmp_path / "runs"
    shutil.copytree(FOLDER, data)
    assert run(data, runs) == EXIT_INCOMPLETE
    failed, answered = outcomes(runs)

    file = data / "qapairs_placeholder/general_area/25_food/image_image.jsonl"
    file.write_text(file.read_text().replace('"difficulty_level": "x"', '"difficulty_level": 2'))
    assert run(data, runs) == EXIT_INCOMPLETE

    assert len(failed) == 11
    assert len(answered) == 34 - 11
    assert outcomes(runs) == (failed - {"general_area/food/7"}, answered | {"general_area/food/7"})
