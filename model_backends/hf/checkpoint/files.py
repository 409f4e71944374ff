"""A model's place and small files, read as JSON: no torch, no code of the model."""

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
"""``pretrained=tiny`` is our own model, made on this machine to test an installation;
its scores mean nothing."""

MODEL_INDEX, PIPELINE_INDEX = "config.json", "model_index.json"
"""The files that mark a folder as a model of transformers, or a pipeline of
diffusers."""

SMALL_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.py")
"""Files that describe a model: configuration, vocabulary, chat template, code.
Everything else is weights."""
SMALL_SUFFIXES = tuple(pattern.removeprefix("*") for pattern in SMALL_FILES)
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")
OTHER_WEIGHTS = (
    "*.gguf",
    "*.h5",
    "*.msgpack",
    "*.onnx",
    "*.onnx_data",
    "*.ot",
    "*.tflite",
    "*.mlmodel",
    "onnx/*",
    "*openvino*",
    "original/*",
    "consolidated*",
    "optimizer.*",
)
"""The same weights for other libraries, which repositories often hold, and the state of
a training."""
_PART = re.compile(r"(-[0-9]+-of-[0-9]+)?\.(safetensors|bin)$")

WHOLE_BYTES = 1 << 30
"""Weights up to this size are hashed whole; of larger ones every ``SAMPLE_STEP``-th
part of ``SAMPLE_BYTES`` is."""
SAMPLE_STEP = 4 << 20
SAMPLE_BYTES = 4096


@dataclass(frozen=True)
class ModelFiles:
    """A model's folder: the user's (``commit`` is empty), or a snapshot of the hub. A
    snapshot's weights may be missing. ``name`` is the hub's name, or that of the folder
    without its path. ``version`` is that of the builder of a model that is made
    here."""

    name: str
    folder: Path
    commit: str = ""
    version: str = ""

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """``config.json``. Raises MissingDataError, or UsageError if it is not an
        object."""
        return self.json(MODEL_INDEX, required=True)

    @property
    def model_type(self) -> str:
        return str(self.config.get("model_type", ""))

    def json(
        self,
        name: str,
        *,
        required: bool = False,
    ) -> Mapping[str, Any]:
        """A JSON file of the model; empty if there is none. Raises as ``config``
        does."""
        path = self.folder / name
        if not path.is_file():
            if required:
                raise MissingDataError(
                    f"{path}: there is no such file; {_what_is_there(self.folder)}"
                )
            return {}
        try:
            found = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(
                f"{path}: it cannot be read ({error}); fetch the model again"
            ) from None
        if not isinstance(found, dict):
            raise UsageError(
                f"{path}: a JSON object is expected; fetch the model again"
            )
        return found

    @cached_property
    def fingerprint(self) -> str:
        """A text that changes with the model. It is the commit of a snapshot, the
        builder's version of a model that is made here (machines differ in the last
        digits of its weights), or a digest of the names, sizes and bytes of a folder's
        files. Of weights above a gigabyte in all, evenly spread parts of each file are
        hashed, including its head."""
        if self.commit or self.version:
            return self.commit or self.version
        sizes: dict[Path, int] = {}
        for path in sorted(self.folder.rglob("*")):
            parts = path.relative_to(self.folder).parts
            is_hidden = any(part.startswith(".") for part in parts)
            if path.is_file() and not is_hidden:
                sizes[path] = path.stat().st_size
        whole = sum(sizes.values()) <= WHOLE_BYTES
        digest = hashlib.sha256()
        for path, size in sizes.items():
            name = path.relative_to(self.folder).as_posix()
            digest.update(f"{name}\0{size}\0".encode())
            with path.open("rb") as file:
                if whole or path.suffix in SMALL_SUFFIXES:
                    while data := file.read(SAMPLE_STEP):
                        digest.update(data)
                    continue
                for start in range(0, size, SAMPLE_STEP):
                    file.seek(start)
                    digest.update(file.read(SAMPLE_BYTES))
        return digest.hexdigest()[:DIGEST_CHARS]

    @property
    def components(self) -> frozenset[str]:
        """The folders of a pipeline's parts; a repository may hold other folders."""
        index = self.json(PIPELINE_INDEX)
        lists = [name for name, made_of in index.items() if isinstance(made_of, list)]
        return frozenset(name for name in lists if name[:1] != "_")

    def fetch_weights(self) -> None:
        """Fetch what is missing of a model of the hub. Raises MissingDataError."""
        if not self.commit:
            return
        names = hub.file_names(self.name, self.commit, kind="model")
        if names or self._lacking():
            hub.snapshot(
                self.name,
                self.commit,
                kind="model",
                without=unneeded(names, self.components),
            )
        lacking = self._lacking()
        if lacking:
            raise MissingDataError(
                f"{self.name} at {self.commit}: there are {lacking} in what the hub "
                "gave; check the name, or run again "
                "with the hub in reach"
            )

    def _lacking(self) -> str:
        """The missing weights of the model or a part, also by an index; empty if
        complete."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        names = {path.relative_to(self.folder).as_posix() for path in files}
        weights = {posixpath.dirname(name) for name in names if name.endswith(WEIGHTS)}
        parts = [""]
        if PIPELINE_INDEX in names:
            parts = sorted(self.components)
            parts = [part for part in parts if f"{part}/config.json" in names]
        for part in parts:
            if part not in weights:
                return f"no weights in {part}" if part else "no weights"
            for index in names:
                folder, name = posixpath.split(index)
                if folder != part or not name.endswith(".safetensors.index.json"):
                    continue
                listed = self.json(index).get("weight_map")
                shards = listed.values() if isinstance(listed, dict) else ()
                gone = {posixpath.join(part, str(shard)) for shard in shards} - names
                if gone:
                    return f"no weights {min(gone)}"
        return ""


def find_model(settings: Settings) -> ModelFiles:
    """Find a user's model: ``tiny``, a folder or a hub name. Raises as
    ``find_files``."""
    if settings.pretrained == TINY:
        from mmeval.model_backends.hf.embedded.tiny import VERSION, tiny_model

        return ModelFiles(TINY, tiny_model(), version=f"builder {VERSION}")
    try:
        return find_files(settings.pretrained, settings.revision)
    except MissingDataError as error:
        if settings.pretrained != DEFAULT_MODEL:
            raise
        raise MissingDataError(
            f"{sentence(error)} That is the model of a bare --model hf; another is "
            "named with --model_args "
            "pretrained=FOLDER or pretrained=OWNER/NAME, and pretrained=tiny needs no "
            "download"
        ) from None


def find_files(
    given: str,
    revision: str,
    *,
    index: str = MODEL_INDEX,
) -> ModelFiles:
    """Find a folder, or fetch a hub model's small files, by its file ``index``.

    Raises MissingDataError for a model that is neither here nor on the hub, or has no
    ``index``, UsageError for the revision of a folder.
    """
    folder = Path(given)
    with contextlib.suppress(RuntimeError):  # there is no such user
        folder = folder.expanduser()
    if os.path.isdir(folder):  # noqa: PTH112  unlike Path.is_dir, false for a name that no file can have
        if revision != "main":
            raise UsageError(
                f"revision={revision}: pretrained={given} is a folder, which has no "
                "others; leave it out"
            )
        files = ModelFiles(folder.resolve().name, folder)
        files.json(index, required=True)
        return files
    if given.startswith((".", "/", "~")) or given.count("/") > 1:
        raise MissingDataError(
            f"pretrained={given}: there is no such folder; give one with {index} and "
            "weights in it"
        )
    try:
        snapshot = hub.snapshot(given, revision, kind="model", only=SMALL_FILES)
    except MissingDataError as error:
        raise MissingDataError(
            f"{sentence(error)} A folder of that name is not here either"
        ) from None
    files = ModelFiles(given, snapshot, commit=snapshot.name)
    files.json(index, required=True)
    return files


def unneeded(
    names: Sequence[str],
    components: Set[str] = frozenset(),
) -> list[str]:
    """Patterns of files that are not fetched. They are the same weights in another
    format or precision, and weights outside of a pipeline's ``components``."""
    spare = set(_twins(names))
    if PIPELINE_INDEX in names:
        for name in names:
            is_of_a_part = name.partition("/")[0] in components
            if not name.endswith(SMALL_SUFFIXES) and not is_of_a_part:
                spare.add(name)
    return [*OTHER_WEIGHTS, *map(glob.escape, sorted(spare))]


def _twins(names: Sequence[str]) -> Iterator[str]:
    """Weights in torch's older format besides the safe one, and variants.
    Variants (``model.fp16.safetensors``) count only besides their original."""
    weights = [name for name in names if name.endswith((".safetensors", ".bin"))]
    stems = {name: _PART.sub("", name) for name in weights}
    safe = {posixpath.dirname(name) for name in stems if name.endswith(".safetensors")}
    for name, stem in stems.items():
        folder, file = posixpath.split(name)
        is_old = "pytorch_model" in file and file.endswith(".bin")
        is_variant = stem.rpartition(".")[0] in stems.values()
        if is_variant or (is_old and folder in safe):
            yield name


def _what_is_there(folder: Path) -> str:
    if (folder / PIPELINE_INDEX).is_file():
        return "this is a pipeline of diffusers: run it with --model diffusers"
    if (folder / "adapter_config.json").is_file():
        return (
            "this is an adapter of PEFT: merge it into its base model first, and give "
            "the merged folder"
        )
    if (folder / MODEL_INDEX).is_file():
        return "this is a model of transformers: run it with --model hf"
    return "give the folder that save_pretrained has written, or a name of the hub"
