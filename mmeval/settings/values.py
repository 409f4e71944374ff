"""Parses the values of flags, from strings or from values of a configuration file.

Each parser returns the typed value, or raises UsageError with the expected form. The
caller adds the name of the flag to the message.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.aggregate.statistics import FEWEST_DRAWS
from mmeval.backend.batch_size import BatchSize
from mmeval.backend.probe import PROBINGS, Probing
from mmeval.errors import MissingDataError, UsageError, did_you_mean
from mmeval.metric.device import device_fault
from mmeval.system.wording import shortened, split_names

if TYPE_CHECKING:
    from mmeval.broker.cluster.engine import RayEngine
    from mmeval.store.shard import Shard

Reader = Callable[[Any], Any]
"""Parses the value of one flag. A configuration file may contain any YAML value."""

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NAME = re.compile(r"""["']?[\w.-]+["']?""")
_WORDS: Mapping[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "~": None,
}
SWITCH_WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

_REPEATABLE = ("media_root",)
"""Arguments that may be given several times, as some formats of ``replay`` allow.

Their values are collected in a list. For any other argument, the last value is used.
"""


def scalar(text: str) -> Any:
    """Parses one value as in YAML 1.2, or returns the string unchanged.

    Values are true, false, null, numbers, ``[...]``, ``{a: 1}`` and quoted strings.
    Unlike in YAML 1.1, ``no`` and ``1:30`` are strings. Numbers that would change
    remain strings too: ``0012345``, and ``12e4567``, which is too large.
    """
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    if text[:1] in ("[", "{"):
        return _in_brackets(text)
    for quote in ("'", '"'):
        if len(text) > 1 and text.startswith(quote) and text.endswith(quote):
            return text[1:-1]
    return text


def probing(value: Any) -> Probing:
    """Reads when backends are asked what they can do: a switch, or ``full``."""
    for known in PROBINGS:
        # a recorded setting has one of these words
        if str(value).strip().lower() == known:
            return known
    return "needed" if switch(value) else "off"


def _in_brackets(text: str) -> Any:
    """Parses a list or mapping, as JSON or with unquoted words.

    Returns any other string unchanged.
    """
    try:
        return read_json(text)
    except ValueError:
        items = split_outside_brackets(text[1:-1])
    if text.startswith("[") and text.endswith("]"):
        return [scalar(item) for item in items]
    if text.startswith("[") or not text.endswith("}"):
        return text
    mapping: dict[str, Any] = {}
    for item in items:
        name, colon, value = item.partition(": ")
        if not colon or not _NAME.fullmatch(name):
            return text
        mapping[str(scalar(name))] = scalar(value)
    return mapping


def read_json(text: str) -> Any:
    """Parses JSON with finite numbers.

    Raises ValueError for NaN and infinities, which cannot be written to results.
    """
    import json

    def refuse_constant(name: str) -> float:
        raise ValueError(f"{name} is not a JSON number")

    def finite(digits: str) -> float:
        number = float(digits)
        if not math.isfinite(number):
            raise ValueError(f"the number {digits} is too large")
        return number

    return json.loads(text, parse_constant=refuse_constant, parse_float=finite)


def split_outside_brackets(text: str) -> list[str]:
    """Splits a string at commas outside brackets and quotes, and drops empty parts."""
    pieces: list[str] = []
    start = depth = 0
    quote = ""
    for position, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"" and (position == 0 or text[position - 1] in "=,[{ :"):
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in ")}]":
            depth = max(0, depth - 1)
        elif char == "," and not depth:
            pieces.append(text[start:position])
            start = position + 1
    pieces.append(text[start:])
    return [piece.strip() for piece in pieces if piece.strip()]


def text(value: Any) -> str:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    raise UsageError(f"a string is expected, not {value!r}")


def texts(value: Any) -> tuple[str, ...]:
    """Parses several strings, which an environment variable separates by ``;``."""
    return tuple(text(item) for item in _items(value))


def switch(value: Any) -> bool:
    """Parses true or false; a flag without a value is true."""
    if isinstance(value, bool):
        return value
    switched = SWITCH_WORDS.get(str(value).lower())
    if switched is None:
        raise UsageError(f"true or false is expected, not {value!r}")
    return switched


def integer(low: int) -> Reader:
    """Returns a parser of whole numbers of ``low`` or more."""

    def read(value: Any) -> int:
        number = _as_number(value)
        if not isinstance(number, int) or number < low:
            raise UsageError(
                f"a whole number of {low} or more is expected, not {value!r}"
            )
        return number

    return read


def _as_number(value: Any) -> float | int | None:
    """Returns a finite number, given as a number or a string, else None."""
    number = scalar(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return None
    if isinstance(number, float) and not math.isfinite(number):
        return None
    return number


def draws(value: Any) -> int:
    """Parses the number of bootstrap resamples: 0, or enough for an interval."""
    resamples: int = integer(0)(value)
    if 0 < resamples < FEWEST_DRAWS:
        raise UsageError(
            f"0 or a whole number of {FEWEST_DRAWS} or more is expected, not {value!r}"
        )
    return resamples


def number(value: Any) -> float:
    """Parses a finite number of 0 or more."""
    finite = _as_number(value)
    if finite is None or finite < 0:
        raise UsageError(f"a number of 0 or more is expected, not {value!r}")
    return finite


def tolerated(value: Any) -> float:
    """Parses a count of trials, or a share below 1."""
    maximum = number(value)
    if maximum >= 1 and maximum != int(maximum):
        raise UsageError(
            f"{maximum} is neither a whole number of trials nor a share below 1"
        )
    return maximum


def limit(value: Any) -> float | int | None:
    """Parses the samples per task: a count, a share below 1, or ``none`` for all."""
    if value is None or (isinstance(value, str) and scalar(value) is None):
        return None
    amount = _as_number(value)
    if amount is None or amount <= 0:
        raise UsageError(
            "a count of samples, or a share between 0 and 1, is expected, not "
            f"{value!r}"
        )
    if amount >= 1 and amount != int(amount):
        raise UsageError(
            f"{amount} is neither a whole number of samples nor a share below 1"
        )
    return int(amount) if amount >= 1 else amount


def limits(text: str) -> tuple[float, float]:
    """Returns the two ends of a range of scores, such as 0,1."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low = high = math.nan
    if not low < high:
        raise UsageError(f"--range must be LOW,HIGH such as 0,1, not {text!r}")
    return low, high


def seed(value: Any) -> int:
    """Parses one seed, or four as in lm-evaluation-harness, and returns the first.

    The others (numpy, torch, few-shot sampler) must all be 1234, which is their default
    in lm-evaluation-harness, or all be equal to the first seed.
    """
    items = value
    if not isinstance(value, (list, tuple)):
        items = split_outside_brackets(str(value))
    seeds = [scalar(str(item)) for item in items]
    # not isinstance: true and false are integers too
    are_whole = all(type(item) is int for item in seeds)
    if len(seeds) not in (1, 4) or not are_whole:
        raise UsageError(f"one whole number, or four, is expected, not {value!r}")
    first: int = seeds[0]
    other_seeds = set(seeds[1:])
    if other_seeds not in (set(), {1234}, {first}):
        raise UsageError(
            f"only the first seed is used here; write {first} or {first},1234,1234,1234"
        )
    return first


def batch_size(value: Any) -> BatchSize:
    """Parses a batch size, ``auto`` (the backend decides), or ``auto:3``.

    With ``auto:3``, a size that ran out of memory is tried again up to three times.
    """
    auto, colon, growths = str(value).partition(":")
    try:
        if auto == "auto":
            return BatchSize(growths=integer(1)(growths) if colon else 0)
        return BatchSize(rows=integer(1)(value))
    except UsageError:
        raise UsageError(
            f"auto, auto:N or a whole number of 1 or more is expected, not {value!r}"
        ) from None


def path(value: Any) -> Path:
    if not isinstance(value, (str, Path)) or not str(value):
        raise UsageError(f"a path is expected, not {value!r}")
    return Path(value).expanduser()


def paths(value: Any) -> tuple[Path, ...]:
    """Parses several paths; in an environment variable they are separated by ``;``."""
    return tuple(path(item) for item in _items(value))


def words(value: Any) -> tuple[str, ...]:
    """Parses names separated by commas or spaces, without duplicates.

    Paths are not split.
    """
    return split_names(text(item) for item in _as_list(value))


def arguments(value: Any) -> dict[str, Any]:
    """Parses ``k=v,k2=v2`` (YAML scalars), JSON, a file or a mapping; merges several.

    ``media_root`` may be given several times.
    """
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        merged: dict[str, Any] = {}
        for item in value:
            for name, argument in arguments(item).items():
                _add_argument(merged, name, argument)
        return merged
    stripped = text(value).strip()
    if stripped.startswith("{"):
        return json_object(stripped)
    if "=" not in stripped and stripped.endswith((".yaml", ".yml", ".json")):
        return file_object(Path(stripped).expanduser())
    parsed: dict[str, Any] = {}
    previous = ""
    for piece in split_outside_brackets(stripped):
        key, equals, value_text = piece.partition("=")
        if not equals or not key.strip():
            after = f" after {previous!r}" if previous else ""
            raise UsageError(
                f"{piece!r}{after} is not NAME=VALUE; write lists as NAME=[a,b] and "
                "strings with commas in quotes"
            )
        previous = key.strip()
        _add_argument(parsed, previous, scalar(value_text))
    return parsed


def json_object(value: Any) -> dict[str, Any]:
    """Parses a JSON object, a file that contains one, or a mapping."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        joined = " ".join(str(item) for item in value)
    else:
        joined = text(value)
    if joined.strip().endswith((".json", ".yaml", ".yml")):
        return file_object(Path(joined.strip()).expanduser())
    try:
        parsed = read_json(joined)
    except ValueError as error:
        raise UsageError(
            f"a JSON object is expected, not {joined!r} ({error})"
        ) from None
    if not isinstance(parsed, dict):
        raise UsageError(f"a JSON object is expected, not {joined!r}")
    return parsed


def file_object(file: Path) -> dict[str, Any]:
    """Reads the mapping in a YAML or JSON file.

    Raises UsageError for non-finite numbers.
    """
    from mmeval.system.yaml_document import read_document

    if not file.is_file():
        raise MissingDataError(f"{file} does not exist")
    return dict(read_document(file).data)


def samples(value: Any) -> dict[str, tuple[int, ...]]:
    """Parses a map of task names to sample indices, counted from 0."""
    chosen: dict[str, tuple[int, ...]] = {}
    for task, indices in json_object(value).items():
        is_list = isinstance(indices, (list, tuple))
        # not isinstance: true and false are integers too
        if not is_list or not all(
            type(index) is int and index >= 0 for index in indices
        ):
            raise UsageError(
                f"{task!r} needs a list of indices of 0 or more, not {indices!r}"
            )
        chosen[task] = tuple(indices)
    return chosen


def shard(value: Any) -> Shard:
    """Parses ``I/N`` with I from 1 to N, or ``auto`` for the part of a cluster job."""
    from mmeval.settings.job import shard_at, shard_of_job

    if value == "auto":
        return shard_of_job(os.environ)
    number, _, of = str(value).partition("/")
    # int() raises an error for thousands of digits
    is_short = max(len(number), len(of)) < 20
    is_number = is_short and number.isdecimal() and of.isdecimal()
    if not is_number or not 1 <= int(number) <= int(of):
        raise UsageError(
            "I/N with I from 1 to N is expected, as in 1/8, or auto, not "
            f"{shortened(repr(value), 60)}"
        )
    return shard_at(int(number), int(of))


def switches(value: Any) -> dict[str, dict[str, Any]]:
    """Parses a map of metric names to their switches."""
    by_metric = json_object(value)
    for name, switches_of_metric in by_metric.items():
        if not isinstance(switches_of_metric, dict):
            raise UsageError(
                f"{name!r} needs an object of switches, not {switches_of_metric!r}"
            )
    return by_metric


def reasoning_tags(value: Any) -> tuple[str, str] | None:
    """Parses two tags, as in ``<think>,</think>``, or ``none`` to keep reasoning."""
    parsed = scalar(value) if isinstance(value, str) else value
    if parsed is None or parsed is False:
        return None
    items = parsed
    if not isinstance(parsed, (list, tuple)):
        items = split_outside_brackets(str(parsed))
    if len(items) == 1 and isinstance(items[0], (list, tuple)):
        items = items[0]
    tags = [item for item in items if isinstance(item, str) and item]
    if len(items) != 2 or len(set(tags)) != 2:
        raise UsageError(
            "an opening and a closing tag are expected, as in '<think>,</think>', "
            f"not {value!r}"
        )
    return (tags[0], tags[1])


def roles(
    value: Any,
) -> dict[str, tuple[str, dict[str, Any]]]:
    """Parses roles: ``NAME=BACKEND[,k=v...]``, ``NAME=FILE.yaml``, or a mapping.

    Several roles are separated by ``;`` in an environment variable. A mapping, as in a
    file, has names as keys; its values are ``BACKEND[,k=v...]`` or ``{backend: ..., k:
    v}``.
    """
    by_role: dict[str, tuple[str, dict[str, Any]]] = {}
    if isinstance(value, Mapping):
        for key, spec in value.items():
            by_role[str(key)] = _backend(str(key), spec)
        return by_role
    for item in _items(value):
        name, equals, backend_text = text(item).partition("=")
        if not equals or not name.strip():
            raise UsageError(f"NAME=BACKEND[,k=v...] is expected, not {item!r}")
        if name.strip() in by_role:
            raise UsageError(f"the role {name.strip()!r} is given twice")
        by_role[name.strip()] = _backend(name.strip(), backend_text)
    return by_role


def backend(value: Any) -> tuple[str, dict[str, Any]]:
    """Parses a backend: ``BACKEND[,k=v...]``, a file, or a mapping with ``backend``."""
    return _backend("", value)


def loggers(value: Any) -> dict[str, dict[str, Any]]:
    """Parses loggers: ``NAME[,k=v...]``, or a mapping of names to arguments.

    Several loggers are separated by ``;`` in an environment variable.
    """
    by_name: dict[str, dict[str, Any]] = {}
    if isinstance(value, Mapping):
        for key, logger_arguments in value.items():
            by_name[str(key)] = arguments(logger_arguments or {})
        return by_name
    for item in _items(value):
        name, _, arguments_text = text(item).partition(",")
        if not name.strip() or "=" in name or name.strip() in by_name:
            raise UsageError(
                f"must be NAME[,k=v...], with each name only once, not {item!r}"
            )
        by_name[name.strip()] = (
            arguments(arguments_text) if arguments_text.strip() else {}
        )
    return by_name


def device(value: Any) -> str:
    """Parses the device of the metrics' models: ``auto``, or a device as in torch."""
    name = text(value).strip().lower()
    expected = device_fault(name)
    if expected:
        raise UsageError(f"{expected} is expected, not {value!r}")
    return name


def engine(value: Any) -> RayEngine | None:
    """Parses ``local`` (returns None), or ``ray`` with its arguments."""
    from mmeval.broker.cluster.engine import LOCAL, RAY, RayEngine

    name, args = _backend("", value)
    if name == LOCAL and not args:
        return None
    if name != RAY:
        raise UsageError(
            "must be local or ray[,k=v...], not "
            f"{value!r}{did_you_mean(name, (LOCAL, RAY))}"
        )
    return RayEngine.of(args)


def level(value: Any) -> str:
    """Parses the name of a log level, in upper or lower case."""
    name = str(value).upper()
    if name not in LEVELS:
        raise UsageError(f"one of {', '.join(LEVELS)} is expected, not {value!r}")
    return name


def _add_argument(
    arguments: dict[str, Any],
    name: str,
    value: Any,
) -> None:
    """Adds an argument to the earlier arguments."""
    if name in _REPEATABLE and name in arguments:
        arguments[name] = [*_as_list(arguments[name]), *_as_list(value)]
    else:
        arguments[name] = value


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _backend(role: str, spec: Any) -> tuple[str, dict[str, Any]]:
    if role == "model":
        raise UsageError("the role 'model' is set with --model and --model_args")
    if isinstance(spec, str) and "=" not in spec:
        file = spec.strip()
        if file.endswith((".yaml", ".yml", ".json")):
            spec = file_object(Path(file).expanduser())
    if isinstance(spec, Mapping):
        args = {str(key): item for key, item in spec.items()}
        name = args.pop("backend", "")
    else:
        name, _, arguments_text = text(spec).partition(",")
        args = arguments(arguments_text) if arguments_text.strip() else {}
    if isinstance(name, str) and name.strip():
        return name.strip(), args
    if role:
        raise UsageError(f"the role {role!r} has no backend; name one")
    raise UsageError("the name of a backend is missing")


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, (list, tuple)):
        return value
    return [item for item in str(value).split(";") if item.strip()]
