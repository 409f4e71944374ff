"""Reference sounds (ESC-50, OpenMIC-2018): clips by class, and CLAP embeddings.

A folder has one of two forms:

    audio/*.wav with a table        the table is meta/esc50.csv, esc50.csv or dataset.csv with the columns filename, category
    <class>/*.mp3 (or wav, ...)     the files 0, 1, 2 ... of a class; only the first hundred are used
"""  # noqa: E501

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.media import Media
from mmeval.metric import HubModel, model_folder
from mmeval.metrics.audio.clap import embeddings
from mmeval.metrics.audio.clips import clip
from mmeval.metrics.embedding_cache import cached_vectors
from mmeval.records import digest

if TYPE_CHECKING:
    from mmeval.metrics.models import Vectors

TABLES = ("meta/esc50.csv", "esc50.csv", "dataset.csv")
MOST = 100
"""Maximum number of clips of a class in a folder of classes."""
_SOUNDS = (".wav", ".mp3", ".ogg", ".flac")
_RECIPE = "clap clips 2"
"""Part of the cache key. Change it when the same clips and model would yield other
embeddings."""

REFERENCE_SOUNDS = HubModel(
    ("|".join((*TABLES, "")), "audio/*.wav|*/*.mp3|*/*.wav|*/*.ogg|*/*.flac"),
    by_hand="mmeval ls metrics sound_class says how to get it",
)


def class_name(label: str) -> str:
    """Converts a label to the form used in tables and folder names.

    >>> class_name(" Door wood knock")
    'door_wood_knock'
    """
    return re.sub(r"[\s_]+", "_", label.strip().lower())


def classes(folder: Path) -> Mapping[str, Sequence[Path]]:
    """Returns the clips of each class.

    Raises MissingDataError for a folder that has neither form.
    """
    tables = [folder / name for name in TABLES if (folder / name).is_file()]
    clips_by_class = _by_table(folder, tables[0]) if tables else _by_folder(folder)
    if not clips_by_class:
        raise MissingDataError(
            f"{folder} has no clips by class; mmeval ls metrics sound_class "
            "describes the folder"
        )
    return clips_by_class


def _by_table(folder: Path, table: Path) -> dict[str, list[Path]]:
    clips_by_class: dict[str, list[Path]] = {}
    with table.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            name, category = row.get("filename"), row.get("category")
            if not name or not category:
                raise UsageError(f"{table} needs the columns filename and category")
            # Only the file's name is used: a table must not name files elsewhere.
            path = folder / "audio" / Path(name).name
            clips_by_class.setdefault(class_name(category), []).append(path)
    return {name: sorted(paths) for name, paths in clips_by_class.items()}


def _by_folder(folder: Path) -> dict[str, list[Path]]:
    def place(path: Path) -> tuple[int, str]:
        """Returns the sort key of a file. Files without a number come last."""
        number = int(path.stem) if path.stem.isdecimal() else 10**9
        return number, path.name

    clips_by_class: dict[str, list[Path]] = {}
    for inner in sorted(folder.iterdir()):
        if inner.is_dir():
            files = [path for path in inner.iterdir() if path.is_file()]
            sounds = [path for path in files if path.suffix.lower() in _SOUNDS]
            if sounds:
                sounds.sort(key=place)
                clips_by_class[class_name(inner.name)] = sounds[:MOST]
    return clips_by_class


def class_embeddings(
    references: Mapping[str, Any], label: str, model: Mapping[str, Any]
) -> Vectors:
    """Returns the embeddings of a class, and caches them.

    The cache key is the content of the model and of the clips. Raises UnknownNameError
    for a class that is not in the folder, and the errors of ``mmeval.media.decode`` for
    a clip that cannot be decoded.
    """
    folder = str(model_folder(references))
    clips_by_class = _classes_once(folder, references.get("fingerprint", ""))
    name = class_name(label)
    if name not in clips_by_class:
        raise UnknownNameError("class of the reference sounds", label, clips_by_class)
    return _vectors_once(tuple(clips_by_class[name]), _HashedModel(model))


@lru_cache(maxsize=8)
def _classes_once(folder: str, _fingerprint: str) -> Mapping[str, Sequence[Path]]:
    return classes(Path(folder))


class _HashedModel(dict[str, Any]):
    """A model's value as a cache key. Two values are equal if their files are equal."""

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none
        return hash(self["fingerprint"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _HashedModel):
            return False
        return bool(other["fingerprint"] == self["fingerprint"])


@lru_cache(maxsize=256)
def _vectors_once(paths: tuple[Path, ...], model: _HashedModel) -> Vectors:
    sounds = list(map(Media.from_path, paths))
    digests = [sound.sha256 for sound in sounds]
    key = digest([_RECIPE, model["fingerprint"], digests])
    return cached_vectors(
        key, len(sounds), lambda: embeddings(list(map(clip, sounds)), model)
    )
