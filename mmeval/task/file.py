"""Parses task files and group files, and reports each fault with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

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
"""The prefix of the path of a task that comes from a run's record, not from a file."""

Keys = TypeVar("Keys", bound=BaseModel)

SchemaPath: TypeAlias = tuple[str | int, ...]
"""The path of a value in an error of the schema, which also names alternatives of a
union."""

_INNER: dict[str, type[BaseModel]] = {
    "aggregate_metric_list": GroupMetricKeys,
    "expected": ExpectedKeys,
    "fewer_inputs": FewerInputsKeys,
    "by_hand": ByHandKeys,
    "filter_list": AnswerFilterKeys,
    "numbers": NumberKeys,
}
"""The schemas of keys whose values are mappings."""

_EXPECTED = {
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
    """A task from a file, with includes resolved and overrides applied."""

    keys: TaskKeys
    document: Document
    prompts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The texts of judges' prompts from a run's record, by metric and name."""
    task_prompt: Mapping[str, Any] | None = None
    """The prompt that a run's record has in the place of the file's prompt."""
    catalogues: tuple[Path, ...] = ()
    """The catalogues of released prompts of a task from a run's record. Those of any
    other task are next to its files."""

    @property
    def name(self) -> str:
        return self.keys.task

    @property
    def version(self) -> str:
        """``metadata.version`` as the file spells it: ``1.10`` is not ``1.1``."""
        return _written(self.document, ("metadata", "version"))

    @property
    def folder(self) -> Path:
        """The folder of the task's own YAML file."""
        return self.document.file.parent

    @property
    def is_recorded(self) -> bool:
        """True if the task comes from a run's record, not from a file."""
        return str(self.document.file).startswith(OF_A_RUN)

    def beside(self, key: str) -> Path:
        """Returns the folder of the file that contains ``key``.

        Paths under ``key`` are relative to this folder.
        """
        return self.document.place((key,)).file.parent

    def subject_at(self, path: KeyPath) -> Subject:
        """Returns the line of a key, or the line of the task if the key is missing."""
        is_written = bool(path) and path in self.document.places
        place = self.document.place(path if is_written else ("task",))
        return Subject(self.name, file=str(place.file), line=place.line)


@dataclass(frozen=True)
class GroupFile:
    """A group from a file. ``members`` are names, or documents of groups and tasks."""

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
    """The file requires another version of mmeval."""


def parse_task(document: Document) -> TaskFile:
    """Parses a task. Raises a TaskFileError that lists all faults with their lines."""
    _check_requirement(document)
    data = document.data
    key = "generation_kwargs"
    problems = list(generation_problems(data.get(key), (key,)))
    roles = data.get("roles")
    if isinstance(roles, Mapping):
        for role, params in roles.items():
            problems += generation_problems(params, ("roles", role))
    what = f"the task {data.get('task', '')!r}"
    return TaskFile(_validated(TaskKeys, document, problems, what), document)


def parse_group(document: Document) -> GroupFile:
    """Parses a group. Raises a TaskFileError that lists all faults with their lines."""
    _check_requirement(document)
    what = f"the group {document.data.get('group', '')!r}"
    return GroupFile(_validated(GroupKeys, document, [], what), document)


def _check_requirement(document: Document) -> None:
    """Checks the required version. Raises RequirementError."""
    # this comes first, since a file for a newer mmeval may have unknown keys
    required = document.data.get("requires_mmeval")
    try:
        is_met = not isinstance(required, str) or satisfies(__version__, required)
    except ValueError as error:
        raise document.error(("requires_mmeval",), str(error)) from None
    if not is_met:
        message = (
            f"this task needs mmeval {required}, but {__version__} is installed; "
            "install a version that matches"
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
            unknown_key = partial(_unknown_key, model, document)
            path, message = problem_of(document, dict(fault), unknown_key)
            # the document already reports an unusable value: do not report its type too
            if path not in refused:
                problems.append((path, message))
    metadata = document.data.get("metadata")
    if isinstance(metadata, Mapping):
        version = metadata.get("version", "")
        is_number = isinstance(version, int | float) and not isinstance(version, bool)
        is_text = isinstance(version, str) and version != ""
        if "version" not in metadata and model is TaskKeys:
            message = f"version is missing: {what} needs one to make scores comparable"
            problems.append((("metadata",), message))
        elif "version" in metadata and not is_number and not is_text:
            problems.append((("metadata", "version"), "must be a number or text"))
    if keys is None or problems:
        faults = document.errors(list(dict.fromkeys(problems)))
        faults.how_to_fix = columns_for(document.data)
        raise faults
    return keys


def generation_problems(params: Any, path: KeyPath) -> Iterator[Problem]:
    """Yields the faults of generation parameters. The schema checks their type."""
    if not isinstance(params, Mapping):
        return
    for key, value in params.items():
        try:
            GenerationParams.from_mapping({key: value})
        except UsageError as error:
            yield (*path, key), str(error)


def problem_of(
    document: Document,
    fault: Mapping[str, Any],
    unknown_key: Callable[[SchemaPath], str],
) -> Problem:
    """Returns the path of a key and a message for an error of the schema.

    ``unknown_key`` returns the message for a key that the schema lacks.
    """
    loc: SchemaPath = fault["loc"]
    path: KeyPath = ()
    for step in loc:  # the schema's path also contains the alternatives of a union
        if (*path, step) in document.places:
            path = (*path, step)
    kind = fault["type"]
    if kind == "extra_forbidden":
        return path, unknown_key(loc)
    if kind == "missing":
        return path, f"{loc[-1]} is missing"
    if kind == "mmeval":
        return path, str(fault["msg"])
    value = fault["input"]
    shown = "nothing"
    if isinstance(value, Mapping):
        shown = "a mapping"
    elif isinstance(value, list):
        shown = "a list" if value else "an empty list"
    elif path in document.places:
        shown = document.place(path).written or "nothing"
    if kind == "string_type" and not isinstance(value, list | dict | type(None)):
        shown += "; put it in quotes"
    expected = fault["msg"]
    if kind in _EXPECTED:
        expected = _EXPECTED[kind].format(**fault.get("ctx", {}))
    # an entry of a list must be a mapping: a name alone is not allowed there
    if kind == "model_type" and path and isinstance(path[-1], int):
        expected = "must be a mapping"
        if "metric" in str(path[0]):
            expected = "must be a mapping such as {metric: NAME}"
    return path, f"{expected}, not {shown}"


def _unknown_key(model: type[BaseModel], document: Document, loc: SchemaPath) -> str:
    key = str(loc[-1])
    if key in REFUSED:
        advice = REFUSED[key]
        columns = [name for name in document.data if name in COLUMNS_OF]
        if key in columns[:1]:  # one message for all of them
            advice = columns_for(document.data)
        return f"is not supported here: {advice}"
    key_names = [*model.model_fields, "include"]
    if len(loc) > 1 and loc[0] in _INNER:
        key_names = list(_INNER[str(loc[0])].model_fields)
    return f"unknown key{did_you_mean(key, key_names)}"


def _written(document: Document, path: KeyPath) -> str:
    value: Any = document.data
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    if value is None:
        return ""
    place = document.places.get(path)
    return place.written if place is not None and place.written else str(value)
