from collections import Counter

import pytest

from mmeval.dataset.sampling import Draw, Subset
from mmeval.errors import UsageError
from mmeval.records.sample import Sample
from tests.support.toy import sample

IndexedSamples = list[tuple[int, Sample]]


def rows(**groups: int) -> IndexedSamples:
    """Samples of each kind, one kind after the other; ``groups`` are their counts."""
    kinds = [kind for kind, count in groups.items() for _ in range(count)]
    return [(i, sample(f"s{i}", kind=kind, half=i % 2)) for i, kind in enumerate(kinds)]


def drawn(draw: Draw, samples: IndexedSamples) -> list[Sample]:
    return [samples[index][1] for index in draw.order(samples)]


def test_a_draw_has_every_sample_once_and_its_seed_decides_the_order() -> None:
    samples = rows(a=50)
    order, same, other_order = (list(Draw(seed).order(samples)) for seed in (1, 1, 2))
    assert (sorted(order), order) == (list(range(50)), same)
    assert len({tuple(order), tuple(other_order), tuple(range(50))}) == 3
    more = list(enumerate([sample("new"), *(item for _, item in samples)]))
    assert [item for item in drawn(Draw(3), more) if item.id != "new"] == drawn(
        Draw(3), samples
    ), "others keep their places"


@pytest.mark.parametrize("count", [1, 8, 20, 50])
def test_a_stratified_draw_is_proportional_and_random_within_a_stratum(
    count: int,
) -> None:
    sizes = {"a": 60, "b": 30, "c": 10}
    samples, draw = rows(**sizes), Draw(0, ("kind",))
    kinds = Counter(sample.metadata["kind"] for sample in drawn(draw, samples)[:count])
    assert all(
        abs(kinds[kind] - size * count / 100) < (1 if count % 10 else 0.1)
        for kind, size in sizes.items()
    )
    assert (
        len(
            {
                tuple(sorted(Draw(seed, ("kind",)).order(samples)[:count]))
                for seed in range(5)
            }
        )
        > 1
    )


def test_several_labels_make_a_stratum_of_each_combination() -> None:
    first = drawn(Draw(0, ("kind", "half")), rows(a=20, b=20))[:8]
    pairs = Counter(
        (sample.metadata["kind"], sample.metadata["half"]) for sample in first
    )
    assert pairs == {(kind, half): 2 for kind in "ab" for half in (0, 1)}
    # A missing label and a list are values too.
    samples = [
        (0, sample("x", kind=["a", "b"])),
        (1, sample("y")),
        (2, sample("z", kind=None)),
    ]
    assert sorted(Draw(0, ("kind",)).order(samples)) == [0, 1, 2]
    with pytest.raises(UsageError, match=r"'levle'.* half, kind"):
        Draw(0, ("kind", "levle")).order(rows(a=3))


def test_a_subset_notes_what_it_left_out() -> None:
    notes = [
        Subset(total, part, ("limit",)).note
        for total, part in ((31026, 3000), (None, 3000), (7, 7))
    ]
    assert notes == ["subset: 3,000 of 31,026", "subset: 3,000", ""]
