import pytest

from mmeval.cluster.engine import RayEngine
from mmeval.cluster.ray_cluster import NodePlaces, RayNode, _node, in_a_line


@pytest.mark.parametrize(
    ("engine", "places"),
    [
        (RayEngine(), 2),
        (RayEngine(gpus=0), 8),
        (RayEngine(gpus=0, cpus=3), 2),
        (RayEngine(gpus=0.5), 4),
        (RayEngine(cpus=0, gpus=4), 0),
        (RayEngine(cpus=0, gpus=0), 1),
    ],
    ids=str,
)
def test_a_node_has_as_many_places_as_its_scarcest_part(engine: RayEngine, places: int) -> None:
    assert RayNode("id", "node", 8, 2, ("", 0)).places(engine) == places


def test_a_node_is_named_by_its_host_unless_it_has_a_name() -> None:
    row = {
        **{"NodeID": "0123456789ab", "NodeManagerHostname": "host", "NodeName": "10.0.0.1"},
        **{"NodeManagerAddress": "10.0.0.1", "NodeManagerPort": 5, "Resources": {"CPU": 4.0, "GPU": 1.0}},
    }
    assert _node(row) == ("0123456789ab", "host (01234567)", 4, 1, ("10.0.0.1", 5))
    assert _node({**row, "NodeName": "big", "Resources": {}}) == ("0123456789ab", "big", 0, 0, ("10.0.0.1", 5))
    assert str(NodePlaces("big", 4, 0.5, 1)) == "big: 4 CPU, 0.5 GPU, room for 1 worker"


def test_what_ray_says_becomes_a_line() -> None:
    assert in_a_line(Exception("one\n\ttwo")) == "Exception: one two"
    wrapped = Exception("many lines")
    wrapped.cause = ValueError("what a call has raised")  # type: ignore[attr-defined]
    assert in_a_line(wrapped) == "ValueError: what a call has raised"
    assert len(in_a_line(Exception("long " * 200))) < 310
