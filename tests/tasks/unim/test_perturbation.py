from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.content.parts import Interleaved, PartKind
from mmeval.metric.apply import score_one
from mmeval.metric.bound import bind
from mmeval.metrics.structure.lenient_structure import lenient_structure
from mmeval.metrics.structure.strict_structure import strict_structure
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.tasks.unim.perturbation import MODALITIES, STEPS, Damage, curve, items_of, perturb

Counts = dict[PartKind, int]
damages = st.sampled_from(["RT", "RN"])
eligible_counts: st.SearchStrategy[Counts] = st.dictionaries(
    st.sampled_from(MODALITIES), st.integers(1, 6), min_size=2, max_size=4
).filter(lambda counts: max(counts.values()) > 2)


def gold(counts: Counts) -> Interleaved:
    tags = [f"then <<{kind}{number}>>" for kind, many in counts.items() for number in range(1, many + 1)]
    return Interleaved.from_text(f"First {' and '.join(tags)}.")


def scores(gold_answer: Interleaved, answer: Interleaved) -> tuple[Fraction, Fraction]:
    """Strict and lenient, through the metrics that a user runs."""
    trial = Trial(Sample("s", (), (gold_answer,)), output=answer)
    strict, lenient = (
        score_one(bind(metric), trial)[metric.name].evidence["fraction"]
        for metric in (strict_structure, lenient_structure)
    )
    return Fraction(strict), Fraction(lenient)


@given(eligible_counts, damages, st.sampled_from(STEPS), st.integers(0, 99))
def test_strict_is_1_for_the_gold_answer_alone_and_lenient_falls_only_where_a_modality_is_gone(
    counts: Counts, damage: Damage, k: int, seed: int
) -> None:
    answer = gold(counts)

    strict, lenient = scores(answer, perturb(answer, damage, k, seed=seed))

    assert (strict == 1) == (k == 0)
    assert (lenient < 1) == (damage == "RT" and k < 0)


@given(eligible_counts, st.sampled_from(STEPS), st.integers(0, 99))
def test_whole_modalities_cost_what_the_closed_form_says(counts: Counts, k: int, seed: int) -> None:
    answer, there = gold(counts), len(counts)

    damaged = perturb(answer, "RT", k, seed=seed)

    assert scores(answer, damaged) == (
        Fraction(there + min(k, 0), there + max(k, 0)),
        Fraction(there + min(k, 0), there),
    )
    left = items_of(damaged)
    assert sum(kind not in counts and many == 1 for kind, many in left.items()) == max(k, 0)
    assert all(left[kind] in (0, many) for kind, many in counts.items())


@given(eligible_counts, st.sampled_from(STEPS), st.integers(0, 99))
def test_single_items_cost_what_the_closed_form_says(counts: Counts, k: int, seed: int) -> None:
    answer = gold(counts)

    damaged = perturb(answer, "RN", k, seed=seed)

    left = items_of(damaged)
    assert left.keys() == counts.keys(), "no modality is emptied, and none is new"
    assert sum(left.values()) == sum(counts.values()) + k
    parts = [Fraction(2 * min(many, left[kind]), many + left[kind]) for kind, many in counts.items()]
    assert scores(answer, damaged) == (sum(parts, Fraction()) / len(parts), Fraction(1))


@given(eligible_counts, damages, st.sampled_from(STEPS), st.integers(0, 99))
def test_what_is_damaged_reads_back_as_the_text_that_it_is(counts: Counts, damage: Damage, k: int, seed: int) -> None:
    damaged = perturb(gold(counts), damage, k, seed=seed)

    assert items_of(Interleaved.from_text(damaged.text)) == items_of(damaged)
    labels = [part.label for part in damaged.parts if part.label]
    assert len(set(labels)) == len(labels) == sum(items_of(damaged).values()), "a tag stands there once"
    assert perturb(gold(counts), damage, k, seed=seed) == damaged, "a seed is one answer"


def test_seeds_choose_differently() -> None:
    answer = gold({"image": 5, "audio": 5})

    assert len({perturb(answer, "RN", -1, seed=seed).text for seed in range(20)}) > 2


@pytest.mark.parametrize(
    ("counts", "damage", "k"),
    [({"image": 3}, "RT", -2), ({"image": 1, "audio": 2}, "RN", -2), (dict.fromkeys(MODALITIES, 3), "RT", 1)],
    ids=["modalities", "items", "no modality is left to add"],
)
def test_an_answer_with_too_little_is_refused(counts: Counts, damage: Damage, k: int) -> None:
    with pytest.raises(ValueError, match="are wanted, and the answer has"):
        perturb(gold(counts), damage, k, seed=0)


@given(st.lists(eligible_counts, min_size=1, max_size=3), st.integers(1, 3))
def test_a_curve_has_its_peak_at_the_gold_answers(many: list[Counts], draws: int) -> None:
    answers = [gold(counts) for counts in many]

    for damage in ("RT", "RN"):
        points = {point.k: point for point in curve(answers, damage, draws=draws)}
        assert (points[0].strict, points[0].lenient) == (1, 1)
        assert points[-2].strict < points[-1].strict < 1 > points[1].strict > points[2].strict
        assert (points[-1].lenient < 1, points[2].lenient) == (damage == "RT", 1)
