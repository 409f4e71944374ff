import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import RUN, Case, shown

MERGE = "merge runs/reference/default"
ONE, TWO = (f"{RUN} --report false --shard {number}/2" for number in (1, 2))
CASES = {
    "a shard": Case(ONE),
    "a shard that resumes": Case(ONE, before=(ONE,)),
    "a dry run of a shard": Case(f"{TWO} --dry_run", before=(ONE,)),
    "a shard of another seed": Case(f"{TWO} --seed 7 --fresh", before=(ONE,)),
    "no job": Case(f"{RUN} --shard auto"),
    "no shard": Case(f"{RUN} --shard 4/3"),
    "the shards": Case(MERGE, before=(ONE, TWO)),
    "the shards again": Case(MERGE, before=(ONE, TWO, MERGE)),
    "a shard too few": Case(MERGE, before=(ONE,)),
    "a shard too few, in part": Case(f"{MERGE} --partial", before=(ONE,)),
    "the whole run before the merge": Case(RUN, before=(ONE,)),
    "another seed": Case(
        MERGE,
        before=(
            ONE,
            TWO.replace("--output_path runs", "--output_path others --seed 7"),
        ),
        meanwhile=lambda folder: shutil.copytree(
            folder / "others/reference/default/shards/2-of-2",
            folder / "runs/reference/default/shards/2-of-2",
        ),
    ),
    "too many shards": Case(f"{RUN} --shard 1/99999999"),
    "a shard under the name of another": Case(
        MERGE,
        before=(ONE,),
        meanwhile=lambda folder: shutil.copytree(
            folder / "runs/reference/default/shards/1-of-2",
            folder / "runs/reference/default/shards/2-of-2",
        ),
    ),
    "a shard that was copied in part": Case(
        MERGE,
        before=(ONE, TWO),
        meanwhile=lambda folder: shutil.rmtree(
            folder / "runs/reference/default/shards/1-of-2/samples"
        ),
    ),
    "a shard that was copied in part, in part": Case(
        f"{MERGE} --partial",
        before=(ONE, TWO),
        meanwhile=lambda folder: shutil.rmtree(
            folder / "runs/reference/default/shards/1-of-2/samples"
        ),
    ),
    "a score before the merge": Case("score runs/reference/default", before=(ONE,)),
    "a folder without a run": Case("merge nothing"),
    "no folder": Case("merge"),
}


@pytest.mark.parametrize("name", CASES)
def test_merge(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
