"""Reads the models of a configuration file, which one command runs.

Each entry of ``models`` names a model and states how it is asked. All other settings
are shared, so that the runs are comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.errors import TaskFileError, UsageError, did_you_mean
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import Setting
from mmeval.system.secrets import without_secrets
from mmeval.system.wording import file_name

if TYPE_CHECKING:
    from mmeval.system.yaml_document import Document, KeyPath

MODELS = "models"
DEFAULTS = "defaults"
KEYS = (MODELS, DEFAULTS)
"""The keys of a configuration file that are not flags."""

OF_ENTRY = (
    "model",
    "model_args",
    "device",
    "batch_size",
    "engine",
    "gen_kwargs",
    "system_instruction",
    "protocol",
    "reasoning_tags",
    "probe",
    "use_cache",
    "max_connections",
    "retry_on_error",
    "max_calls_per_answer",
    "max_tokens_per_answer",
    "budget_usd",
    "budget_tokens",
    "budget_calls",
)
"""The flags that an entry may set: how its model is asked, and what it may spend."""
_NAMES = ("name", "group")


@dataclass(frozen=True)
class ModelEntry:
    """A model of the file. ``name`` is its name in folders and tables.

    ``group`` is its heading in the tables of papers, or empty. ``settings`` override
    the shared settings.
    """

    name: str
    group: str
    settings: Mapping[str, Setting]


@dataclass(frozen=True)
class ConfiguredModels:
    """The models of a configuration file, in its order. ``defaults`` are further shared
    settings."""

    file: Path
    entries: tuple[ModelEntry, ...]
    defaults: Mapping[str, Setting]


def read_models(file: Path | None) -> ConfiguredModels | None:
    """Returns the models of a configuration file; None if it does not list any.

    Raises TaskFileError for an entry that is wrong, with its line.
    """
    from mmeval.system.yaml_document import read_document

    if file is None or not file.is_file():
        return None
    document = read_document(file)
    if MODELS not in document.data:
        if DEFAULTS in document.data:
            raise document.error((DEFAULTS,), f"needs the key {MODELS!r}")
        return None
    rows = document.data[MODELS]
    if not isinstance(rows, list) or not rows:
        raise document.error((MODELS,), "must be a list of models")
    entries = [_entry(document, number) for number in range(len(rows))]
    _refuse_same_folder(document, entries)
    return ConfiguredModels(file, tuple(entries), _defaults(document))


def chosen_entries(
    models: ConfiguredModels, only: Sequence[str]
) -> tuple[ModelEntry, ...]:
    """Returns the entries named by ``--only``, in the order of the file; all without
    it. Raises UsageError for an unknown name."""
    names = [entry.name for entry in models.entries]
    for name in only:
        parts = name.split(",")
        if name not in names and {part.strip() for part in parts} <= set(names):
            # a name may contain a comma, so a list is not split
            raise UsageError(
                f"--only {name}: repeat the flag for each of these models",
                name=name,
                known=names,
            )
        if name not in names:
            raise UsageError(
                f"--only {name}: {models.file} has only the models "
                f"{', '.join(names)}{did_you_mean(name, names)}",
                name=name,
                known=names,
            )
    if not only:
        return models.entries
    return tuple(entry for entry in models.entries if entry.name in only)


def as_rows(models: ConfiguredModels) -> list[dict[str, Any]]:
    """Returns the entries as they are written in a file, without secrets."""
    rows = []
    for entry in models.entries:
        row: dict[str, Any] = {"name": entry.name}
        if entry.group:
            row["group"] = entry.group
        for name, setting in entry.settings.items():
            row[name] = setting.value
        rows.append(without_secrets(row))
    return rows


def _entry(document: Document, number: int) -> ModelEntry:
    path: KeyPath = (MODELS, number)
    row = document.data[MODELS][number]
    if not isinstance(row, Mapping):
        raise document.error(path, "a model needs the keys 'name' and 'model'")
    settings: dict[str, Setting] = {}
    for key, value in row.items():
        name = str(key).replace("-", "_")
        if name in _NAMES:
            continue
        if name not in OF_ENTRY:
            raise _wrong_key(document, (*path, key), name)
        settings[name] = _setting(document, (*path, key), value)
    for key in ("name", "model"):
        if not _is_name(row.get(key)):
            raise document.error(path, f"a model needs the key {key!r}, which is text")
    group = row.get("group", "")
    if group != "" and not _is_name(group):
        raise document.error((*path, "group"), "must be text")
    return ModelEntry(str(row["name"]), str(group), settings)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _wrong_key(document: Document, path: KeyPath, name: str) -> TaskFileError:
    """Returns the error for a key that a model cannot have."""
    known = (*_NAMES, *OF_ENTRY)
    message = f"unknown key{did_you_mean(name, known)}"
    if name in BY_NAME:
        message = "all models share this setting; write it beside 'models'"
    if name == "model_tag":
        message = "'name' is the model's tag; leave out 'model_tag'"
    return document.error(path, message)


def _setting(document: Document, path: KeyPath, value: Any) -> Setting:
    line = document.place(path).line
    return Setting(value, f"{document.file}:{line}: {path[-1]}")


def _refuse_same_folder(document: Document, entries: Sequence[ModelEntry]) -> None:
    """Raises TaskFileError for two models whose runs would have the same folder."""
    first_by_folder: dict[str, str] = {}
    for number, entry in enumerate(entries):
        # some file systems ignore the case of names
        folder = file_name(entry.name).casefold()
        if folder in first_by_folder:
            first = first_by_folder[folder]
            message = f"the name {entry.name!r} is given twice"
            if first != entry.name:
                message = f"the names {first!r} and {entry.name!r} have one folder"
            raise document.error((MODELS, number, "name"), message)
        first_by_folder[folder] = entry.name


def _defaults(document: Document) -> dict[str, Setting]:
    rows = document.data.get(DEFAULTS, {})
    if not isinstance(rows, Mapping):
        raise document.error((DEFAULTS,), "must map flags to values")
    settings: dict[str, Setting] = {}
    for key, value in rows.items():
        name = str(key).replace("-", "_")
        path = (DEFAULTS, key)
        if name not in BY_NAME or name == "config":
            near = did_you_mean(name, BY_NAME)
            raise document.error(path, f"unknown key {key!r}{near}")
        if key in document.data or name in document.data:
            message = f"{key!r} is also a key of the file; leave one out"
            raise document.error(path, message)
        settings[name] = _setting(document, path, value)
    return settings
