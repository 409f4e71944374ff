import tracemalloc
from collections import Counter

import pytest

from mmeval.dataset.sampling import Draw, Subset
from mmeval.errors import UsageError
from mmeval.records.sample import Sample, user
from tests.support.toy import sample

Found = list[tuple[int, Sample]]


def rows(**groups: int) -> Found:
    """So many samples of each kind, one kind after the other."""
    kinds = [kind for kind, count in groups.items() for _ in range(count)]
    return [(i, sample(f"s{i}", kind=kind, half=i % 2)) for i, kind in enumerate(kinds)]


def drawn(draw: Draw, found: Found) -> list[Sample]:
    return [found[index][1] for index in draw.order(found)]


def kinds(found: Found, seed: int, count: int) -> Counter[str]:
    return Counter(one.metadata["kind"] for one in drawn(Draw(seed, ("kind",)), found)[:count])


def test_a_draw_has_every_sample_once_and_its_seed_decides_the_order() -> None:
    found = rows(a=50)
    one, same, other = (list(Draw(seed).order(found)) for seed in (1, 1, 2))
    assert (sorted(one), one) == (list(range(50)), same)
    assert len({tuple(one), tuple(other), tuple(range(50))}) == 3


def test_every_sample_has_the_same_chance() -> None:
    found = rows(a=20)
    first = Counter(index for seed in range(400) for index in Draw(seed).order(found)[:5])
    assert sum(first.values()) == 2000
    assert all(65 <= first[index] <= 135 for index in range(20))  # 100 expected, 8.7 the standard deviation


def test_a_sample_keeps_its_place_among_others_when_some_are_added() -> None:
    before = rows(a=30)
    more = list(enumerate([sample("new"), *(one for _, one in before)]))
    assert [one for one in drawn(Draw(3), more) if one.id != "new"] == drawn(Draw(3), before)


@pytest.mark.parametrize(("count", "expected"), [(10, (6, 3, 1)), (20, (12, 6, 2)), (50, (30, 15, 5))], ids=str)
def test_a_stratified_draw_is_proportional(count: int, expected: tuple[int, int, int]) -> None:
    found = kinds(rows(a=60, b=30, c=10), 0, count)
    assert (found["a"], found["b"], found["c"]) == expected


@pytest.mark.parametrize("count", range(1, 40, 7))
def test_each_stratum_has_its_share_rounded_up_to_any_position(count: int) -> None:
    sizes = {"a": 23, "b": 11, "c": 6}
    found = kinds(rows(**sizes), 5, count)
    assert all(abs(found[kind] - size * count / 40) <= 1.5 for kind, size in sizes.items())


def test_several_labels_make_a_stratum_of_each_combination() -> None:
    first = drawn(Draw(0, ("kind", "half")), rows(a=20, b=20))[:8]
    pairs = Counter((one.metadata["kind"], one.metadata["half"]) for one in first)
    assert pairs == {(kind, half): 2 for kind in "ab" for half in (0, 1)}


def test_the_order_within_a_stratum_is_random() -> None:
    found = rows(a=10, b=10)
    assert len({tuple(sorted(Draw(seed, ("kind",)).order(found)[:4])) for seed in range(5)}) > 1


def test_a_missing_label_and_a_list_are_values_too() -> None:
    found = [(0, sample("x", kind=["a", "b"])), (1, sample("y")), (2, sample("z", kind=None))]
    assert sorted(Draw(0, ("kind",)).order(found)) == [0, 1, 2]


def test_an_unknown_label_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'levle'.* half, kind"):
        Draw(0, ("kind", "levle")).order(rows(a=3))


def test_a_draw_holds_a_few_bytes_a_sample() -> None:
    found = ((i, Sample(f"s{i}", (user("x" * 1000),), metadata={"kind": i % 3})) for i in range(3_000))
    tracemalloc.start()
    Draw(0, ("kind",)).order(found)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 3_000  # the samples themselves are thirty times as much


def test_a_subset_notes_what_it_left_out() -> None:
    sizes = ((31026, 3000), (None, 3000), (7, 7))
    notes = [Subset(whole, part, ("limit",)).note for whole, part in sizes]
    assert notes == ["subset: 3,000 of 31,026", "subset: 3,000", ""]
