"""Which backends a check asks what they can do."""

from mmeval.backend.create import create_backend
from mmeval.environment.handshakes import shake_hands
from mmeval.run.options import BackendSpec


def test_a_server_that_mmeval_would_start_is_not_started_by_a_check() -> None:
    arguments = {"pretrained": "owner/name", "command": "echo"}
    backend = create_backend("vllm", arguments)
    specs = {"model": BackendSpec("vllm", arguments)}

    found = shake_hands(specs, {"model": backend}, "needed")

    assert found == ({}, [])
