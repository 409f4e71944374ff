"""Tiny models, built offline: random ones of real classes, those that metrics open, the
embedded one; loaded once, asked in a line, their folders changed where a test wants
bad ones."""

import hashlib
import importlib.metadata
import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

from mmeval.backend.contract import BatchBackend
from mmeval.media import Media, Part, PartKind
from mmeval.metric.model import HubModel, bound_model
from mmeval.metrics.audio.clap import CLAP_NAME
from mmeval.metrics.audio.music.beats import BEAT_THIS_NAME
from mmeval.metrics.audio.speech.transcription import WHISPER_NAME
from mmeval.metrics.audio.speech.voices import GENDER_NAME, SPEAKER_NAME
from mmeval.metrics.image.networks.clip import CLIP_B32, CLIP_L14
from mmeval.metrics.image.networks.inception_v3 import INCEPTION_V3_NAME
from mmeval.metrics.image.networks.lpips_network import LPIPS_NAME
from mmeval.metrics.image.networks.resnet50 import RESNET50_NAME
from mmeval.model_backends.hf.adapters.chat import ChatAdapter
from mmeval.model_backends.hf.backend import HFBackend
from mmeval.model_backends.hf.checkpoint.files import ModelFiles
from mmeval.model_backends.hf.embedded import builder
from mmeval.model_backends.hf.embedded.tiny import tiny_model as embedded_model
from mmeval.model_backends.hf.settings import HFSettings
from mmeval.records import GenerationParams, Message, Request, Response, message
from tests.support.sounds import class_folder, tone
from tests.support.tiny_media import picture

# Tiny random models of real classes, built offline once for a machine and kept until
# their builder changes. tiny_model("llava") -> the folder that save_pretrained has
# written. Names: ``llm``, ``llava``, ``idefics3``, ``qwen2_5_vl``, ``qwen2_audio``,
# ``chameleon`` (text out), ``janus`` (text or a picture), ``emu3`` (recites one
# answer: text, picture, text), ``qwen2_5_omni`` and ``qwen3_omni`` (text and speech),
# ``vits`` (speech), ``csm`` and ``bark`` (speech in a voice), ``musicgen``, ``moshi``,
# ``seamless_m4t`` and ``seamless_m4t_v2`` (text and speech). Pipelines of diffusers:
# see tiny_models/pipelines.py. Of metrics: ``clap``, ``clip``, ``whisper``, ``wavlm_sv``,
# ``wav2vec2_gender``, and ``resnet50``, ``inception_v3``, ``lpips``, ``beat_this`` and
# ``dreamsim``, which are files of the released names, not folders of transformers.

_BUILDERS = Path(__file__).with_name("tiny_models")
_BUILD = "tests.support.tiny_models.build"
_BUILD_SECONDS = 1200


@cache
def tiny_model(name: str) -> Path:
    """The folder of a model; all of them are built when the first is asked for (up to
    a minute of the processor)."""
    versions = (
        importlib.metadata.version(package)
        for package in ("torch", "transformers", "diffusers")
    )
    builders = sorted(_BUILDERS.glob("*.py"))
    sources = b"".join(builder.read_bytes() for builder in builders)
    made_by = hashlib.sha256(sources + "/".join(versions).encode()).hexdigest()[:12]
    root = Path(tempfile.gettempdir()) / f"mmeval-tiny-models-{os.getuid()}-{made_by}"
    root.mkdir(mode=0o700, exist_ok=True)
    with _clock_stopped(), FileLock(root / ".lock"):
        if not (root / ".done").exists():
            subprocess.run(
                [sys.executable, "-m", _BUILD, "--out", str(root)],
                cwd=_BUILDERS.parents[2],
                check=True,
                capture_output=True,
                timeout=_BUILD_SECONDS,
            )
            (root / ".done").touch()
    assert (root / name).is_dir(), f"{name}: no such tiny model"
    return root / name


@contextmanager
def _clock_stopped() -> Iterator[None]:
    """The time limit of a test does not include what all tests wait for: on a busy
    machine, a build may take minutes."""
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)


def tiny(name: str, mark: HubModel) -> dict[str, str]:
    """A tiny model as the argument of a metric."""
    return bound_model(str(tiny_model(name)), mark)


# Local models for tests: loaded once, asked in a line, their folders changed where a
# test wants bad ones. says(loaded("llava"), asked("what is this?", picture)) -> the
# response

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


def settings_for(folder: Path, **arguments: Any) -> HFSettings:
    return HFSettings(pretrained=str(folder), **arguments)


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


# A folder as ``MMEVAL_WEIGHTS_DIR`` names it: every model that our metrics open,
# tiny, and reference sounds.

OF_MMMG = {
    **{
        BEAT_THIS_NAME: "beat_this",
        CLAP_NAME: "clap",
        WHISPER_NAME: "whisper",
        GENDER_NAME: "wav2vec2_gender",
    },
    **{
        SPEAKER_NAME: "wavlm_sv",
        "BELLE-2/Belle-whisper-large-v3-zh": "whisper",
        "ssundaram21/dreamsim": "dreamsim",
    },
}
TINY = {
    **OF_MMMG,
    **{CLIP_L14: "clip", CLIP_B32: "clip", LPIPS_NAME: "lpips"},
    **{RESNET50_NAME: "resnet50", INCEPTION_V3_NAME: "inception_v3"},
}


def weights_folder(folder: Path) -> Path:
    """With the reference sounds that the bundled rows of MMMG name."""
    for name, tiny in TINY.items():
        shutil.copytree(tiny_model(tiny), folder / name)
    sounds = {
        name.replace(" ", "_"): [tone(0.3, 300)]
        for name in _named("start", "end", "target")
    }
    class_folder(folder / "karolpiczak/ESC-50", sounds, table="meta/esc50.csv")
    class_folder(
        folder / "cosmir/openmic-2018",
        {name: [tone(0.3, 500)] for name in _named("instrument")},
    )
    return folder


def _named(*labels: str) -> list[str]:
    """What the bundled rows name under these labels."""
    bundled = files("mmeval.tasks.mmmg") / "bundled" / "seed_instruction"
    texts = [
        file.read_text("utf-8")
        for file in bundled.iterdir()
        if file.name.startswith("a_")
    ]
    rows: list[dict[str, Any]] = [
        json.loads(line) for text in texts for line in text.splitlines()
    ]
    return sorted(
        {
            row[label]
            for row in rows
            for label in labels
            if isinstance(row.get(label), str)
        }
    )


# The embedded model ``tiny``, made once for a machine and kept until its builder
# changes.


@cache
def embedded_cache() -> Path:
    """A folder for ``MMEVAL_CACHE_DIR`` in which the model lies."""
    made_by = hashlib.sha256(inspect.getsource(builder).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"mmeval-embedded-{os.getuid()}-{made_by}"
    embedded_model(folder)
    return folder


def embedded_tiny() -> Path:
    return embedded_model(embedded_cache())
