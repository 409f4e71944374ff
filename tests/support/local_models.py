"""Local models for tests: loaded once, asked in a line, their folders changed where a
test wants bad ones.

says(loaded("llava"), asked("what is this?", picture))  ->  the response
"""

import json
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from mmeval.backend.contract import BatchBackend
from mmeval.media import Media, Part, PartKind
from mmeval.model_backends.hf.adapters.chat import ChatAdapter
from mmeval.model_backends.hf.backend import HFBackend
from mmeval.model_backends.hf.checkpoint.files import ModelFiles
from mmeval.model_backends.hf.settings import Settings
from mmeval.records import GenerationParams, Message, Request, Response, message
from tests.support.tiny_media import picture
from tests.support.tiny_models import tiny_model

OneAdapter = TypeVar("OneAdapter")
TOKENS = 12
"""Of an answer: enough to differ, quick on any machine."""


@cache
def loaded(name: str, adapter: str = "chat") -> HFBackend:
    """A tiny model, ready to answer; shared by all tests, which leave it as it is."""
    return started(tiny_model(name), adapter=adapter)


def started(folder: Path, **arguments: Any) -> HFBackend:
    """A model of a test's own."""
    import torch

    torch.set_num_threads(1)
    backend = HFBackend(pretrained=str(folder), **arguments)
    backend.start()
    return backend


def chat_of(name: str) -> ChatAdapter:
    return adapter_of(ChatAdapter, name)


def adapter_of(kind: type[OneAdapter], name: str, *adapter: str) -> OneAdapter:
    """The adapter inside a shared model, which was loaded with the same words."""
    found = loaded(name, *adapter).adapter
    assert isinstance(found, kind)
    return found


def files_of(folder: Path) -> ModelFiles:
    return ModelFiles(folder.name, folder)


def settings_for(folder: Path, **arguments: Any) -> Settings:
    return Settings(pretrained=str(folder), **arguments)


def copied(name: str, into: Path) -> Path:
    """A tiny model's folder that a test may spoil."""
    folder = into / name
    shutil.copytree(tiny_model(name), folder)
    return folder


def changed(name: str, into: Path, file: str, **changes: Any) -> HFBackend:
    """A tiny model with other entries in one of its files."""
    folder = copied(name, into)
    rewritten(folder / file, **changes)
    return started(folder)


def rewritten(file: Path, **changes: Any) -> None:
    """Change entries of a JSON file; None takes one out."""
    row = json.loads(file.read_text("utf-8")) | changes
    file.write_text(
        json.dumps({name: value for name, value in row.items() if value is not None}),
        "utf-8",
    )


def asked(
    *parts: Part | Media | str,
    system: str = "",
    before: Sequence[Message] = (),
    seed: int = 0,
    max_tokens: int | None = TOKENS,
    **params: Any,
) -> Request:
    """A request with one user message, behind others if they are given."""
    first = (message("system", system),) if system else ()
    messages = (*first, *before, message("user", *parts))
    return Request(
        messages, GenerationParams(max_tokens=max_tokens, **params), seed=seed
    )


def says(backend: BatchBackend, request: Request) -> Response:
    """The response to a request that is alone in its batch."""
    return answers(backend, [request])[0]


def answers(backend: BatchBackend, requests: Sequence[Request]) -> list[Response]:
    """The responses of a batch, in the order of the requests; each position is answered
    once."""
    found = list(backend.generate_batch(requests))
    assert sorted(position for position, _ in found) == list(range(len(requests)))
    return [response for _, response in sorted(found, key=lambda row: row[0])]


def drawn(
    colour: tuple[int, int, int] = (200, 30, 30), size: tuple[int, int] = (40, 30)
) -> Media:
    """A picture of one colour."""
    return Media.from_bytes(picture(size=size, colour=colour))


def fault(response: Response) -> tuple[str, str]:
    """Kind and message of the error of a response."""
    assert response.error is not None
    return response.error.kind, response.error.message


def only(kind: PartKind, response: Response) -> Media:
    """The one medium of a kind in an answer."""
    assert response.output is not None, response.error
    [found] = response.output.media(kind)
    return found
