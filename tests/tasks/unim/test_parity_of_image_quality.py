"""The values of UniM's released scorer of pictures, through ``mmeval metric image_quality --profile official``, and
those of NIQE with its original pristine model.

The features of the release agree to ten places even where they measure what rounding leaves. NIQE is held within 1 %,
and within 5 % for a picture of even blocks, in which single patches are degenerate.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.__main__ import main

INPUTS = Path(__file__).parents[2] / "fixtures" / "unim_quality" / "image"
EXPECTED: dict[str, Any] = json.loads((INPUTS / "expected.json").read_text())
SAME = 1e-8


def rows(metric: str, folder: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> list[dict[str, Any]]:
    """What the verb says of each of the pictures."""
    lines = [{"name": name, "answer": [{"type": "image", "path": str(INPUTS / name)}]} for name in EXPECTED]
    cases = folder / "cases.jsonl"
    cases.write_text("".join(json.dumps(line) + "\n" for line in lines))
    main(["metric", metric, "--cases", str(cases), *flags])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["name"] for row in found] == list(EXPECTED)
    return found


def test_the_released_values_are_reproduced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for row in rows("image_quality", tmp_path, capsys, "--profile", "official"):
        wanted, item = EXPECTED[row["name"]]["released"], row["evidence"]["items"][0]

        assert row["value"] == pytest.approx(wanted["gq_0_100"] / 100, abs=SAME), row["name"]
        for term in ("brisque", "niqe", "features_scale1", "features_scale2"):
            assert item[term] == pytest.approx(wanted[term], abs=SAME), (row["name"], term)


def test_niqe_is_reproduced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for row in rows("niqe", tmp_path, capsys):
        wanted, item = EXPECTED[row["name"]]["niqe"], row["evidence"]["items"][0]

        assert item["patches"] == wanted["patches"], row["name"]
        if wanted["niqe"] is None:
            assert row["value"] is None, row["name"]
        else:
            close = 0.05 if "blocky" in row["name"] else 0.01
            assert row["value"] == pytest.approx(wanted["niqe"], rel=close), row["name"]


def test_the_quality_is_that_of_niqe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {row["name"]: row for row in rows("image_quality", tmp_path, capsys)}

    assert found["i03_natural.png"]["value"] == pytest.approx(1 - 6.290840868 / 10, abs=0.01)
    assert [found[name]["value"] for name in ("i05_natural_blocky.png", "i06_blank_gray.png")] == [0, 0]
    assert found["i12_97.png"]["evidence"]["items"][0]["enlarged"] is True
    assert found["i08_gradient.png"]["evidence"]["items"][0]["too_few_patches"] is True
