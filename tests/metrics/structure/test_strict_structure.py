import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from mmeval.metrics.structure.strict_structure import strict_structure
from tests.support.trials import score_of, trial

CASES = json.loads((Path(__file__).parent / "parity.json").read_text())


@pytest.mark.parametrize("mode", ["occurrences", "unique", "unique_no_echo"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_it_agrees_with_the_published_cases_to_the_exact_fraction(case: dict[str, Any], mode: str) -> None:
    score = score_of(strict_structure, trial(case["answer"], case["reference"], given=case["input"]), mode=mode)
    expected = case["modes"][mode]
    assert score.evidence.get("fraction") == expected["strict"]
    assert score.value == (None if expected["strict"] is None else float(Fraction(expected["strict"])))
    assert (score.evidence["reference"], score.evidence["answer"]) == (expected["reference"], expected["answer"])


def test_nothing_on_either_side_is_undefined_and_not_zero() -> None:
    score = score_of(strict_structure, trial("words", "other words"))
    assert (score.value, score.status, score.evidence) == (None, "unscored", {"reference": {}, "answer": {}})
    assert score_of(strict_structure, trial("", "<<image1>>")).evidence["fraction"] == "0/1"
