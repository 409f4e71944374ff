"""Readers of flag values, from text or from a value of a configuration file.

Each returns the typed value, or raises UsageError with what was expected. The caller
adds the name of the flag.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.aggregate.statistics import FEWEST_DRAWS
from mmeval.backend.batch_size import BatchSize
from mmeval.broker.cluster.engine import LOCAL, RAY, RayEngine
from mmeval.errors import MissingDataError, UsageError, did_you_mean
from mmeval.metric.device import device_fault
from mmeval.settings.job import shard_at, shard_of_job
from mmeval.store.shard import Shard
from mmeval.system.wording import shortened, split_names

Reader = Callable[[Any], Any]
"""Reads one flag; ``Any`` because a configuration file may hold any YAML value."""

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
"""Arguments that may be given several times, as of the formats of ``replay``: their
values are a list. Of any other the last value counts."""


def scalar(text: str) -> Any:
    """One value as YAML 1.2 reads it; else the text itself. Values are true, false,
    null, numbers, ``[...]``, ``{a: 1}`` and quoted text. Unlike in YAML 1.1, ``no`` is
    a word and ``1:30`` is text. So are numbers that would change: ``0012345``, and
    ``12e4567``, which is too large."""
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


def _in_brackets(text: str) -> Any:
    """A list or a mapping in JSON, or with words that are not quoted; else the text
    itself."""
    try:
        return read_json(text)
    except ValueError:
        items = split_outside_brackets(text[1:-1])
    if text.startswith("[") and text.endswith("]"):
        return [scalar(item) for item in items]
    if text.startswith("[") or not text.endswith("}"):
        return text
    found: dict[str, Any] = {}
    for item in items:
        name, colon, value = item.partition(": ")
        if not colon or not _NAME.fullmatch(name):
            return text
        found[str(scalar(name))] = scalar(value)
    return found


def read_json(text: str) -> Any:
    """Parse JSON whose numbers are finite; NaN and Infinity are not JSON.
    They cannot be written in results: raises ValueError."""
    import json

    def refuse_constant(name: str) -> float:
        raise ValueError(f"{name} is not a JSON number")

    def finite(spelt: str) -> float:
        number = float(spelt)
        if not math.isfinite(number):
            raise ValueError(f"{spelt} is too large for a number")
        return number

    return json.loads(text, parse_constant=refuse_constant, parse_float=finite)


def split_outside_brackets(text: str) -> list[str]:
    """Split a text at commas outside of brackets and quotes, without empty pieces."""
    pieces: list[str] = []
    start = depth = 0
    quote = ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"" and (at == 0 or text[at - 1] in "=,[{ :"):
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in ")}]":
            depth = max(0, depth - 1)
        elif char == "," and not depth:
            pieces.append(text[start:at])
            start = at + 1
    pieces.append(text[start:])
    return [piece.strip() for piece in pieces if piece.strip()]


def text(value: Any) -> str:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    raise UsageError(f"a text is expected, not {value!r}")


def switch(value: Any) -> bool:
    """True or false; a flag without a value is true."""
    if isinstance(value, bool):
        return value
    known = SWITCH_WORDS.get(str(value).lower())
    if known is None:
        raise UsageError(f"true or false is expected, not {value!r}")
    return known


def integer(low: int) -> Reader:
    """A reader of whole numbers from ``low`` on."""

    def read(value: Any) -> int:
        found = _as_number(value)
        if not isinstance(found, int) or found < low:
            raise UsageError(
                f"a whole number of {low} or more is expected, not {value!r}"
            )
        return found

    return read


def _as_number(value: Any) -> float | int | None:
    """A finite number that is given itself or as a text; else None."""
    found = scalar(value) if isinstance(value, str) else value
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return None
    if isinstance(found, float) and not math.isfinite(found):
        return None
    return found


def draws(value: Any) -> int:
    """A number of resamples: none, or enough of them to read an interval from."""
    found: int = integer(0)(value)
    if 0 < found < FEWEST_DRAWS:
        raise UsageError(
            f"0 or a whole number of {FEWEST_DRAWS} or more is expected, not {value!r}"
        )
    return found


def number(value: Any) -> float:
    """A finite number of 0 or more."""
    found = _as_number(value)
    if found is None or found < 0:
        raise UsageError(f"a number of 0 or more is expected, not {value!r}")
    return found


def tolerated(value: Any) -> float:
    """A count of trials, or below 1 a share."""
    found = number(value)
    if found >= 1 and found != int(found):
        raise UsageError(
            f"{found} is neither a whole number of trials nor a share below 1"
        )
    return found


def limit(value: Any) -> float | int | None:
    """Samples a task: a whole count, a share below 1, or ``none`` for no limit."""
    if value is None or (isinstance(value, str) and scalar(value) is None):
        return None
    found = _as_number(value)
    if found is None or found <= 0:
        raise UsageError(
            "a count of samples, or a share between 0 and 1, is expected, not "
            f"{value!r}"
        )
    if found >= 1 and found != int(found):
        raise UsageError(
            f"{found} is neither a whole number of samples nor a share below 1"
        )
    return int(found) if found >= 1 else found


def seed(value: Any) -> int:
    """One seed, or four as in lm-evaluation-harness, of which the first is used.
    The others, of numpy, torch and the few-shot sampler, must be their default there
    (1234) or equal to the first."""
    items = value
    if not isinstance(value, (list, tuple)):
        items = split_outside_brackets(str(value))
    seeds = [scalar(str(item)) for item in items]
    # type: neither true nor false
    are_whole = all(type(item) is int for item in seeds)
    if len(seeds) not in (1, 4) or not are_whole:
        raise UsageError(f"one whole number, or four, is expected, not {value!r}")
    first: int = seeds[0]
    others = set(seeds[1:])
    if others not in (set(), {1234}, {first}):
        raise UsageError(
            f"only the first seed has a use here; write {first} or "
            f"{first},1234,1234,1234"
        )
    return first


def batch_size(value: Any) -> BatchSize:
    """A size, ``auto`` (the backend decides), or ``auto:3``.
    The latter tries a size that ran out of memory three times again."""
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
    """Several paths; the environment separates them by ``;``."""
    return tuple(path(item) for item in _items(value))


def words(value: Any) -> tuple[str, ...]:
    """Names between commas or blanks, once each; a file's or folder's stays whole."""
    return split_names(text(item) for item in _as_list(value))


def arguments(value: Any) -> dict[str, Any]:
    """``k=v,k2=v2`` (YAML scalars), JSON, a file, or a mapping; merged in order.
    ``media_root`` may be given several times."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        merged: dict[str, Any] = {}
        for item in value:
            for name, argument in arguments(item).items():
                _add_argument(merged, name, argument)
        return merged
    spelt = text(value).strip()
    if spelt.startswith("{"):
        return json_object(spelt)
    if "=" not in spelt and spelt.endswith((".yaml", ".yml", ".json")):
        return file_object(Path(spelt).expanduser())
    found: dict[str, Any] = {}
    last = ""
    for piece in split_outside_brackets(spelt):
        key, equals, written = piece.partition("=")
        if not equals or not key.strip():
            after = f" after {last!r}" if last else ""
            raise UsageError(
                f"{piece!r}{after} is not NAME=VALUE; write lists as NAME=[a,b] and "
                "texts in quotes"
            )
        last = key.strip()
        _add_argument(found, last, scalar(written))
    return found


def json_object(value: Any) -> dict[str, Any]:
    """A JSON object, a file that holds one, or a mapping."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        spelt = " ".join(str(item) for item in value)
    else:
        spelt = text(value)
    if spelt.strip().endswith((".json", ".yaml", ".yml")):
        return file_object(Path(spelt.strip()).expanduser())
    try:
        found = read_json(spelt)
    except ValueError as error:
        raise UsageError(
            f"a JSON object is expected, not {spelt!r} ({error})"
        ) from None
    if not isinstance(found, dict):
        raise UsageError(f"a JSON object is expected, not {spelt!r}")
    return found


def file_object(file: Path) -> dict[str, Any]:
    """The mapping in a YAML or JSON file. Numbers that are not finite are refused."""
    from mmeval.system.yaml_document import read_document

    if not file.is_file():
        raise MissingDataError(f"{file} does not exist")
    return dict(read_document(file).data)


def samples(value: Any) -> dict[str, tuple[int, ...]]:
    """A map of task names to indices of samples, counted from 0."""
    found: dict[str, tuple[int, ...]] = {}
    for task, indices in json_object(value).items():
        is_list = isinstance(indices, (list, tuple))
        # type: neither true nor a number that is written as a text
        if not is_list or not all(type(at) is int and at >= 0 for at in indices):
            raise UsageError(
                f"{task!r} needs a list of indices from 0 on, not {indices!r}"
            )
        found[task] = tuple(indices)
    return found


def shard(value: Any) -> Shard:
    """``I/N``, I from 1 to N, or ``auto``: what the job says that this process is a
    part of."""
    if value == "auto":
        return shard_of_job(os.environ)
    number, _, of = str(value).partition("/")
    is_short = max(len(number), len(of)) < 20
    is_number = is_short and number.isdecimal() and of.isdecimal()
    if not is_number or not 1 <= int(number) <= int(of):
        raise UsageError(
            "I/N with I from 1 to N is expected, as in 1/8, or auto, not "
            f"{shortened(repr(value), 60)}"
        )
    return shard_at(int(number), int(of))


def switches(value: Any) -> dict[str, dict[str, Any]]:
    """A map of metric names to their switches."""
    found = json_object(value)
    for name, given in found.items():
        if not isinstance(given, dict):
            raise UsageError(f"{name!r} needs an object of switches, not {given!r}")
    return found


def reasoning_tags(value: Any) -> tuple[str, str] | None:
    """``<think>,</think>``, that as a list, or ``none`` to keep reasoning in
    answers."""
    found = scalar(value) if isinstance(value, str) else value
    if found is None or found is False:
        return None
    items = found
    if not isinstance(found, (list, tuple)):
        items = split_outside_brackets(str(found))
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
    """``NAME=BACKEND[,k=v...]`` or ``NAME=FILE.yaml``, several of them, or a mapping.
    The environment separates them by ``;``. A mapping, as in a file, is of names to
    such texts or to ``{backend: ..., k: v}``."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    if isinstance(value, Mapping):
        for key, spec in value.items():
            found[str(key)] = _backend(str(key), spec)
        return found
    for item in _items(value):
        name, equals, given = text(item).partition("=")
        if not equals or not name.strip():
            raise UsageError(f"NAME=BACKEND[,k=v...] is expected, not {item!r}")
        if name.strip() in found:
            raise UsageError(f"the role {name.strip()!r} is given twice")
        found[name.strip()] = _backend(name.strip(), given)
    return found


def backend(value: Any) -> tuple[str, dict[str, Any]]:
    """One backend: ``BACKEND[,k=v...]``, a file, or a mapping with ``backend``."""
    return _backend("", value)


def loggers(value: Any) -> dict[str, dict[str, Any]]:
    """``NAME[,k=v...]``, one or several, or a mapping of names to arguments.
    The environment separates them by ``;``."""
    found: dict[str, dict[str, Any]] = {}
    if isinstance(value, Mapping):
        for key, given in value.items():
            found[str(key)] = arguments(given or {})
        return found
    for item in _items(value):
        name, _, spelt = text(item).partition(",")
        if not name.strip() or "=" in name or name.strip() in found:
            raise UsageError(f"NAME[,k=v...] is expected, each name once, not {item!r}")
        found[name.strip()] = arguments(spelt) if spelt.strip() else {}
    return found


def device(value: Any) -> str:
    """The device of the models of metrics: ``auto``, or a device as torch writes it."""
    spelt = text(value).strip().lower()
    wanted = device_fault(spelt)
    if wanted:
        raise UsageError(f"{wanted} is expected, not {value!r}")
    return spelt


def engine(value: Any) -> RayEngine | None:
    """``local``, which is None, or ``ray`` with its arguments."""
    name, args = _backend("", value)
    if name == LOCAL and not args:
        return None
    if name != RAY:
        raise UsageError(
            "local, or ray[,k=v...], is expected, not "
            f"{value!r}{did_you_mean(name, (LOCAL, RAY))}"
        )
    return RayEngine.of(args)


def level(value: Any) -> str:
    """A log level by its name, in either case."""
    name = str(value).upper()
    if name not in LEVELS:
        raise UsageError(f"one of {', '.join(LEVELS)} is expected, not {value!r}")
    return name


def _add_argument(
    found: dict[str, Any],
    name: str,
    value: Any,
) -> None:
    """Add an argument to those before it; ``Any``: each has its own type."""
    if name in _REPEATABLE and name in found:
        found[name] = [*_as_list(found[name]), *_as_list(value)]
    else:
        found[name] = value


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _backend(role: str, given: Any) -> tuple[str, dict[str, Any]]:
    if role == "model":
        raise UsageError("the role 'model' is given by --model and --model_args")
    if isinstance(given, str) and "=" not in given:
        file = given.strip()
        if file.endswith((".yaml", ".yml", ".json")):
            given = file_object(Path(file).expanduser())
    if isinstance(given, Mapping):
        rest = {str(key): item for key, item in given.items()}
        name = rest.pop("backend", "")
    else:
        name, _, spelt = text(given).partition(",")
        rest = arguments(spelt) if spelt.strip() else {}
    if isinstance(name, str) and name.strip():
        return name.strip(), rest
    if role:
        raise UsageError(f"the role {role!r} needs the name of a backend")
    raise UsageError("the name of a backend is missing")


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, (list, tuple)):
        return value
    return [item for item in str(value).split(";") if item.strip()]
