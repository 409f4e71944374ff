"""Which backends a check asks what they can do."""

from mmeval.backend.create import create_backend
from mmeval.backend.handshake.handshake import MAX_CALLS
from mmeval.environment.handshakes import shake_hands
from mmeval.run.options import BackendSpec
from tests.support.able_server import AbleServer


def test_a_server_that_mmeval_would_start_is_not_started_by_a_check() -> None:
    arguments = {"pretrained": "owner/name", "command": "echo"}
    backend = create_backend("vllm", arguments)
    specs = {"model": BackendSpec("vllm", arguments)}

    found = shake_hands(specs, {"model": backend}, "needed")

    assert found == ({}, [])


def test_a_local_model_with_copies_is_no_obstacle_to_asking_its_judge() -> None:
    local = {"pretrained": "tiny", "data_parallel_size": 2}
    with AbleServer() as server:
        served = {"model": "j", "base_url": server.url}
        specs = {
            "model": BackendSpec("hf", local),
            "judge": BackendSpec("openai", served),
        }
        backends = {
            role: create_backend(spec.name, spec.args) for role, spec in specs.items()
        }

        probes, _ = shake_hands(specs, backends, "needed")

    assert list(probes) == ["judge"]


def test_a_model_that_judges_itself_is_asked_once() -> None:
    with AbleServer() as server:
        spec = BackendSpec("openai", {"model": "m", "base_url": server.url})
        specs = {"model": spec, "judge": spec}
        backends = {
            role: create_backend(spec.name, spec.args) for role in ("model", "judge")
        }

        probes, _ = shake_hands(specs, backends, "needed")

    assert probes["model"] == probes["judge"]
    assert server.handshakes <= MAX_CALLS
