"""Where a model lies, and what its small files say of it. Reads JSON only: no torch, no code of the model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval import hub
from mmeval.digest import DIGEST_CHARS
from mmeval.errors import MissingDataError, UsageError
from mmeval.model_backends.hf.settings import Settings

TINY = "tiny"
"""``pretrained=tiny`` is a model of our own, made on this machine: plumbing whose scores mean nothing."""

SMALL_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.py")
"""What describes a model: configuration, vocabulary, chat template, code. Everything else is weights."""
SMALL_SUFFIXES = tuple(pattern.removeprefix("*") for pattern in SMALL_FILES)
OTHER_WEIGHTS = ("*.gguf", "*.h5", "*.msgpack", "*.onnx", "*.ot", "*.tflite", "*.mlmodel", "onnx/*", "original/*")
"""The same weights for other libraries; a repository often holds several."""

WHOLE_BYTES = 1 << 30
"""Weights up to this size are hashed whole; of larger ones every ``SAMPLE_STEP``-th part of ``SAMPLE_BYTES`` is."""
SAMPLE_STEP = 4 << 20
SAMPLE_BYTES = 4096


@dataclass(frozen=True)
class ModelFiles:
    """A model's folder: one of the user's (``commit`` is empty), or a snapshot of the hub, whose weights may still have
    to be fetched. ``name`` is the hub's name, or the folder's own without the way to it."""

    name: str
    folder: Path
    commit: str = ""

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """``config.json``. Raises MissingDataError where there is none, UsageError for one that is no JSON object."""
        return self.json("config.json", required=True)

    @property
    def model_type(self) -> str:
        return str(self.config.get("model_type", ""))

    def json(self, name: str, *, required: bool = False) -> Mapping[str, Any]:
        """A JSON file of the model; nothing where there is none. Raises as ``config`` does."""
        path = self.folder / name
        if not path.is_file():
            if required:
                raise MissingDataError(f"{path}: there is no such file; {_what_is_there(self.folder)}")
            return {}
        try:
            found = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: it cannot be read ({error}); fetch the model again") from None
        if not isinstance(found, dict):
            raise UsageError(f"{path}: a JSON object is expected; fetch the model again")
        return found

    @cached_property
    def fingerprint(self) -> str:
        """Changes when the model does: of a snapshot its commit, of a folder a digest of its files' names, sizes and
        bytes. Of weights above a gigabyte in all, parts evenly spread over each file are taken, its head among them."""
        if self.commit:
            return self.commit
        files = sorted(path for path in self.folder.rglob("*") if path.is_file() and not _hidden(path, self.folder))
        whole = sum(path.stat().st_size for path in files) <= WHOLE_BYTES
        digest = hashlib.sha256()
        for path in files:
            size = path.stat().st_size
            digest.update(f"{path.relative_to(self.folder).as_posix()}\0{size}\0".encode())
            for part in _parts(path, size, whole=whole or path.suffix in SMALL_SUFFIXES):
                digest.update(part)
        return digest.hexdigest()[:DIGEST_CHARS]

    def fetch_weights(self) -> None:
        """See that all files are on this machine. Raises MissingDataError with the way out."""
        if self.commit:
            hub.snapshot(self.name, self.commit, kind="model", without=self._unneeded())

    def _unneeded(self) -> list[str]:
        """Weights of torch's older format are not fetched beside those of the safe one."""
        indexed = any(self.folder.glob("*.safetensors.index.json"))
        return [*OTHER_WEIGHTS, *(("*.bin", "*.pth", "*.pt") if indexed else ())]


def find_model(settings: Settings) -> ModelFiles:
    """Where the model is that a user named: ``tiny``, a folder, or a name of the hub.

    Raises MissingDataError for what is neither here nor on the hub, UsageError for a folder that holds something else.
    """
    given = settings.pretrained
    if given == TINY:
        from mmeval.model_backends.hf.tiny import tiny_model

        return ModelFiles(TINY, tiny_model())
    folder = Path(given).expanduser()
    if folder.is_dir():
        return ModelFiles(folder.resolve().name, folder)
    if given.startswith((".", "/", "~")) or given.count("/") > 1:
        raise MissingDataError(
            f"pretrained={given}: there is no such folder; give one with config.json and weights in it"
        )
    snapshot = hub.snapshot(given, settings.revision, kind="model", only=SMALL_FILES)
    return ModelFiles(given, snapshot, commit=snapshot.name)


def _what_is_there(folder: Path) -> str:
    if (folder / "model_index.json").is_file():
        return "this is a pipeline of diffusers: run it with --model diffusers"
    if (folder / "adapter_config.json").is_file():
        return "this is an adapter of PEFT: merge it into its base model first, and give the merged folder"
    return "give the folder that save_pretrained has written, or a name of the hub"


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def _parts(path: Path, size: int, *, whole: bool) -> Iterator[bytes]:
    with path.open("rb") as file:
        if whole:
            while data := file.read(SAMPLE_STEP):
                yield data
            return
        for start in range(0, size, SAMPLE_STEP):
            file.seek(start)
            yield file.read(SAMPLE_BYTES)
