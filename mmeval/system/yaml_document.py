"""Reads YAML as plain JSON values, with the file and line of every key.

It is stricter than YAML 1.1, so that no value is silently misread. A key occurs once,
``no`` and ``on`` must be quoted or written as booleans, ``010`` and ``1:30`` are
errors, ``1e5`` is a number and a date is text. Tags such as ``!function`` are errors,
because a task file contains values, not code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from mmeval.errors import TaskFileError
from mmeval.system.plain_file import open_plain

try:
    from yaml import CSafeLoader as _BaseLoader
except ImportError:  # PyYAML without libyaml: the same result, slower
    from yaml import SafeLoader as _BaseLoader  # type: ignore[assignment]

MAX_FILE_BYTES = 1_000_000
_USUAL_FILE_BYTES = 16_384
MAX_NODES = 50_000
"""The largest number of values in a file, including repeated aliases. This limit
prevents a small file from expanding to a huge document."""
MAX_DEPTH = 50
_MAX_YAML_DEPTH = 500
_SURELY_SHALLOW = 16_000
"""Block style text with fewer characters than this cannot be nested too deeply."""

KeyPath: TypeAlias = tuple[str | int, ...]
"""The path of a value in a document, such as ``("metric_list", 0, "metric")``."""

Problem: TypeAlias = tuple[KeyPath, str]

_TAG = "tag:yaml.org,2002:"
_NO_FUNCTION = (
    "!function is not supported: a task file cannot run code. Register the function "
    "as a plugin (an entry point in mmeval.loaders, mmeval.prompts, mmeval.protocols "
    "or mmeval.metrics) and name it here"
)
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_HEXADECIMAL = re.compile(r"[-+]?0x[0-9a-fA-F_]+")
_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*+(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?"
)
_MAX_DIGITS = 20
_FOREIGN_PREFIXES = ("doc_to_", "process_")
"""Prefixes of keys of other harnesses.

A function under such a key is read as text. The key itself is rejected later.
"""


class _Loader(_BaseLoader):
    """A loader that only composes nodes; ``_Reader`` creates the values."""


# YAML 1.1 requires a dot and a sign: without this, 1e5 is text
_Loader.add_implicit_resolver(
    _TAG + "float",
    re.compile(r"^[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


class SeveralFaultsError(TaskFileError):
    """All faults of a task file, one per line, with file and line."""

    def __init__(self, faults: Sequence[TaskFileError]) -> None:
        self.faults = tuple(faults)
        first = self.faults[0]
        more_lines = "".join(f"\n{fault}" for fault in self.faults[1:])
        super().__init__(first.message + more_lines, file=first.file, line=first.line)


@dataclass(frozen=True, slots=True)
class YamlPlace:
    """The file and line of a key. ``written`` is the text of a scalar (``1.10``)."""

    file: Path
    line: int
    written: str = ""


@dataclass(frozen=True)
class Document:
    """The mapping of a YAML file and its included files (``sources``), with key
    positions.
    """

    file: Path
    data: Mapping[str, Any]
    places: Mapping[KeyPath, YamlPlace] = field(default_factory=dict)
    sources: frozenset[Path] = frozenset()
    problems: tuple[Problem, ...] = ()
    """Problems of values that were read as text."""

    def place(self, path: KeyPath = ()) -> YamlPlace:
        """Returns the place of the value at ``path``, or of its nearest parent."""
        for length in range(len(path), -1, -1):
            place = self.places.get(path[:length])
            if place is not None:
                return place
        return YamlPlace(self.file, 0)

    def error(self, path: KeyPath, message: str) -> TaskFileError:
        return self.errors([(path, message)])

    def errors(self, problems: Sequence[Problem]) -> TaskFileError:
        """Returns one error for all problems, each with its file and line."""
        faults = [self._error(path, message) for path, message in problems]
        if len(faults) == 1:
            return faults[0]
        return SeveralFaultsError(
            sorted(faults, key=lambda error: (error.file != self.file, error.line))
        )

    def _error(self, path: KeyPath, message: str) -> TaskFileError:
        place = self.place(path)
        name = path_text(path)
        return TaskFileError(
            f"{name}: {message}" if name else message,
            file=place.file,
            line=place.line,
            name=name,
        )

    def at(self, path: KeyPath) -> Document:
        """Returns the mapping at ``path`` as a document."""
        value: Any = self.data
        for key_or_index in path:
            value = value[key_or_index]
        inner = {
            key[len(path) :]: place
            for key, place in self.places.items()
            if key[: len(path)] == path
        }
        problems = tuple(
            (where[len(path) :], message)
            for where, message in self.problems
            if where[: len(path)] == path
        )
        places = {**inner, (): self.place(path)}
        return Document(self.file, value, places, problems=problems)

    def over(self, base: Document) -> Document:
        """Returns this document plus the top-level keys that occur only in ``base``."""
        base_places = {
            key: place
            for key, place in base.places.items()
            if key and key[0] not in self.data
        }
        sources = self.sources | base.sources | {base.file}
        base_problems = (
            fault for fault in base.problems if fault[0][0] not in self.data
        )
        return Document(
            self.file,
            {**base.data, **self.data},
            {**base_places, **self.places},
            sources,
            (*base_problems, *self.problems),
        )

    def without(self, name: str) -> Document:
        places = {
            key: place
            for key, place in self.places.items()
            if not key or key[0] != name
        }
        return Document(
            self.file,
            {key: value for key, value in self.data.items() if key != name},
            places,
            problems=tuple(fault for fault in self.problems if fault[0][0] != name),
        )


def path_text(path: KeyPath) -> str:
    """Returns a path as users write it: ``metric_list[0].metric``."""
    return "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" for step in path
    ).removeprefix(".")


def read_document(file: Path, *, collect: bool = False) -> Document:
    """Read a YAML file that contains one plain mapping.

    With ``collect``, a value of ``!function`` is read as text and added to the problems
    of the document. Raises TaskFileError with the line of a fault.
    """
    return parse_document(_text(file), file, collect=collect)


def parse_document(
    text: str,
    file: Path,
    *,
    collect: bool = False,
) -> Document:
    """Parse YAML ``text``; ``file`` is named in errors."""
    node = _composed(text, file)
    if node is None:
        return Document(file, {}, {(): YamlPlace(file, 1)})
    if not isinstance(node, MappingNode):
        raise TaskFileError(
            "must contain keys with values (key: value)", file=file, line=_line(node)
        )
    reader = _Reader(file)
    data = reader.mapping(node, ())
    document = Document(file, data, reader.places, problems=tuple(reader.problems))
    if document.problems and not collect:
        (place, message), *_ = document.problems
        raise TaskFileError(message, file=file, line=document.place(place).line)
    return document


def _text(file: Path) -> str:
    try:
        with open_plain(file) as stream:
            raw = stream.read(_USUAL_FILE_BYTES)
            # memory for the largest file takes longer than reading a usual one
            if len(raw) == _USUAL_FILE_BYTES:
                raw += stream.read(MAX_FILE_BYTES + 1 - _USUAL_FILE_BYTES)
    except OSError as error:
        raise TaskFileError(f"cannot be read ({error.strerror})", file=file) from None
    if len(raw) > MAX_FILE_BYTES:
        raise TaskFileError(
            f"is larger than {MAX_FILE_BYTES} bytes, too large for a task file",
            file=file,
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TaskFileError(
            "is not UTF-8 text; save it as UTF-8", file=file, line=line
        ) from None


def _composed(text: str, file: Path) -> Node | None:
    loader = _Loader(text)
    try:
        if (
            len(text) > _SURELY_SHALLOW
            or text.count("[") + text.count("{") > _MAX_YAML_DEPTH
        ):
            _check_depth(text, file)
        node: Node | None = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(part for part in (error.problem, error.context) if part)
        raise TaskFileError(
            f"not valid YAML: {message}", file=file, line=mark.line + 1 if mark else 0
        ) from None
    except yaml.YAMLError as error:
        raise TaskFileError(
            f"not valid YAML: {' '.join(str(error).split())}", file=file
        ) from None
    except RecursionError:
        raise TaskFileError("is nested too deeply", file=file) from None
    finally:
        loader.dispose()
    return node


def _line(node: Node | yaml.Event) -> int:
    return node.start_mark.line + 1 if node.start_mark is not None else 0


def _check_depth(text: str, file: Path) -> None:
    """Reject deep nesting: libyaml's recursion in C would crash the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_YAML_DEPTH:
                raise TaskFileError(
                    "is nested too deeply", file=file, line=_line(event)
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Reader:
    """Converts nodes to values and records their places."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.places: dict[KeyPath, YamlPlace] = {(): YamlPlace(file, 1)}
        self.problems: list[Problem] = []
        self._remaining = MAX_NODES

    def mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        key_lines: dict[str, int] = {}
        for key_node, value_node in self._entries(node, path):
            if key_node.tag == _TAG + "merge":
                self._merge(value_node, path, values, key_lines)
                continue
            key = self._key(key_node)
            line = _line(key_node)
            if key in key_lines:
                message = (
                    f"the key {key!r} occurs twice (first in line "
                    f"{key_lines[key]}); remove one"
                )
                raise TaskFileError(message, file=self.file, line=line)
            key_lines[key] = line
            self._forget((*path, key), key in values)
            values[key] = self._value_at(value_node, (*path, key), line)
        return values

    def _entries(self, node: MappingNode, path: KeyPath) -> Iterator[tuple[Node, Node]]:
        if len(path) > MAX_DEPTH:
            raise self._fault(node, f"is nested more than {MAX_DEPTH} levels deep")
        yield from node.value

    def _merge(
        self,
        node: Node,
        path: KeyPath,
        values: dict[str, Any],
        key_lines: Mapping[str, int],
    ) -> None:
        """Add the entries of ``<<: *anchor`` that the mapping lacks."""
        sources = node.value if isinstance(node, SequenceNode) else [node]
        for source in sources:
            if not isinstance(source, MappingNode):
                raise self._fault(
                    source, "<< must have a mapping, or a list of mappings"
                )
            for key_node, value_node in self._entries(source, (*path, "<<")):
                key = self._key(key_node)
                if key not in key_lines and key not in values:
                    values[key] = self._value_at(
                        value_node, (*path, key), _line(key_node)
                    )

    def _forget(self, path: KeyPath, merged: bool) -> None:
        if merged:
            for key in [key for key in self.places if key[: len(path)] == path]:
                del self.places[key]

    def _value_at(
        self,
        node: Node,
        path: KeyPath,
        line: int,
    ) -> Any:
        self.places[path] = YamlPlace(
            self.file, line, node.value if isinstance(node, ScalarNode) else ""
        )
        return self._value(node, path)

    def _value(
        self, node: Node, path: KeyPath
    ) -> Any:  # a YAML value has any JSON type
        self._remaining -= 1
        if self._remaining < 0:
            raise self._fault(node, f"contains more than {MAX_NODES} values")
        if isinstance(node, ScalarNode):
            if node.tag.startswith("!function"):
                is_refused = len(path) == 1 and str(path[0]).startswith(
                    _FOREIGN_PREFIXES
                )
                if not is_refused:
                    self.problems.append((path, _NO_FUNCTION))
                return f"{node.tag} {node.value}"
            return self._scalar(node)
        if isinstance(node, MappingNode) and node.tag == _TAG + "map":
            return self.mapping(node, path)
        if isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
            if len(path) > MAX_DEPTH:
                raise self._fault(node, f"is nested more than {MAX_DEPTH} levels deep")
            return [
                self._value_at(item, (*path, i), _line(item))
                for i, item in enumerate(node.value)
            ]
        raise self._tag_fault(node)

    def _key(self, node: Node) -> str:
        key = self._scalar(node) if isinstance(node, ScalarNode) else None
        if not isinstance(key, str):
            text = node.value if isinstance(node, ScalarNode) else "a list or mapping"
            raise self._fault(
                node, f"{text} cannot be a key: keys are text; put it in quotes"
            )
        return key

    def _scalar(self, node: ScalarNode) -> str | int | float | bool | None:
        text: str = node.value
        kind = node.tag.removeprefix(_TAG)
        if kind in ("str", "timestamp", "value"):
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return self._boolean(node, text)
        if kind == "int":
            return self._integer(node, text)
        if kind == "float":
            return self._number(node, text)
        raise self._tag_fault(node)

    def _boolean(self, node: Node, text: str) -> bool:
        if text.lower() not in ("true", "false"):
            meaning = "true" if text.lower() in ("yes", "on") else "false"
            raise self._fault(
                node,
                f'{text} means {meaning} in YAML; write {meaning}, or "{text}" for '
                "the word",
            )
        return text.lower() == "true"

    def _integer(self, node: Node, text: str) -> int:
        if len(text) <= _MAX_DIGITS:
            if _DECIMAL.fullmatch(text):
                return int(text.replace("_", ""))
            if _HEXADECIMAL.fullmatch(text):
                return int(text.replace("_", ""), 16)
        raise self._fault(
            node,
            f"{text} is not a plain whole number in YAML; write it in decimal, or "
            f'"{text}" as text',
        )

    def _number(self, node: Node, text: str) -> float:
        value = float(text.replace("_", "")) if _FLOAT.fullmatch(text) else math.nan
        if not math.isfinite(value):
            raise self._fault(
                node,
                f"{text} is not a plain finite number; write it in decimal, or "
                f'"{text}" as text',
            )
        return value

    def _tag_fault(self, node: Node) -> TaskFileError:
        tag = node.tag.removeprefix(_TAG)
        if tag.startswith("!function"):
            return self._fault(node, _NO_FUNCTION)
        return self._fault(
            node, f"the YAML tag {tag} is not supported; write a plain value"
        )

    def _fault(self, node: Node, message: str) -> TaskFileError:
        return TaskFileError(message, file=self.file, line=_line(node))
