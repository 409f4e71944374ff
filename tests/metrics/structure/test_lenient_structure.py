import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from mmeval.metrics.structure.lenient_structure import lenient_structure
from tests.support.trials import score_of, trial

CASES = json.loads((Path(__file__).parent / "parity.json").read_text())


@pytest.mark.parametrize("mode", ["occurrences", "unique", "unique_no_echo"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_it_agrees_with_the_published_cases_to_the_exact_fraction(case: dict[str, Any], mode: str) -> None:
    score = score_of(lenient_structure, trial(case["answer"], case["reference"], given=case["input"]), mode=mode)
    expected = case["modes"][mode]["lenient"]
    assert score.evidence.get("fraction") == expected
    assert score.value == (None if expected is None else float(Fraction(expected)))


def test_a_reference_without_modalities_is_undefined_and_not_zero() -> None:
    score = score_of(lenient_structure, trial("<<image1>>", "words"))
    assert (score.value, score.status, score.evidence) == (None, "unscored", {"reference": {}, "answer": {"image": 1}})
    assert score_of(lenient_structure, trial("", "<<image1>>")).evidence["fraction"] == "0/1"
