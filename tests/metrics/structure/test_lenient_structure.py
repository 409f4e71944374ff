import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.metrics.structure.counting import Structures
from mmeval.metrics.structure.lenient_structure import lenient_fraction, lenient_structure
from tests.support.trials import score_of, trial

CASES = json.loads((Path(__file__).parent / "parity.json").read_text())
KINDS = ["image", "audio", "video", "document", "code", "3d"]


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


@given(st.dictionaries(st.sampled_from(KINDS), st.integers(1, 6), min_size=2), st.data())
def test_only_a_missing_modality_costs(reference: dict[str, int], data: st.DataObject) -> None:
    removed = data.draw(st.lists(st.sampled_from(sorted(reference)), max_size=2, unique=True))
    kept = {kind: data.draw(st.integers(1, 9)) for kind in reference if kind not in removed}
    added = data.draw(st.dictionaries(st.sampled_from(["more", "others"]), st.just(1)))
    value = lenient_fraction(Structures(reference, {**kept, **added}))
    assert value == 1 - Fraction(len(removed), len(reference))
