"""Where a model lies, and what its small files say of it. Reads JSON only: no torch, no code of the model."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval.dataset import hub
from mmeval.errors import MissingDataError, UsageError, sentence
from mmeval.model_backends.hf.settings import DEFAULT_MODEL, Settings
from mmeval.records import DIGEST_CHARS

TINY = "tiny"
"""``pretrained=tiny`` is a model of our own, made on this machine: plumbing whose scores mean nothing."""

MODEL_INDEX, PIPELINE_INDEX = "config.json", "model_index.json"
"""What says of a folder that it holds a model of transformers, or a pipeline of diffusers."""

SMALL_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.py")
"""What describes a model: configuration, vocabulary, chat template, code. Everything else is weights."""
SMALL_SUFFIXES = tuple(pattern.removeprefix("*") for pattern in SMALL_FILES)
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")
OTHER_WEIGHTS = (
    *("*.gguf", "*.h5", "*.msgpack", "*.onnx", "*.onnx_data", "*.ot", "*.tflite", "*.mlmodel"),
    *("onnx/*", "*openvino*", "original/*", "consolidated*", "optimizer.*"),
)
"""The same weights for other libraries, of which a repository often holds several, and the state of a training."""
_PART = re.compile(r"(-[0-9]+-of-[0-9]+)?\.(safetensors|bin)$")

WHOLE_BYTES = 1 << 30
"""Weights up to this size are hashed whole; of larger ones every ``SAMPLE_STEP``-th part of ``SAMPLE_BYTES`` is."""
SAMPLE_STEP = 4 << 20
SAMPLE_BYTES = 4096


@dataclass(frozen=True)
class ModelFiles:
    """A model's folder: one of the user's (``commit`` is empty), or a snapshot of the hub, whose weights may still have
    to be fetched. ``name`` is the hub's name, or the folder's own without the way to it. ``version`` is that of the
    builder of a model that is made here."""

    name: str
    folder: Path
    commit: str = ""
    version: str = ""

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """``config.json``. Raises MissingDataError where there is none, UsageError for one that is no JSON object."""
        return self.json(MODEL_INDEX, required=True)

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
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(f"{path}: it cannot be read ({error}); fetch the model again") from None
        if not isinstance(found, dict):
            raise UsageError(f"{path}: a JSON object is expected; fetch the model again")
        return found

    @cached_property
    def fingerprint(self) -> str:
        """Changes when the model does: of a snapshot its commit, of a model that is made here its builder's version
        (machines differ in the last digits of its weights), of a folder a digest of its files' names, sizes and bytes.
        Of weights above a gigabyte in all, parts evenly spread over each file are taken, its head among them."""
        if self.commit or self.version:
            return self.commit or self.version
        files = sorted(path for path in self.folder.rglob("*") if path.is_file() and not _hidden(path, self.folder))
        whole = sum(path.stat().st_size for path in files) <= WHOLE_BYTES
        digest = hashlib.sha256()
        for path in files:
            size = path.stat().st_size
            digest.update(f"{path.relative_to(self.folder).as_posix()}\0{size}\0".encode())
            for part in _parts(path, size, whole=whole or path.suffix in SMALL_SUFFIXES):
                digest.update(part)
        return digest.hexdigest()[:DIGEST_CHARS]

    @property
    def components(self) -> frozenset[str]:
        """Of a pipeline the folders of its parts; a repository may hold others beside them."""
        index = self.json(PIPELINE_INDEX)
        return frozenset(name for name, made_of in index.items() if isinstance(made_of, list) and name[:1] != "_")

    def fetch_weights(self) -> None:
        """See that a model of the hub is on this machine, whole. Raises MissingDataError with the way out."""
        if not self.commit:
            return
        names = hub.file_names(self.name, self.commit, kind="model")
        if names or self._lacking():
            hub.snapshot(self.name, self.commit, kind="model", without=unneeded(names, self.components))
        if lacking := self._lacking():
            raise MissingDataError(
                f"{self.name} at {self.commit}: there are {lacking} in what the hub gave; check the name, or run again "
                "with the hub in reach"
            )

    def _lacking(self) -> str:
        """What is not there: the weights of the model (of a pipeline: of one of its parts), or some that an index of
        weights lists."""
        names = {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()}
        weights = {posixpath.dirname(name) for name in names if name.endswith(WEIGHTS)}
        parts = {part for part in self.components if f"{part}/config.json" in names}
        for part in sorted(parts) if PIPELINE_INDEX in names else [""]:
            if part not in weights:
                return f"no weights in {part}" if part else "no weights"
            for index in (name for name in names if name.endswith(".safetensors.index.json")):
                if posixpath.dirname(index) == part and (gone := self._shards(index) - names):
                    return f"no weights {min(gone)}"
        return ""

    def _shards(self, index: str) -> set[str]:
        """The files of weights that an index of them lists."""
        listed = self.json(index).get("weight_map")
        names = listed.values() if isinstance(listed, dict) else ()
        return {posixpath.join(posixpath.dirname(index), str(name)) for name in names}


def find_model(settings: Settings) -> ModelFiles:
    """Where the model is that a user named: ``tiny``, a folder, or a name of the hub. Raises as ``find_files`` does."""
    if settings.pretrained == TINY:
        from mmeval.model_backends.hf.embedded.tiny import VERSION, tiny_model

        return ModelFiles(TINY, tiny_model(), version=f"builder {VERSION}")
    try:
        return find_files(settings.pretrained, settings.revision)
    except MissingDataError as error:
        if settings.pretrained != DEFAULT_MODEL:
            raise
        raise MissingDataError(
            f"{sentence(error)} That is the model of a bare --model hf; another is named with --model_args "
            "pretrained=FOLDER or pretrained=OWNER/NAME, and pretrained=tiny needs no download"
        ) from None


def find_files(given: str, revision: str, *, index: str = MODEL_INDEX) -> ModelFiles:
    """The folder, or the small files of the hub's model, that a user named; ``index`` is the file that says what it is.

    Raises MissingDataError for what is neither here nor on the hub, and for what holds no ``index``, UsageError for the
    revision of a folder.
    """
    folder = Path(given)
    with contextlib.suppress(RuntimeError):  # there is no such user
        folder = folder.expanduser()
    if os.path.isdir(folder):  # noqa: PTH112  unlike Path.is_dir, false for a name that no file can have
        if revision != "main":
            raise UsageError(f"revision={revision}: pretrained={given} is a folder, which has no others; leave it out")
        return _with_index(ModelFiles(folder.resolve().name, folder), index)
    if given.startswith((".", "/", "~")) or given.count("/") > 1:
        raise MissingDataError(f"pretrained={given}: there is no such folder; give one with {index} and weights in it")
    try:
        snapshot = hub.snapshot(given, revision, kind="model", only=SMALL_FILES)
    except MissingDataError as error:
        raise MissingDataError(f"{sentence(error)} A folder of that name is not here either") from None
    return _with_index(ModelFiles(given, snapshot, commit=snapshot.name), index)


def _with_index(files: ModelFiles, index: str) -> ModelFiles:
    files.json(index, required=True)
    return files


def unneeded(names: Sequence[str], components: Set[str] = frozenset()) -> list[str]:
    """Patterns of what is not fetched of a repository with these files: its weights once more in another format or
    precision, and of a pipeline with these ``components`` the weights of what is no part of it."""
    spare = {*_twins(names)}
    if PIPELINE_INDEX in names:
        large = (name for name in names if not name.endswith(SMALL_SUFFIXES))
        spare |= {name for name in large if name.partition("/")[0] not in components}
    return [*OTHER_WEIGHTS, *map(glob.escape, sorted(spare))]


def _twins(names: Sequence[str]) -> Iterator[str]:
    """Weights in torch's older format beside those in the safe one, and variants (``model.fp16.safetensors``) beside
    their original."""
    stems = {name: _PART.sub("", name) for name in names if name.endswith((".safetensors", ".bin"))}
    safe = {posixpath.dirname(name) for name in stems if name.endswith(".safetensors")}
    for name, stem in stems.items():
        variant = stem.rpartition(".")[0] in stems.values()
        old = posixpath.dirname(name) in safe and "pytorch_model" in posixpath.basename(name) and name.endswith(".bin")
        if variant or old:
            yield name


def _what_is_there(folder: Path) -> str:
    if (folder / PIPELINE_INDEX).is_file():
        return "this is a pipeline of diffusers: run it with --model diffusers"
    if (folder / "adapter_config.json").is_file():
        return "this is an adapter of PEFT: merge it into its base model first, and give the merged folder"
    if (folder / MODEL_INDEX).is_file():
        return "this is a model of transformers: run it with --model hf"
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
