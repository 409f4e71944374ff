from typing import Any

import pytest

from mmeval.backend.contract import AnyBackend
from mmeval.environment import models
from mmeval.findings.finding import Finding
from mmeval.run.options import BackendSpec
from tests.support.models import tiny_model

SERVER = {
    "model": "m",
    "base_url": "http://127.0.0.1:9/v1",
    "endpoint": "images",
    "max_connections": 3,
}


def made(name: str, **args: Any) -> tuple[list[str], list[Finding]]:
    """The words of a judge, and what is wrong with it."""
    found: dict[str, AnyBackend] = {}
    specs = {"judge": BackendSpec(name, args)}
    findings = list(models.create(specs, found))
    words = [text for _, text in models.described(specs, found)]
    models.close(found)
    return words, findings


def test_a_backend_is_described_without_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    (words,), findings = made("openai", **SERVER)
    assert findings == []
    assert words.partition(", data ")[2].split("; ") == [
        "go to 127.0.0.1:9",
        "takes text, code, image",
        "gives image",
    ]
    (both,), _ = made("openai", **SERVER, replicas="http://127.0.0.1:10/v1")
    assert "go to 127.0.0.1:9, 127.0.0.1:10; " in both
    (local,), _ = made("empty")
    assert ", on this machine; " in local
    _, (refused,) = made(
        "openai", model="m", base_url="http://me:s3cr3t@127.0.0.1:9/v1"
    )
    assert "s3cr3t" not in refused.cause


def test_the_number_of_media_that_a_backend_takes_is_described() -> None:
    (editor,), _ = made("diffusers", pretrained=str(tiny_model("sd_edit")))
    assert "takes text, code, image (exactly 1); gives image" in editor


def test_a_backend_that_cannot_be_made_is_an_error_of_its_role() -> None:
    words, (found,) = made("empty", colour="red")
    assert (words, found.severity) == ([], "error")
    assert (found.subject.role, found.subject.name) == ("judge", "empty")
    assert "colour" in found.cause
