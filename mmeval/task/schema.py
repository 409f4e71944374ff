"""The keys of task files and group files, with their types. Other keys are errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)
from pydantic_core import PydanticCustomError

from mmeval.errors import did_you_mean
from mmeval.media.parts import PART_KINDS
from mmeval.media.placeholders import SPELLINGS
from mmeval.metric.profiles import Profile
from mmeval.system.version_requirement import satisfies

PER_SAMPLE = "per_sample"
"""The value of ``output_modalities`` for kinds that differ per sample.

The kinds are in each sample's metadata under ``output_modalities``."""


MAX_REPEATS = 10_000


def _fault(message: str) -> PydanticCustomError:
    return PydanticCustomError("mmeval", "{message}", {"message": message})


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _text_is(key: str) -> BeforeValidator:
    """Converts a string to a mapping with this key."""
    return BeforeValidator(
        lambda value: {key: value} if isinstance(value, str) else value
    )


def _matches(pattern: str, what: str) -> AfterValidator:
    def check(value: str) -> str:
        if not re.fullmatch(pattern, value, re.ASCII):
            raise _fault(f"{value!r} is not {what}")
        return value

    return AfterValidator(check)


def _is_kind(value: str) -> str:
    if value == "reasoning" or value not in PART_KINDS:
        kinds = [kind for kind in PART_KINDS if kind != "reasoning"]
        raise _fault(
            f"unknown kind of part {value!r}{did_you_mean(value, kinds)} (known: "
            f"{', '.join(kinds)})"
        )
    return value


def _is_output_kind(value: str) -> str:
    return value if value == PER_SAMPLE else _is_kind(value)


def _is_spelling(value: str) -> str:
    if value not in SPELLINGS:
        raise _fault(
            f"unknown placeholder spelling {value!r}{did_you_mean(value, SPELLINGS)}"
        )
    return value


def _is_specifier(value: str) -> str:
    try:
        satisfies("0", value)
    except ValueError as error:
        raise _fault(str(error)) from None
    return value


def _is_unique(values: list[str]) -> list[str]:
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise _fault(f"names {', '.join(twice)} more than once")
    return values


def _has_no_template_names(values: list[str]) -> list[str]:
    reserved = [value for value in values if value in ("id", "input")]
    if reserved:
        raise _fault(
            f"{reserved[0]!r} is already a variable of every template; rename that "
            "label in the data"
        )
    return values


def _is_filter(values: dict[str, Any]) -> dict[str, Any]:
    for label, allowed in values.items():
        options = allowed if isinstance(allowed, list) else [allowed]
        if any(isinstance(option, dict | list) for option in options):
            raise _fault(f"the label {label!r} must have a value or a list of values")
    return values


def _is_members(values: list[Any]) -> list[Any]:
    for value in values:
        is_inline = isinstance(value, dict) and ("task" in value or "group" in value)
        if not isinstance(value, str) and not is_inline:
            raise _fault(
                "must only contain names, inline groups {group: ...} and overrides "
                "{task: NAME, ...}"
            )
    return values


def _is_loader_options(values: dict[str, Any]) -> dict[str, Any]:
    if "trust_remote_code" in values:
        raise _fault(
            "trust_remote_code is not supported, because scripts of data sets are "
            "never run; register a loader"
        )
    return values


def _is_inner_path(value: str) -> str:
    path = PurePosixPath(value)
    leads_out = ".." in path.parts or path.is_absolute()
    is_of_windows = "\\" in value or PureWindowsPath(value).drive
    if not path.parts or leads_out or is_of_windows:
        raise _fault(f"{value!r} is not a path inside the data folder, written with /")
    return value


Name = Annotated[
    str,
    _matches(r"[A-Za-z0-9_][\w.+-]*", "a name: letters, digits and _ . + - only"),
]
Digest = Annotated[
    str, _matches(r"[0-9a-f]{64}", "a SHA-256: 64 lowercase hexadecimal digits")
]
KindName = Annotated[str, AfterValidator(_is_kind)]
NameList = Annotated[list[str], BeforeValidator(_as_list), AfterValidator(_is_unique)]


class _Keys(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False
    )


class _OpenKeys(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    @property
    def options(self) -> dict[str, Any]:
        """The keys that the schema does not name."""
        return dict(self.model_extra or {})


class PluginKeys(_OpenKeys):
    """A plugin by name, or ``{name, ...options}``."""

    name: str


class ColumnsKeys(_OpenKeys):
    """``columns``: templates that make samples from rows. All other keys are labels."""

    input: str = ""
    id: str = ""
    reference: str = ""
    references: NameList = []


class PromptKeys(_OpenKeys):
    """``prompt``: a template, ``{system, user}``, or ``{function, ...options}``."""

    system: str | None = None
    user: str | None = None
    function: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> PromptKeys:
        if self.function is None and self.options:
            name = next(iter(self.options))
            raise _fault(
                "unknown key "
                f"{name!r}{did_you_mean(name, ('system', 'user', 'function'))}"
            )
        has_template = self.system is not None or self.user is not None
        if self.function is not None and has_template:
            raise _fault("must contain either function, or system and user, not both")
        if self.function is None and not has_template:
            raise _fault("needs user, system, or function")
        return self


class MetricKeys(_OpenKeys):
    """An entry of ``metric_list``. Other keys are switches of the metric."""

    metric: str
    aggregation: Annotated[PluginKeys, _text_is("name")] = PluginKeys(name="mean")
    higher_is_better: bool | None = None
    asks: dict[str, Name] = {}

    @property
    def switches(self) -> dict[str, Any]:
        return self.options


class FilterStepKeys(_OpenKeys):
    """A step of an answer filter. Other keys are its options."""

    function: str


class AnswerFilterKeys(_Keys):
    """An entry of ``filter_list``: a pipeline of steps with a name."""

    name: Annotated[str, Field(min_length=1)]
    filter: Annotated[list[FilterStepKeys], Field(min_length=1)]


class NumberKeys(_Keys):
    """An entry of ``numbers``.

    ``of`` names outputs of the task's metrics. ``missing`` is the rule for an output
    without scores.
    """

    number: Name
    of: Annotated[NameList, Field(min_length=1)]
    combine: Literal["mean"] = "mean"
    missing: Literal["skip", "inapplicable", "unknown"] = "unknown"


Count = Annotated[int, Field(ge=0)]
InnerPath = Annotated[str, AfterValidator(_is_inner_path)]


class ExpectedKeys(_Keys):
    """``expected``: the contents of the whole data set.

    - ``rows``: the number of rows before the filter.
    - ``samples``: the number of samples after the filter.
    - ``media``: the number of different files of each kind in inputs and references.
    - ``totals``: the sums of labels over all rows.
    - ``files``: SHA-256 digests by path.
    """

    rows: Count | None = None
    samples: Count | None = None
    media: dict[KindName, Count] = {}
    totals: dict[str, Count] = {}
    files: dict[InnerPath, Digest] = {}


class GroupExpectedKeys(_Keys):
    """``expected`` of a group: the contents of the data of all its tasks.

    A row or file that several tasks share is counted once.
    """

    rows: Count | None = None
    media: dict[KindName, Count] = {}


class ByHandKeys(_Keys):
    """An entry of ``by_hand``: a path in the data folder that the user must supply."""

    path: InnerPath
    source: Annotated[str, Field(min_length=1)]
    note: str = ""


class FewerInputsKeys(_Keys):
    """``fewer_inputs``: how to reduce a sample that a model does not accept."""

    video_frames: Annotated[int, Field(ge=0, le=1000)] = 0
    first_picture: bool = False


class TaskKeys(_Keys):
    """The keys of a task."""

    task: Name
    task_alias: str | None = None
    tag: NameList = []
    dataset_path: str = ""
    dataset_name: Annotated[
        str, BeforeValidator(lambda value: "" if value is None else value)
    ] = ""
    dataset_kwargs: Annotated[dict[str, Any], AfterValidator(_is_loader_options)] = {}
    test_split: str = "test"
    revision: str = ""
    bundled: str = "bundled"
    expected: ExpectedKeys = ExpectedKeys()
    by_hand: list[ByHandKeys] = []
    loader: str = "interleaved"
    columns: ColumnsKeys = ColumnsKeys()
    prompt: Annotated[PromptKeys | None, _text_is("user")] = None
    prompt_fields: Annotated[NameList, AfterValidator(_has_no_template_names)] = []
    protocol: Annotated[PluginKeys, _text_is("name")] = PluginKeys(name="single")
    input_modalities: Annotated[list[KindName], AfterValidator(_is_unique)] = []
    fewer_inputs: FewerInputsKeys = FewerInputsKeys()
    output_modalities: Annotated[
        list[Annotated[str, AfterValidator(_is_output_kind)]],
        BeforeValidator(_as_list),
        Field(min_length=1),
        AfterValidator(_is_unique),
    ] = ["text"]
    partial_output: bool = False
    blocks: bool = False
    placeholders: Annotated[
        list[Annotated[str, AfterValidator(_is_spelling)]], AfterValidator(_is_unique)
    ] = []
    filter: Annotated[dict[str, Any], AfterValidator(_is_filter)] = {}
    breakdown: NameList = []
    roles: dict[str, dict[str, Any]] = {}
    profile: Profile = "standard"
    missing_output: float | None = None
    cluster_key: str = ""
    requires_mmeval: Annotated[str, AfterValidator(_is_specifier)] = ""
    generation_kwargs: dict[str, Any] = {}
    repeats: int = Field(default=1, ge=1, le=MAX_REPEATS)
    filter_list: list[AnswerFilterKeys] = []
    metric_list: list[MetricKeys] = []
    numbers: list[NumberKeys] = []
    layout: str = ""
    metadata: dict[str, Any]


ABOUT_DATA = ("expected", "by_hand")
"""Keys that describe the data for checks after a download. Scores do not depend on
them."""


class GroupMetricKeys(_Keys):
    """An entry of a group's ``aggregate_metric_list``."""

    metric: str
    aggregation: Literal["mean"] = "mean"
    weight_by_size: bool = False
    absent: Literal["left_out", "zero"] = "left_out"


class GroupKeys(_Keys):
    """The keys of a group.

    ``task`` is a list of names, inline groups and ``{task: name, ...overrides}``.
    """

    group: Name
    group_alias: str | None = None
    task: Annotated[
        list[Any],
        BeforeValidator(_as_list),
        Field(min_length=1),
        AfterValidator(_is_members),
    ]
    tag: NameList = []
    aggregate_metric_list: list[GroupMetricKeys] = []
    layout: str = ""
    expected: GroupExpectedKeys = GroupExpectedKeys()
    requires_mmeval: Annotated[str, AfterValidator(_is_specifier)] = ""
    metadata: dict[str, Any] = {}


COLUMNS_OF = {
    "doc_to_image": ("input", "{{ image }}"),
    "doc_to_visual": ("input", "{{ image }}"),
    "doc_to_audio": ("input", "{{ audio }}"),
    "doc_to_text": ("input", "{{ question }}"),
    "doc_to_target": ("reference", "{{ answer }}"),
    "doc_to_choice": ("options", "{{ choices }}"),
}
"""Keys of lm-evaluation-harness and lmms-eval, with the equivalent column and an
example of its value."""

_ROWS = (
    'a loader makes samples from rows; name one under "loader" (mmeval ls loaders '
    "lists them)"
)
_SHOTS = 'examples are not drawn from the data; write them into "prompt"'
_SPLIT = 'a task reads only one split; name it under "test_split"'

REFUSED: dict[str, str] = {
    **dict.fromkeys(COLUMNS_OF, 'use "columns" of "loader: datasets"'),
    "doc_to_messages": _ROWS,
    "doc_to_parts": _ROWS,
    "process_docs": 'use "filter" to choose rows, or a loader to change them',
    "custom_dataset": _ROWS,
    "process_results": 'register a metric and name it in "metric_list"',
    "output_type": 'use "output_modalities"; every answer is generated',
    "num_fewshot": _SHOTS,
    "fewshot_split": _SHOTS,
    "fewshot_config": _SHOTS,
    "fewshot_delimiter": _SHOTS,
    "target_delimiter": _SHOTS,
    "training_split": _SPLIT,
    "validation_split": _SPLIT,
    "description": 'use "prompt: {system: ..., user: ...}"',
    "gen_prefix": 'use "prompt"',
    "use_prompt": 'use "prompt"',
    "unsafe_code": "a task file cannot allow code to run; the sandbox decides",
    "should_decontaminate": "mmeval does not decontaminate; remove the key",
    "doc_to_decontamination_query": "mmeval does not decontaminate; remove the key",
    "judge": 'use "roles: {judge: {...}}" for its parameters and --judge BACKEND for '
    "the "
    "model",
    "class": "a task is a file; register a loader, a prompt or a protocol for what "
    "YAML cannot express",
    "lmms_eval_specific_kwargs": "a task sends every model the same prompt",
    "model_specific_prompt_kwargs": "a task sends every model the same prompt",
    "model_specific_generation_kwargs": "a task uses the same parameters for every "
    'model; use "generation_kwargs"',
    "weight_by_size": 'move it to an entry of "aggregate_metric_list"',
}
"""Unsupported keys of other harnesses, with what to use instead."""


_SHOTS_KEYS = (
    "num_fewshot",
    "fewshot_split",
    "fewshot_config",
    "fewshot_delimiter",
    "target_delimiter",
)


def without_harmless(data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a file's keys without lm-evaluation-harness keys that change nothing.

    Such keys are ``output_type: generate_until``, and keys about examples if
    ``num_fewshot`` is 0.
    """
    harmless: tuple[str, ...] = ()
    if data.get("output_type") == "generate_until":
        harmless = ("output_type",)
    if data.get("num_fewshot") == 0 and not isinstance(data["num_fewshot"], bool):
        harmless += _SHOTS_KEYS
    return {key: value for key, value in data.items() if key not in harmless}


_WORDS_OF_ROWS = {"doc_to_text": "input", "doc_to_target": "reference"}


def with_columns(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replaces ``doc_to_*`` keys of lm-evaluation-harness by equivalent ``columns``.

    The keys are replaced if ``doc_to_text`` and ``doc_to_target`` are templates or
    names of columns and there are no other keys about rows. Keys for pictures, choices
    and code stay in the file. They cause errors that show the columns to write.
    """
    others = COLUMNS_OF.keys() - _WORDS_OF_ROWS.keys() | {"loader", "columns"}
    if others & data.keys():
        return data
    columns: dict[str, str] = {}
    for key, column in _WORDS_OF_ROWS.items():
        template = _as_template(data.get(key))
        if not template:
            return data
        columns[column] = template
    remaining = {key: value for key, value in data.items() if key not in _WORDS_OF_ROWS}
    return {**remaining, "loader": "datasets", "columns": columns}


def _as_template(written: object) -> str:
    """Returns the template for a value of ``doc_to_*``.

    A template is returned unchanged. A column's name becomes ``{{ name }}``. For code
    and other values, an empty string is returned.
    """
    if not isinstance(written, str):
        return ""
    if "{{" in written or "{%" in written:
        return written
    return f"{{{{ {written} }}}}" if written.isidentifier() else ""


def columns_for(data: Mapping[str, Any]) -> str:
    """Returns the YAML that replaces the ``doc_to_*`` keys of a file.

    Templates and names of columns are kept, and code becomes an example. Returns an
    empty string for a file without such keys.
    """
    columns: dict[str, Any] = {}
    for key, (column, example) in COLUMNS_OF.items():
        if key not in data:
            continue
        written = _as_list(data[key])
        if not isinstance(written, list) or not all(
            isinstance(item, str) for item in written
        ):
            written = [example]
        if column == "options" and isinstance(data[key], list):
            columns[column] = written
            continue
        texts = [_as_template(item) or example for item in written]
        if columns.get(column):
            texts.insert(0, columns[column])
        columns[column] = " ".join(texts)
    if not columns:
        return ""
    yaml = json.dumps(columns, ensure_ascii=False)
    return f'write "loader: datasets" and columns: {yaml}'
