"""Reads and writes the messages of protocol 1 as JSON.

The module reads ``hello`` and ``answer``, and writes the rows of ``generate``.
"""

from __future__ import annotations

import base64
import json
import math
import reprlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NoReturn, get_args

from mmeval.backend import Capabilities, OutputMode
from mmeval.errors import ContentError, MissingError, UsageError
from mmeval.media import (
    Interleaved,
    Media,
    Part,
    PartKind,
    find,
    may_be,
    media_part,
    suffix_for,
)
from mmeval.model_backends.process.folders import (
    MAX_ANSWER_BYTES,
    MediaFaultError,
    SharedFolder,
)
from mmeval.model_backends.process.settings import MediaTravel
from mmeval.records import ErrorKind, Request, Response, Usage, answered
from mmeval.system import to_line
from mmeval.system.secrets import without_values
from mmeval.system.wording import shortened

PROTOCOL = 1
MAX_BATCH = 4096
"""Maximum number of rows in a batch, even if the worker states more.

The limit exists because a run keeps the samples of several batches in memory.
"""
MAX_NAME_CHARS = 200
MAX_ABOUT_BYTES = 2**16
"""Maximum size of the identity and of the options in bytes, since both are recorded."""
MAX_INTEGER = 2**63 - 1
"""Largest integer in an identity. A larger integer would change when it is stored."""
MAX_PARTS = 10_000
"""Maximum number of parts in an answer."""
MAX_REASON_CHARS = 2000
"""Maximum length in characters of a failure's reason, which is recorded."""
_MODES: tuple[OutputMode, ...] = get_args(OutputMode)
"""The output modes from the narrowest to the widest."""
_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
_KEY_REPLACED = "key_replaced"
"""The field that marks a message with a replaced key in its parts."""
KEY_WARNING = "a key was replaced in this answer"
_WORDS = ("text", "code", "reasoning")
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


@dataclass(frozen=True)
class Hello:
    """What a worker reports about its model before loading it."""

    name: str
    capabilities: Capabilities
    batch: int
    """The largest number of rows in a batch, from 1 to ``MAX_BATCH``."""
    identity: Mapping[str, Any]
    gives_code: bool
    """True if the worker returns code as a separate kind, and not as text."""


def read_line(
    line: bytes,
    *,
    hidden: Collection[str] = (),
) -> dict[str, Any]:
    """Parses a message, and replaces the strings ``hidden`` in it.

    The message is marked if its parts contained such a string. Raises ValueError for a
    line that is not a message, and RecursionError for a message that is nested too
    deeply.
    """
    row: Any = json.loads(line, parse_constant=_refuse_constant)
    if not isinstance(row, dict) or not isinstance(row.get("type"), str):
        raise ValueError("it is not an object with a type")
    # Only mmeval may set this mark, so a mark from the worker is removed.
    row.pop(_KEY_REPLACED, None)
    if not hidden:
        return row
    message: dict[str, Any] = without_values(row, hidden)
    if message.get("parts") != row.get("parts"):
        message[_KEY_REPLACED] = True
    return message


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number; write null")


def shown(value: object) -> str:
    """Shortens a worker's value for a message, even if it is large or nested deeply."""
    return _SHORT.repr(value)


def read_hello(row: Mapping[str, Any]) -> Hello:
    """Reads a ``hello`` message.

    Raises UsageError for another version of the protocol and for an invalid field.
    """
    if row.get("protocol") != PROTOCOL:
        raise UsageError(
            f"the worker uses protocol {shown(row.get('protocol'))}, but this mmeval "
            f"uses {PROTOCOL}. Create a worker for it with 'mmeval init worker'",
            name="protocol",
        )
    takes, gives = row.get("takes"), row.get("gives")
    name, mode = row.get("name"), row.get("mode")
    batch = row.get("batch", 1)
    options = row.get("options")
    identity = row.get("identity", {})
    valid = {
        "name": isinstance(name, str) and 0 < len(name) <= MAX_NAME_CHARS,
        "takes": _is_texts(takes) and bool(takes),
        "gives": _is_texts(gives) and bool(gives),
        "mode": mode in _MODES,
        "batch": type(batch) is int and batch > 0,
        "identity": isinstance(identity, dict) and _can_be_recorded(identity),
        "options": options is None or (_is_texts(options) and _is_short(options)),
    }
    for field, is_valid in valid.items():
        if not is_valid:
            raise UsageError(
                f"the worker's hello message: {field}={shown(row.get(field))} is "
                "invalid. See docs/process-protocol.md",
                name=field,
            )
    try:
        capabilities = Capabilities.of(takes or (), gives or (), mode or "single")
    except UsageError as error:
        raise UsageError(
            f"the worker's hello message: {error}", name=error.name
        ) from None
    if options is not None:
        options = frozenset(options)
    return Hello(
        str(name),
        replace(capabilities, options=options),
        min(batch, MAX_BATCH),
        identity,
        gives_code="code" in (gives or ()),
    )


def narrowed(
    capabilities: Capabilities,
    takes: str,
    gives: str,
    mode: str,
) -> Capabilities:
    """Narrows the capabilities by the user's arguments.

    Raises UsageError for an argument that would widen them.
    """
    inputs = _subset("takes", takes, capabilities.inputs)
    outputs = _subset("gives", gives, capabilities.outputs)
    if mode and mode not in _MODES[: _MODES.index(capabilities.output_mode) + 1]:
        raise UsageError(
            f"mode={mode}: the worker's mode is {capabilities.output_mode}. The "
            "argument can only narrow it",
            name="mode",
        )
    chosen = capabilities.output_mode
    for known_mode in _MODES:
        if known_mode == mode:
            chosen = known_mode
    return replace(
        Capabilities.of(inputs, outputs, chosen), options=capabilities.options
    )


def _subset(
    argument: str,
    value: str,
    allowed: Collection[str],
) -> Sequence[str]:
    names = [name for name in value.split("+") if name]
    for name in names:
        if name not in allowed:
            raise UsageError(
                f"{argument}={value}: {name} is not one of the worker's kinds "
                f"({'+'.join(allowed)})",
                name=argument,
            )
    if names:
        return names
    # Capabilities.of adds code if text is included.
    return [name for name in allowed if name != "code" or "text" not in allowed]


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_short(value: object) -> bool:
    return len(to_line(value)) <= MAX_ABOUT_BYTES


def _can_be_recorded(identity: object) -> bool:
    """Returns True if an identity is short and its numbers do not change in storage."""
    try:
        return _is_short(identity) and _has_plain_numbers(identity)
    except (TypeError, ValueError, RecursionError):
        return False


def _has_plain_numbers(value: object) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return all(map(_has_plain_numbers, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) <= MAX_INTEGER


def row_of(
    request: Request, travel: MediaTravel, folder: SharedFolder, *, gives_code: bool
) -> dict[str, Any]:
    """Converts a request to a row.

    Media without a neutral name are copied to ``folder`` with such a name. Raises
    ContentError or MissingError for a medium that cannot be read.
    """
    messages: list[dict[str, Any]] = []
    for message in request.messages:
        parts: list[dict[str, Any]] = []
        messages.append({"role": message.role, "parts": parts})
        for part in message.content.parts:
            media = part.media
            if part.kind == "reasoning":
                continue
            if media is not None:
                row = {"kind": part.kind, "mime": media.mime, "sha256": media.sha256}
                if travel == "inline":
                    row["data"] = base64.b64encode(media.read()).decode("ascii")
                else:
                    row["path"] = str(folder.put(media))
                parts.append(row)
            elif part.raw or part.text:
                kind = "text" if part.text is None else part.kind
                parts.append({"kind": kind, "text": part.raw or part.text})
    wants: dict[str, None] = dict.fromkeys(request.wants)
    if not gives_code and "code" in wants:
        wants = {"text" if kind == "code" else kind: None for kind in wants}
    return {
        "messages": messages,
        "wants": list(wants),
        "seed": request.seed,
        "params": request.params.to_json(),
    }


class WorkerAnswers:
    """Reads the answers of one batch. Their media are in the folder ``out``."""

    def __init__(self, gives: Collection[PartKind], out: SharedFolder) -> None:
        self._gives: tuple[PartKind, ...] = (*gives, "reasoning")
        self._out = out

    def response(self, row: Mapping[str, Any]) -> Response:
        """Converts an ``answer`` message to a response.

        The response is a failure if the parts of the answer are invalid.
        """
        tokens = row.get("tokens")
        try:
            parts = self._all_parts(row.get("parts"))
        except (MediaFaultError, ContentError, MissingError) as fault:
            return Response.failed(
                "internal", f"the worker's answer cannot be used: {fault}"
            )
        counts = tokens[:2] if isinstance(tokens, list) else ()
        warnings = (KEY_WARNING,) if _KEY_REPLACED in row else ()
        return replace(answered(parts), usage=Usage(*counts), warnings=warnings)

    def _all_parts(self, rows: object) -> Sequence[Part]:
        if not isinstance(rows, list):
            raise MediaFaultError("the answer has no list of parts")
        parts: list[Part] = []
        bytes_left = MAX_ANSWER_BYTES
        for row in rows:
            row_parts = self._parts(row, bytes_left)
            parts.extend(row_parts)
            for part in row_parts:
                if part.media is not None:
                    bytes_left -= part.media.size
            if len(parts) > MAX_PARTS:
                raise _too_many_parts()
        return parts

    def _parts(self, row: object, max_bytes: int) -> Sequence[Part]:
        """Reads the parts of a row. A medium may have at most ``max_bytes`` bytes."""
        if not isinstance(row, dict):
            raise MediaFaultError(f"{shown(row)} is not a part")
        stated_kind = row.get("kind")
        # The stated kind may be any JSON value.
        if stated_kind not in self._gives:
            raise MediaFaultError(
                f"a part has the kind {shown(stated_kind)}, which the worker did not "
                "declare"
            )
        kind: PartKind = stated_kind
        if kind in _WORDS:
            return _words(kind, row.get("text"))
        if "data" not in row:
            data = self._out.take(row.get("path"), max_bytes)
        else:
            try:
                data = base64.b64decode(str(row["data"]), validate=True)
            except ValueError as error:
                raise MediaFaultError(
                    f"the base64 data of a medium are damaged ({error})"
                ) from None
        # The type of text formats, such as CSV or OBJ, cannot be detected from bytes.
        name = ""
        if kind in ("document", "3d"):
            name = f"{kind}{suffix_for(str(row.get('mime')))}"
        media = Media.from_bytes(data, name)
        if row.get("sha256") != media.sha256:
            raise MediaFaultError(
                f"the sha256 of a medium of kind {kind} does not match its bytes"
            )
        if not may_be(kind, media.mime):
            raise MediaFaultError(
                f"a medium of kind {kind} has bytes of type {media.mime}"
            )
        return (media_part(media, kind),)


def _words(kind: PartKind, text: object) -> Sequence[Part]:
    if not isinstance(text, str):
        raise MediaFaultError(f"a part of kind {kind} has no text")
    if kind == "text":
        # Each placeholder in the text would become a part.
        if len(text) > MAX_PARTS:
            tags = islice(find(text), MAX_PARTS + 1)
            if sum(1 for _ in tags) > MAX_PARTS:
                raise _too_many_parts()
        return Interleaved.from_text(text).parts
    raw = "" if kind == "reasoning" else text
    return (Part(kind, text=text, raw=raw),)


def _too_many_parts() -> MediaFaultError:
    return MediaFaultError(f"it has more than {MAX_PARTS:,} parts")


def failure(row: Mapping[str, Any]) -> tuple[ErrorKind, str]:
    """Returns the kind and the reason in a ``failed`` message.

    An unknown kind becomes ``internal``.
    """
    kind: ErrorKind = "internal"
    stated_kind = row.get("error")
    if stated_kind in _KINDS:
        kind = stated_kind
    reason = row.get("message") or stated_kind or "the worker gives no reason"
    return kind, shortened(str(reason), MAX_REASON_CHARS)
