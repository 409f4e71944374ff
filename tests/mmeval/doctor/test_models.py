from typing import Any

import pytest

from mmeval.backend.contract import AnyBackend
from mmeval.doctor import models
from mmeval.errors import MissingExtraError
from mmeval.run.options import BackendSpec

SERVER = {
    "model": "m",
    "base_url": "http://127.0.0.1:9/v1",
    "endpoint": "images",
    "max_connections": 3,
}


def made(name: str, **args: Any) -> tuple[str, str, set[str], list[str]]:
    found: dict[str, AnyBackend] = {}
    lacking: set[str] = set()
    (finding,) = models.made({"judge": BackendSpec(name, args)}, found, lacking)
    models.close(found)
    assert finding.blocks is (not found)
    return finding.status, finding.what, lacking, list(found)


def test_a_backend_is_described_without_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    status, what, _, found = made("openai", **SERVER)
    assert (status, found) == ("ok", ["judge"])
    place, takes, gives = what.partition(", data ")[2].split("; ")
    assert (place, takes, gives) == (
        "go to 127.0.0.1:9",
        "takes text, code, image",
        "gives image",
    )
    both = made("openai", **SERVER, replicas="http://127.0.0.1:10/v1")[1]
    assert "go to 127.0.0.1:9, 127.0.0.1:10; " in both
    assert ", on this machine; " in made("empty")[1]
    assert (
        "s3cr3t"
        not in made("openai", model="m", base_url="http://me:s3cr3t@127.0.0.1:9/v1")[1]
    )


def test_a_backend_that_cannot_be_made_blocks_and_its_extra_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    status, what, lacking, found = made("empty", colour="red")
    assert (status, "colour" in what, lacking, found) == ("broken", True, set(), [])

    def create(name: str, args: object) -> AnyBackend:
        raise MissingExtraError("torch", "hf")

    monkeypatch.setattr(models, "create_backend", create)
    assert made("hf")[2] == {"hf"}
