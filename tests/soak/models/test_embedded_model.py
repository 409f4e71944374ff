"""The embedded model and its kin in full: built anew, and against every rule of
backends."""

from pathlib import Path

from mmeval.authoring.testing import checks
from mmeval.media.parts import PartKind
from mmeval.model_backends.hf.embedded.tiny import tiny_model
from mmeval.records import GenerationParams
from tests.support.models import embedded_tiny, started

ALL: tuple[PartKind, ...] = (
    "text",
    "image",
    "audio",
    "video",
    "document",
    "code",
)


def test_it_is_made_of_the_same_bytes_every_time(tmp_path: Path) -> None:
    first, second = (
        {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        for folder in (tiny_model(tmp_path), embedded_tiny())
    )
    assert first == second


def test_it_keeps_the_rules_of_backends() -> None:
    backend = started(embedded_tiny())
    checks.check_backend(
        backend,
        params=GenerationParams(),
        wants=[*checks.combinations(backend.capabilities), ALL],
    )
