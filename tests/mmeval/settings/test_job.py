import pytest

from mmeval.errors import UsageError
from mmeval.settings.job import shard_of_job

ARRAY = {
    "SLURM_ARRAY_TASK_ID": "7",
    "SLURM_ARRAY_TASK_MIN": "3",
    "SLURM_ARRAY_TASK_COUNT": "5",
}
CASES = {
    "an array that begins with 1": (
        {**ARRAY, "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "64"},
        "7/64",
    ),
    "an array that begins elsewhere": (ARRAY, "5/5"),
    "an array with steps": ({**ARRAY, "SLURM_ARRAY_TASK_STEP": "2"}, "3/5"),
    "an array of steps with one task": (
        {**ARRAY, "SLURM_PROCID": "0", "SLURM_NTASKS": "1"},
        "5/5",
    ),
    "a step": (
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "RANK": "3", "WORLD_SIZE": "8"},
        "1/4",
    ),
    "ranks": ({"RANK": "7", "WORLD_SIZE": "8"}, "8/8"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_place_in_a_job_is_the_shard(case: str) -> None:
    environ, shard = CASES[case]
    assert str(shard_of_job(environ)) == shard


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({}, "SLURM_ARRAY_TASK_ID"),
        ({"RANK": "1"}, "WORLD_SIZE"),
        ({"RANK": "8", "WORLD_SIZE": "8"}, "RANK and WORLD_SIZE"),
        ({**ARRAY, "SLURM_ARRAY_TASK_COUNT": "3"}, "array"),
        ({**ARRAY, "SLURM_ARRAY_TASK_STEP": "3"}, "plain range"),
        ({"SLURM_ARRAY_TASK_ID": "7"}, "SLURM_ARRAY_TASK_COUNT"),
        ({"RANK": "1", "WORLD_SIZE": "10001"}, "at most 10,000 shards"),
    ],
    ids=[
        "nothing",
        "half of it",
        "beyond the end",
        "an array with gaps",
        "off the steps",
        "no count",
        "too many",
    ],
)
def test_a_job_that_says_no_place_is_refused(
    environ: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        shard_of_job(environ)
