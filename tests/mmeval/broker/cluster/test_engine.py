from typing import Any

import pytest

from mmeval.broker.cluster.engine import RayEngine
from mmeval.errors import UsageError
from mmeval.settings import values


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("local", None),
        ("ray", RayEngine()),
        ("ray,workers=auto", RayEngine()),
        (
            "ray,address=10.0.0.1:6379,workers=4,gpus=0",
            RayEngine("10.0.0.1:6379", 4, gpus=0),
        ),
        (
            "ray,cpus=2,gpus=0.5,score_workers=3",
            RayEngine(cpus=2, gpus=0.5, score_workers=3),
        ),
    ],
)
def test_an_engine_is_read_and_written_as_the_flag_has_it(
    written: str, read: RayEngine | None
) -> None:
    assert values.engine(written) == read
    assert read is None or values.engine(str(read)) == read


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("ray,worker=4", "worker"),
        ("ray,workers=0", "workers"),
        ("ray,workers=1.5", "workers"),
        ("ray,gpus=-1", "gpus"),
        ("ray,address=ray://host:10001", "address"),
        ("ray,score_workers=true", "score_workers"),
        ("rey", ""),
        ("local,workers=4", ""),
    ],
)
def test_an_engine_that_there_is_not_is_refused(written: Any, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        values.engine(written)
    assert caught.value.name == name
