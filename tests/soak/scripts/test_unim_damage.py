from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from mmeval.content import Interleaved, PartKind
from mmeval.metric import bind, score_one
from mmeval.metrics.structure.lenient_structure import lenient_structure
from mmeval.metrics.structure.strict_structure import strict_structure
from mmeval.records import Sample, Trial
from scripts.unim_damage import MODALITIES, STEPS, items_of, perturb

Counts = dict[PartKind, int]
eligible_counts: st.SearchStrategy[Counts] = st.dictionaries(
    st.sampled_from(MODALITIES), st.integers(1, 6), min_size=2, max_size=4
).filter(lambda counts: max(counts.values()) > 2)


def gold(counts: Counts) -> Interleaved:
    tags = [
        f"then <<{kind}{number}>>"
        for kind, many in counts.items()
        for number in range(1, many + 1)
    ]
    return Interleaved.from_text(f"First {' and '.join(tags)}.")


def scores(answer: Interleaved, damaged: Interleaved) -> tuple[Fraction, Fraction]:
    """Strict and lenient, through the metrics that a user runs."""
    trial = Trial(Sample("s", (), (answer,)), output=damaged)
    strict, lenient = (
        score_one(bind(one), trial)[one.name].evidence
        for one in (strict_structure, lenient_structure)
    )
    return Fraction(strict["fraction"]), Fraction(lenient["fraction"])


@settings(max_examples=60)
@given(eligible_counts, st.sampled_from(STEPS), st.integers(0, 99))
def test_damage_costs_what_the_closed_form_has(
    counts: Counts, k: int, seed: int
) -> None:
    answer, there = gold(counts), len(counts)
    modalities, items = (
        perturb(answer, damage, k, seed=seed) for damage in ("RT", "RN")
    )

    # Whole modalities.
    less, more = min(k, 0), max(k, 0)
    assert scores(answer, modalities) == (
        Fraction(there + less, there + more),
        Fraction(there + less, there),
    )
    left = items_of(modalities)
    assert sum(kind not in counts and many == 1 for kind, many in left.items()) == more
    assert all(left[kind] in (0, many) for kind, many in counts.items())
    # Single items: no modality is emptied, and none is new.
    left = items_of(items)
    assert (left.keys(), sum(left.values())) == (
        counts.keys(),
        sum(counts.values()) + k,
    )
    parts = [
        Fraction(2 * min(many, left[kind]), many + left[kind])
        for kind, many in counts.items()
    ]
    assert scores(answer, items) == (sum(parts, Fraction()) / len(parts), Fraction(1))
    # What is damaged reads back as its text; a tag stands there once, and a seed is one
    # answer.
    for damage, damaged in (("RT", modalities), ("RN", items)):
        assert items_of(Interleaved.from_text(damaged.text)) == items_of(damaged)
        labels = [part.label for part in damaged.parts if part.label]
        assert len(set(labels)) == len(labels) == sum(items_of(damaged).values())
        assert perturb(answer, damage, k, seed=seed) == damaged  # type: ignore[arg-type]
