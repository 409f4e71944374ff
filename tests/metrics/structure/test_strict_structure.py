from __future__ import annotations

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


@pytest.mark.parametrize(
    ("answer", "target", "fraction"),
    [
        ("<<image1>>", "<<image1>> <<image2>> <<image3>>", "1/2"),
        ("<<image1>> <<audio1>>", "<<image1>>", "1/2"),
        ("<<video1>>", "<<image1>>", "0/1"),
        ("", "<<image1>>", "0/1"),
    ],
)
def test_hand_computed_cases(answer: str, target: str, fraction: str) -> None:
    assert score_of(strict_structure, trial(answer, target)).evidence["fraction"] == fraction


def test_nothing_on_either_side_is_undefined_and_not_zero() -> None:
    score = score_of(strict_structure, trial("words", "other words"))
    assert (score.value, score.status) == (None, "unscored")


counts_of_a_reference = st.dictionaries(st.sampled_from(KINDS), st.integers(1, 6), min_size=2).filter(
    lambda counts: max(counts.values()) > 2
)


@given(counts_of_a_reference, st.data())
def test_removing_or_adding_whole_modalities_always_costs(reference: dict[str, int], data: st.DataObject) -> None:
    spare = [kind for kind in KINDS if kind not in reference]
    removed = data.draw(st.lists(st.sampled_from(sorted(reference)), max_size=2, unique=True))
    added = [] if removed or not spare else data.draw(st.lists(st.sampled_from(spare), max_size=2, unique=True))
    kept = {kind: n for kind, n in reference.items() if kind not in removed}
    value = strict_fraction(Structures(reference, {**kept, **dict.fromkeys(added, 1)}))
    assert (value == 1) == (not removed and not added)
    shared = len(reference) - len(removed)
    assert value == Fraction(shared, len(reference) + len(added))


@given(counts_of_a_reference, st.sampled_from([-2, -1, 0, 1, 2]))
def test_removing_or_adding_items_of_a_modality_always_costs(reference: dict[str, int], k: int) -> None:
    largest = max(reference, key=reference.__getitem__)
    value = strict_fraction(Structures(reference, {**reference, largest: reference[largest] + k}))
    assert value is not None
    assert (value == 1) == (k == 0)
    assert 0 < value <= 1


@given(counts_of_a_reference, counts_of_a_reference)
def test_it_is_symmetric(one: dict[str, int], other: dict[str, int]) -> None:
    assert strict_fraction(Structures(one, other)) == strict_fraction(Structures(other, one))
