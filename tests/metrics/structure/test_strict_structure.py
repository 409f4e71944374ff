"""Of the strict metric and of the lenient one, which share their cases."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from mmeval.metric import load_metric
from tests.support.trials import score_of, trial

CASES = json.loads((Path(__file__).parent / "parity.json").read_text())


@pytest.mark.parametrize("mode", ["occurrences", "unique", "unique_no_echo"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_both_agree_with_the_published_cases_to_the_exact_fraction(
    case: dict[str, Any], mode: str
) -> None:
    scored = trial(case["answer"], case["reference"], given=case["input"])
    expected = case["modes"][mode]
    for name in ("strict", "lenient"):
        score = score_of(load_metric(f"{name}_structure"), scored, mode=mode)
        assert score.evidence.get("fraction") == expected[name]
        assert score.value == (
            None if expected[name] is None else float(Fraction(expected[name]))
        )
        assert score.evidence["reference"] == expected["reference"]
        assert score.evidence["answer"] == expected["answer"]


def test_without_modalities_it_is_undefined_and_not_zero() -> None:
    for name, answer in {"strict": "words", "lenient": "<<image1>>"}.items():
        score = score_of(load_metric(f"{name}_structure"), trial(answer, "other words"))
        found = {"image": 1} if name == "lenient" else {}
        assert score.status == "unscored"
        assert score.evidence == {"reference": {}, "answer": found}
        assert (
            score_of(
                load_metric(f"{name}_structure"), trial("", "<<image1>>")
            ).evidence["fraction"]
            == "0/1"
        )
