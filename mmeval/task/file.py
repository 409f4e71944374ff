"""Task files and group files, checked against the schema; each fault has its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mmeval._version import __version__
from mmeval.errors import TaskFileError, UsageError, did_you_mean
from mmeval.findings.finding import Subject
from mmeval.records.request import GenerationParams
from mmeval.system.version_requirement import satisfies
from mmeval.system.yaml_document import Document, KeyPath, Problem
from mmeval.task.schema import (
    COLUMNS_OF,
    REFUSED,
    AnswerFilterKeys,
    ByHandKeys,
    ExpectedKeys,
    FewerInputsKeys,
    GroupKeys,
    GroupMetricKeys,
    NumberKeys,
    TaskKeys,
    columns_for,
    with_columns,
    without_harmless,
)

OF_A_RUN = "run.json#"
"""The prefix of the path of a task that was recorded by a run and has no file."""

Keys = TypeVar("Keys", bound=BaseModel)

_INNER: dict[str, type[BaseModel]] = {
    "aggregate_metric_list": GroupMetricKeys,
    "expected": ExpectedKeys,
    "fewer_inputs": FewerInputsKeys,
    "by_hand": ByHandKeys,
    "filter_list": AnswerFilterKeys,
    "numbers": NumberKeys,
}
"""The schemas of the keys that hold mappings of their own."""

_WANTED = {
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a name or a mapping",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
}


@dataclass(frozen=True)
class TaskFile:
    """One task of a file, includes and overrides applied."""

    keys: TaskKeys
    document: Document
    prompts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The texts of judges' prompts by metric and name, where a run has recorded
    them."""

    @property
    def name(self) -> str:
        return self.keys.task

    @property
    def version(self) -> str:
        """``metadata.version`` as it is written: ``1.10`` is not ``1.1``."""
        return _written(self.document, ("metadata", "version"))

    @property
    def folder(self) -> Path:
        """The folder of the task's own YAML file."""
        return self.document.file.parent

    def beside(self, key: str) -> Path:
        """The folder of the file that has ``key``: paths in its value are relative to
        it."""
        return self.document.place((key,)).file.parent

    def subject_at(self, path: KeyPath) -> Subject:
        """The line of a key; that of the task's name where the key is not written."""
        is_written = bool(path) and path in self.document.places
        place = self.document.place(path if is_written else ("task",))
        return Subject(self.name, file=str(place.file), line=place.line)


@dataclass(frozen=True)
class GroupFile:
    """A group of a file. ``members`` are names, or documents (groups, changed
    tasks)."""

    keys: GroupKeys
    document: Document

    @property
    def name(self) -> str:
        return self.keys.group

    @property
    def version(self) -> str:
        return _written(self.document, ("metadata", "version"))

    @property
    def members(self) -> Iterator[tuple[KeyPath, str | Document]]:
        listed = self.document.data["task"]
        if isinstance(listed, str):
            yield ("task",), listed
            return
        for position, member in enumerate(listed):
            path = ("task", position)
            yield path, member if isinstance(member, str) else self.document.at(path)


class RequirementError(TaskFileError):
    """The file needs another version of mmeval."""


def parse_task(document: Document) -> TaskFile:
    """Parse a task. Raises one TaskFileError with every fault, each with its line."""
    _check_requirement(document)
    problems = list(
        generation_problems(
            document.data.get("generation_kwargs"), ("generation_kwargs",)
        )
    )
    roles = document.data.get("roles")
    for role, params in roles.items() if isinstance(roles, Mapping) else ():
        problems += generation_problems(params, ("roles", role))
    keys = _validated(
        TaskKeys, document, problems, f"the task {document.data.get('task', '')!r}"
    )
    return TaskFile(keys, document)


def parse_group(document: Document) -> GroupFile:
    """Parse a group. Raises one TaskFileError with every fault, each with its line."""
    _check_requirement(document)
    keys = _validated(
        GroupKeys, document, [], f"the group {document.data.get('group', '')!r}"
    )
    return GroupFile(keys, document)


def _check_requirement(document: Document) -> None:
    """Check this first, as a file for a newer mmeval may have unknown keys."""
    wanted = document.data.get("requires_mmeval")
    try:
        met = not isinstance(wanted, str) or satisfies(__version__, wanted)
    except ValueError as error:
        raise document.error(("requires_mmeval",), str(error)) from None
    if not met:
        message = (
            f"this task needs mmeval {wanted}, installed is {__version__}; install "
            "such a version"
        )
        place = document.place(("requires_mmeval",))
        raise RequirementError(message, file=place.file, line=place.line)


def _validated(
    model: type[Keys], document: Document, problems: list[Problem], what: str
) -> Keys:
    keys: Keys | None = None
    problems += document.problems
    refused = {path for path, _ in document.problems}
    try:
        data: Mapping[str, Any] = without_harmless(document.data)
        if model is TaskKeys:
            data = with_columns(data)
        keys = model.model_validate(data)
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            path, message = _problem(model, document, dict(fault))
            # of a value that cannot be used, its type says nothing more
            if path not in refused:
                problems.append((path, message))
    problems += _metadata_problems(document, required=model is TaskKeys, what=what)
    if keys is None or problems:
        faults = document.errors(list(dict.fromkeys(problems)))
        faults.how_to_fix = columns_for(document.data)
        raise faults
    return keys


def _metadata_problems(
    document: Document, *, required: bool, what: str
) -> Iterator[Problem]:
    metadata = document.data.get("metadata")
    if not isinstance(metadata, Mapping):
        return
    if "version" not in metadata:
        if required:
            yield (
                ("metadata",),
                f"version is missing: {what} needs one, so that its scores can be "
                "compared",
            )
        return
    version = metadata["version"]
    if (
        isinstance(version, bool)
        or not isinstance(version, str | int | float)
        or version == ""
    ):
        yield ("metadata", "version"), "must be a number or text"


def generation_problems(params: Any, path: KeyPath) -> Iterator[Problem]:
    """The faults of generation parameters, by key; none if it is not a mapping."""
    for key, value in params.items() if isinstance(params, Mapping) else ():
        try:
            GenerationParams.from_mapping({key: value})
        except UsageError as error:
            yield (*path, key), str(error)


def _problem(
    model: type[BaseModel], document: Document, fault: Mapping[str, Any]
) -> Problem:
    """A fault of the schema as a sentence, at its key."""
    loc: tuple[str | int, ...] = fault["loc"]
    path = _known_path(document, loc)
    kind = fault["type"]
    if kind == "extra_forbidden":
        key = str(loc[-1])
        is_inner = len(loc) > 1
        owner = _INNER.get(str(loc[0])) if is_inner else None
        if key in REFUSED:
            first = next(filter(COLUMNS_OF.__contains__, document.data), None)
            return (
                path,
                "is not supported here: "
                f"{columns_for(document.data) if key == first else REFUSED[key]}",
            )
        known = (
            [*model.model_fields, "include"]
            if owner is None
            else list(owner.model_fields)
        )
        return path, f"unknown key{did_you_mean(key, known)}"
    if kind == "missing":
        return path, f"{loc[-1]} is missing"
    if kind == "mmeval":
        return path, str(fault["msg"])
    value = fault["input"]
    if isinstance(value, Mapping | list):
        shown = (
            "a mapping"
            if isinstance(value, Mapping)
            else "an empty list"
            if not value
            else "a list"
        )
    else:
        shown = (
            document.place(path).written if path in document.places else ""
        ) or "nothing"
    if kind == "string_type" and not isinstance(value, list | dict | type(None)):
        shown += "; put it in quotes"
    wanted = (
        _WANTED[kind].format(**fault.get("ctx", {}))
        if kind in _WANTED
        else fault["msg"]
    )
    # an entry of a list, which no name stands for
    if kind == "model_type" and path and isinstance(path[-1], int):
        wanted = (
            "must be a mapping such as {metric: NAME}"
            if "metric" in str(path[0])
            else "must be a mapping"
        )
    return path, f"{wanted}, not {shown}"


def _known_path(document: Document, loc: Sequence[str | int]) -> KeyPath:
    """The path in the file, without the alternatives of a union in the schema's
    path."""
    path: KeyPath = ()
    for step in loc:
        if (*path, step) in document.places:
            path = (*path, step)
    return path


def _written(document: Document, path: KeyPath) -> str:
    value: Any = document.data
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    if value is None:
        return ""
    place = document.places.get(path)
    return place.written if place is not None and place.written else str(value)
