"""The values of UniM's released scorer of sounds, through ``mmeval metric audio_quality --cases FILE``.

The sounds are packed without loss. Left out of what is compared: the ratio after separation, which is noise of
rounding with the released margin.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.__main__ import main

FOLDER = Path(__file__).parents[2] / "fixtures/unim_quality/audio"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())
VARIANTS: dict[str, dict[str, Any]] = {
    "paper_q": {"combination": "paper", "hpss_margin": 1.0},
    "released_score_0_1": {"hpss_margin": 1.0, "apply_b_per": False},
    "released_with_b_per_0_1": {"hpss_margin": 1.0},
    "released_q01": {"hpss_margin": 1.0, "apply_b_per": False, "final_power": 1.0},
}
"""The switches under ``standard`` that give each variant."""
SCORE = 1e-6
LOOSE = {"chroma_var": 1e-3, "hf_slope_logP": 1e-5}
"""Of terms that hear the noise of rounding; all others are compared to two millionths."""


def scored(tmp_path: Path, capsys: pytest.CaptureFixture[str], profile: str, **params: Any) -> dict[str, Any]:
    """The rows that the verb prints, by the name of the sound."""
    file = tmp_path / "cases.jsonl"
    rows = [
        {"name": name, "answer": [{"type": "audio", "path": str(FOLDER / name)}], "params": params} for name in EXPECTED
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    assert main(["metric", "audio_quality", "--cases", str(file), "--profile", profile]) == 0

    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row["name"]: row for row in found}


def test_the_released_scores_and_all_their_terms_are_reproduced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = scored(tmp_path, capsys, "official")

    for name, wanted in EXPECTED.items():
        terms = dict(wanted["released"])
        score = terms.pop("quality_0_100")
        assert found[name]["value"] == pytest.approx(round(score, 2) / 100, abs=1e-12), name
        (item,) = found[name]["evidence"]["items"]
        for term, value in terms.items():
            close = LOOSE.get(term, 2e-6)
            assert item[term] == (value if value is None else pytest.approx(value, rel=close, abs=close)), (name, term)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_variants_follow_from_switches(variant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = scored(tmp_path, capsys, "standard", **VARIANTS[variant])

    assert {name: row["value"] for name, row in found.items()} == pytest.approx(
        {name: wanted["variants"][variant] for name, wanted in EXPECTED.items()}, abs=SCORE
    )
