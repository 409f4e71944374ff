from pathlib import Path

import pytest

from mmeval.errors import UsageError
from mmeval.run.rescore.division import StoredShard, division_of
from mmeval.store.shard import Shard


def stored(number: int, of: int, *, finished: bool = True) -> StoredShard:
    shard = Shard(of, number)
    return StoredShard(shard, Path(shard.folder_name), {"finished": finished})


@pytest.mark.parametrize(
    ("shards", "words"),
    [
        ([stored(1, 2)], "missing: shard 2/2"),
        ([stored(1, 2, finished=False), stored(2, 2)], "not finished: shard 1/2"),
        (
            [stored(2, 99_999_999)],
            "missing: 99,999,998 shards (1/99999999, 3/99999999, 4/99999999 and "
            "99,999,995 more)",
        ),
    ],
    ids=["a missing one", "an unfinished one", "very many"],
)
def test_shards_that_a_division_lacks_are_counted_and_three_are_named(
    shards: list[StoredShard], words: str
) -> None:
    with pytest.raises(UsageError) as refused:
        division_of(Path("run"), shards, partial=False)
    assert words in str(refused.value)


def test_a_division_without_some_shards_is_made_in_part() -> None:
    division = division_of(Path("run"), [stored(1, 64)], partial=True)
    assert [str(one.shard) for one in division.shards] == ["1/64"]
