import socket

import pytest

from mmeval.broker.cluster.engine import RayEngine
from mmeval.broker.cluster.ray_cluster import RayCluster, RayNode
from mmeval.errors import UsageError


@pytest.mark.parametrize(
    ("engine", "places"),
    [
        (RayEngine(gpus=0, score_workers=3), 13),
        (RayEngine(gpus=0, cpus=4, score_workers=3), 3),
        (RayEngine(gpus=0, cpus=3, score_workers=4), 4),
        (RayEngine(gpus=0, cpus=0.5, score_workers=1), 30),
        (RayEngine(gpus=1, cpus=4, score_workers=4), 3),
        (RayEngine(gpus=0, score_workers=99), 1),
    ],
    ids=str,
)
def test_workers_leave_room_for_the_processes_that_score(
    engine: RayEngine, places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [RayNode(name, name, 8.0, 4.0, ("", 0)) for name in ("a", "b")]
    monkeypatch.setattr(RayCluster, "nodes", lambda _: nodes)
    assert RayCluster(engine).places() == places


@pytest.mark.parametrize("by", ["argument", "environment"])
def test_an_address_at_which_nobody_listens_is_refused_at_once(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    if by == "environment":
        monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UsageError, match=address):
        RayCluster(RayEngine(address=address if by == "argument" else "")).connect()
