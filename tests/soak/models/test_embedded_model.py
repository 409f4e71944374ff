"""The embedded model and its kin in full: built anew, and against every rule of backends."""

from pathlib import Path

from mmeval.content.parts import PartKind
from mmeval.model_backends.hf.embedded.tiny import tiny_model
from mmeval.records import GenerationParams, message
from mmeval.testing import checks
from tests.support.embedded import embedded_tiny
from tests.support.local_models import started

BOTH: tuple[PartKind, ...] = ("text", "image")
PARAMS = GenerationParams(max_tokens=100)


def test_it_is_made_of_the_same_bytes_every_time(tmp_path: Path) -> None:
    files = {path.name: path.read_bytes() for path in tiny_model(tmp_path).iterdir()}
    assert files == {path.name: path.read_bytes() for path in embedded_tiny().iterdir()}


def test_it_keeps_the_rules_of_backends() -> None:
    prompts = [message("user", "tell me of ", end) for end in ("hares", "squares", "a day", "this.", "nothing?")]
    checks.check_backend(started(embedded_tiny()), prompts, params=PARAMS, wants=[BOTH])
