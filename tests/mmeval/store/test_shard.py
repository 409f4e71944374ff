import random
from pathlib import Path

import pytest

from mmeval.store.shard import (
    Shard,
    as_progressions,
    beside,
    from_progressions,
    in_words,
    shard_path,
    shards_of,
    state,
    unmerged,
)


@pytest.mark.parametrize("of", [1, 3, 64])
@pytest.mark.parametrize("samples", [0, 1, 5, 100])
def test_shards_take_every_sample_once(of: int, samples: int) -> None:
    every = [Shard(of, number) for number in range(1, of + 1)]
    taken = [
        [place for place in range(samples) if shard.takes(place)] for shard in every
    ]
    assert sorted(place for places in taken for place in places) == list(range(samples))
    assert [len(places) for places in taken] == [
        shard.share(samples) for shard in every
    ]
    assert [shard.share_of(range(samples)) for shard in every] == taken


def test_the_folders_of_shards_are_found_by_their_names_alone(tmp_path: Path) -> None:
    for name in (
        "2-of-3",
        "1-of-3",
        "1-of-2",
        "1-of-3.20270101-120000",
        "0-of-2",
        "notes",
    ):
        (tmp_path / "shards" / name).mkdir(parents=True)
    assert [str(shard) for shard in shards_of(tmp_path)] == ["1/2", "1/3", "2/3"]
    own = shard_path(tmp_path, Shard(3, 1))
    assert beside(own) == [
        tmp_path,
        tmp_path / "shards/1-of-2",
        tmp_path / "shards/2-of-3",
    ]


def test_a_shard_is_merged_until_something_is_written_there(tmp_path: Path) -> None:
    shard = shard_path(tmp_path, Shard(2, 1))
    (shard / "journal").mkdir(parents=True)
    record = {"merged": {"shards": {"1-of-2": state(shard)}}}
    assert [*unmerged(tmp_path, record)] == []
    (shard / "journal" / "a.jsonl").write_text("x")
    assert [*unmerged(tmp_path, record)] == [*unmerged(tmp_path, {})] == [Shard(2, 1)]


@pytest.mark.parametrize(
    "places", [[], [4], [0, 64, 128], sorted(random.Random(1).sample(range(1000), 300))]
)
def test_progressions_hold_the_places_they_are_made_of(places: list[int]) -> None:
    assert from_progressions(as_progressions(places)) == set(places)


def test_regular_places_are_one_progression() -> None:
    assert as_progressions(list(range(3, 1000, 64))) == [[3, 963, 64]]


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "shard 1/64"),
        (3, "3 shards (1/64, 2/64, 3/64)"),
        (64, "64 shards (1/64, 2/64, 3/64 and 61 more)"),
    ],
)
def test_three_of_many_shards_are_named(count: int, words: str) -> None:
    shards = [Shard(64, number) for number in range(1, count + 1)]
    assert in_words(shards) == words
