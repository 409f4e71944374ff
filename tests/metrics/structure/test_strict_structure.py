import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.metrics.structure.counting import Structures
from mmeval.metrics.structure.strict_structure import strict_fraction, strict_structure
from tests.support.trials import score_of, trial

CASES = json.loads((Path(__file__).parent / "parity.json").read_text())
KINDS = ["image", "audio", "video", "document", "code", "3d"]


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


@given(st.dictionaries(st.sampled_from(KINDS), st.integers(1, 6), min_size=2), st.data())
def test_removing_or_adding_whole_modalities_always_costs(reference: dict[str, int], data: st.DataObject) -> None:
    removed = data.draw(st.lists(st.sampled_from(sorted(reference)), max_size=2, unique=True))
    added = {} if removed else data.draw(st.dictionaries(st.sampled_from(["more", "others"]), st.just(1)))
    kept = {kind: n for kind, n in reference.items() if kind not in removed}
    value = strict_fraction(Structures(reference, {**kept, **added}))
    assert value == Fraction(len(reference) - len(removed), len(reference) + len(added))
    assert value == strict_fraction(Structures({**kept, **added}, reference))
