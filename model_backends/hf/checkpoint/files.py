"""Finds a model's folder and reads its small files.

Neither torch nor the model's code runs.
"""

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
from mmeval.model_backends.hf.settings import DEFAULT_MODEL, HFSettings
from mmeval.records import DIGEST_CHARS

TINY = "tiny"
"""The value of ``pretrained`` for a model that is built on this machine.

The model tests an installation. Its scores are meaningless.
"""

MODEL_INDEX, PIPELINE_INDEX = "config.json", "model_index.json"
"""The files that identify a model of transformers and a pipeline of diffusers."""

SMALL_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.py")
"""Files that describe a model: configuration, vocabulary, chat template, code.

All other files are weights.
"""
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
"""Files that are not fetched: training states, and weights for other libraries.

Repositories often contain the same weights for several libraries.
"""
_PART = re.compile(r"(-[0-9]+-of-[0-9]+)?\.(safetensors|bin)$")

WHOLE_BYTES = 1 << 30
"""Weights up to this total size are hashed completely.

Of larger weights, the first ``SAMPLE_BYTES`` of every ``SAMPLE_STEP`` bytes are hashed.
"""
SAMPLE_STEP = 4 << 20
SAMPLE_BYTES = 4096


@dataclass(frozen=True)
class ModelFiles:
    """A model's folder: a user's folder, or a snapshot of a hub model.

    ``commit`` is empty for a user's folder. The weights of a snapshot may not be
    fetched yet. ``name`` is the name on the hub, or the folder's name without its path.
    For a model built on this machine, ``version`` is the version of the builder.
    """

    name: str
    folder: Path
    commit: str = ""
    version: str = ""

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The content of ``config.json``.

        Raises MissingDataError if the file is missing, and UsageError if it is not a
        JSON object.
        """
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
        """Returns the content of a JSON file of the model.

        Returns an empty mapping if the file is missing and not ``required``. Raises the
        same errors as ``config``.
        """
        path = self.folder / name
        if not path.is_file():
            if required:
                raise MissingDataError(
                    f"{path} does not exist; {_advice_for(self.folder)}"
                )
            return {}
        try:
            content = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(
                f"{path}: cannot read this file ({error}); fetch the model again"
            ) from None
        if not isinstance(content, dict):
            raise UsageError(
                f"{path}: this file is not a JSON object; fetch the model again"
            )
        return content

    @cached_property
    def fingerprint(self) -> str:
        """A string that changes with the model.

        The string is the commit of a snapshot, the builder's version, or a digest of a
        folder's files. The digest covers names, sizes and bytes. If weights are larger
        than a gigabyte in total, only parts of each file are hashed: the beginning, and
        further parts at equal distances. A built model has no digest, because the last
        digits of its weights differ between machines.
        """
        if self.commit or self.version:
            return self.commit or self.version
        sizes: dict[Path, int] = {}
        for path in sorted(self.folder.rglob("*")):
            parts = path.relative_to(self.folder).parts
            is_hidden = any(part.startswith(".") for part in parts)
            if path.is_file() and not is_hidden:
                sizes[path] = path.stat().st_size
        is_hashed_whole = sum(sizes.values()) <= WHOLE_BYTES
        digest = hashlib.sha256()
        for path, size in sizes.items():
            name = path.relative_to(self.folder).as_posix()
            digest.update(f"{name}\0{size}\0".encode())
            with path.open("rb") as file:
                if is_hashed_whole or path.suffix in SMALL_SUFFIXES:
                    while data := file.read(SAMPLE_STEP):
                        digest.update(data)
                    continue
                for start in range(0, size, SAMPLE_STEP):
                    file.seek(start)
                    digest.update(file.read(SAMPLE_BYTES))
        return digest.hexdigest()[:DIGEST_CHARS]

    @property
    def components(self) -> frozenset[str]:
        """The folders of a pipeline's parts.

        A repository may contain other folders too.
        """
        index = self.json(PIPELINE_INDEX)
        lists = [name for name, made_of in index.items() if isinstance(made_of, list)]
        return frozenset(name for name in lists if name[:1] != "_")

    def fetch_weights(self) -> None:
        """Fetches the missing files of a hub model.

        Raises MissingDataError if weights are still missing.
        """
        if not self.commit:
            return
        names = hub.file_names(self.name, self.commit, kind="model")
        if names or self._missing_weights():
            hub.snapshot(
                self.name,
                self.commit,
                kind="model",
                without=unneeded(names, self.components),
            )
        missing = self._missing_weights()
        if missing:
            raise MissingDataError(
                f"{self.name} at {self.commit}: there are {missing} in the files from "
                "the hub; check the name, or run again with access to the hub"
            )

    def _missing_weights(self) -> str:
        """Returns a phrase that names missing weights, or an empty string if none are.

        Checks the weights of each part and the files that an index lists.
        """
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
                missing_shards = {
                    posixpath.join(part, str(shard)) for shard in shards
                } - names
                if missing_shards:
                    return f"no weights {min(missing_shards)}"
        return ""


def find_model(settings: HFSettings) -> ModelFiles:
    """Finds the model of the settings: ``tiny``, a folder or a hub model.

    Raises the same errors as ``find_files``.
    """
    if settings.pretrained == TINY:
        from mmeval.model_backends.hf.embedded.tiny import VERSION, tiny_model

        return ModelFiles(TINY, tiny_model(), version=f"builder {VERSION}")
    try:
        return find_files(settings.pretrained, settings.revision)
    except MissingDataError as error:
        if settings.pretrained != DEFAULT_MODEL:
            raise
        raise MissingDataError(
            f"{sentence(error)} This is the default model of --model hf; name another "
            "with --model_args pretrained=FOLDER or pretrained=OWNER/NAME "
            "(pretrained=tiny needs no download)"
        ) from None


def find_files(
    pretrained: str,
    revision: str,
    *,
    index: str = MODEL_INDEX,
) -> ModelFiles:
    """Finds a model's folder, or fetches the small files of a hub model.

    ``index`` is the file that identifies a model.

    Raises MissingDataError for a model that is neither a folder nor on the hub, or
    lacks the file ``index``. Raises UsageError for a revision of a folder.
    """
    folder = Path(pretrained)
    with contextlib.suppress(RuntimeError):  # "~user" of an unknown user
        folder = folder.expanduser()
    if os.path.isdir(folder):  # noqa: PTH112  unlike Path.is_dir, false for a name that no file can have
        if revision != "main":
            raise UsageError(
                f"revision={revision}: pretrained={pretrained} is a folder, which has "
                "no revisions; leave out revision"
            )
        files = ModelFiles(folder.resolve().name, folder)
        files.json(index, required=True)
        return files
    if pretrained.startswith((".", "/", "~")) or pretrained.count("/") > 1:
        raise MissingDataError(
            f"pretrained={pretrained} does not exist; name a folder with {index} and "
            "weights"
        )
    try:
        snapshot = hub.snapshot(pretrained, revision, kind="model", only=SMALL_FILES)
    except MissingDataError as error:
        raise MissingDataError(
            f"{sentence(error)} There is no folder of that name either"
        ) from None
    files = ModelFiles(pretrained, snapshot, commit=snapshot.name)
    files.json(index, required=True)
    return files


def unneeded(
    names: Sequence[str],
    components: Set[str] = frozenset(),
) -> list[str]:
    """Returns patterns of files that are not fetched.

    These files are the same weights in another format or precision, and weights outside
    of a pipeline's ``components``.
    """
    excluded = set(_duplicates(names))
    if PIPELINE_INDEX in names:
        for name in names:
            is_of_a_part = name.partition("/")[0] in components
            if not name.endswith(SMALL_SUFFIXES) and not is_of_a_part:
                excluded.add(name)
    return [*OTHER_WEIGHTS, *map(glob.escape, sorted(excluded))]


def _duplicates(names: Sequence[str]) -> Iterator[str]:
    """Yields duplicate weights.

    These are files in torch's older format if safetensors exist, and variants
    (``model.fp16.safetensors``) if the original exists.
    """
    weights = [name for name in names if name.endswith((".safetensors", ".bin"))]
    stems = {name: _PART.sub("", name) for name in weights}
    safe = {posixpath.dirname(name) for name in stems if name.endswith(".safetensors")}
    for name, stem in stems.items():
        folder, file = posixpath.split(name)
        is_old = "pytorch_model" in file and file.endswith(".bin")
        is_variant = stem.rpartition(".")[0] in stems.values()
        if is_variant or (is_old and folder in safe):
            yield name


def _advice_for(folder: Path) -> str:
    if (folder / PIPELINE_INDEX).is_file():
        return "this is a pipeline of diffusers: run it with --model diffusers"
    if (folder / "adapter_config.json").is_file():
        return (
            "this is an adapter of PEFT: merge it into its base model first, and name "
            "the merged folder"
        )
    if (folder / MODEL_INDEX).is_file():
        return "this is a model of transformers: run it with --model hf"
    return "name a folder written by save_pretrained, or a model on the hub"
