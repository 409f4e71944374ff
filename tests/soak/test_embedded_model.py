"""The embedded model is built anew, which takes half a minute."""

from __future__ import annotations

from pathlib import Path

from mmeval.model_backends.hf.embedded.tiny import tiny_model
from tests.support.embedded import embedded_tiny


def test_it_is_made_of_the_same_bytes_every_time(tmp_path: Path) -> None:
    files = {path.name: path.read_bytes() for path in tiny_model(tmp_path).iterdir()}
    assert files == {path.name: path.read_bytes() for path in embedded_tiny().iterdir()}
