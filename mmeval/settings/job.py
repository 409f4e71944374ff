"""Reads from environment variables which part of a cluster job this process is."""

from __future__ import annotations

from collections.abc import Mapping

from mmeval.errors import UsageError
from mmeval.store.shard import MOST_SHARDS, Shard

_PLACES = (("SLURM_PROCID", "SLURM_NTASKS"), ("RANK", "WORLD_SIZE"))
"""Pairs of variables: the number of this process (from 0), and of all processes."""


def shard_of_job(environ: Mapping[str, str]) -> Shard:
    """Returns the shard of this process.

    The number comes from a SLURM array, else from a SLURM step, else from RANK and
    WORLD_SIZE. Raises UsageError if none of them is set, or if the array is not a plain
    range.
    """
    if "SLURM_ARRAY_TASK_ID" in environ:
        usual = {
            "SLURM_ARRAY_TASK_ID": "",
            "SLURM_ARRAY_TASK_MIN": "0",
            "SLURM_ARRAY_TASK_STEP": "1",
            "SLURM_ARRAY_TASK_COUNT": "",
        }
        texts = [environ.get(name, value) for name, value in usual.items()]
        numbers = [int(text) for text in texts if text.isdecimal()]
        if len(numbers) < len(texts) or numbers[2] == 0:
            raise UsageError(
                f"auto reads whole numbers from {', '.join(usual)}; write I/N instead"
            )
        task, first, step, shards = numbers
        if (task - first) % step:
            raise UsageError(
                "auto works only for an array that is a plain range, such as 0-63; "
                "write I/N instead"
            )
        place_in_array = str((task - first) // step)
        return _shard(place_in_array, str(shards), "the SLURM array")
    for place, count in _PLACES:
        if place in environ and count in environ:
            return _shard(environ[place], environ[count], f"{place} and {count}")
    raise UsageError(
        "auto works only in a cluster job: set SLURM_ARRAY_TASK_ID, SLURM_PROCID with "
        "SLURM_NTASKS, or RANK with WORLD_SIZE; or write I/N"
    )


def shard_at(number: int, of: int) -> Shard:
    """Returns a shard; the first shard has ``number`` 1.

    Raises UsageError for too many shards.
    """
    if of > MOST_SHARDS:
        raise UsageError(
            f"a run has at most {MOST_SHARDS:,} shards, not {of:,}; write I/N with a "
            "smaller N"
        )
    return Shard(of, number)


def _shard(
    place: str,
    count: str,
    source: str,
) -> Shard:
    are_numbers = place.isdecimal() and count.isdecimal()
    if not are_numbers or int(place) >= int(count):
        raise UsageError(
            f"auto: process {place} of {count} is out of range ({source}); processes "
            "are numbered from 0. Write I/N"
        )
    return shard_at(int(place) + 1, int(count))
