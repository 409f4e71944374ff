"""The messages of protocol 1 as JSON: ``hello`` and ``answer`` are read, rows of
``generate`` are written."""

from __future__ import annotations

import base64
import binascii
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
    MediaFolder,
)
from mmeval.model_backends.process.settings import MediaTravel
from mmeval.records import ErrorKind, Request, Response, Usage, answered
from mmeval.system import to_line
from mmeval.system.secrets import without_values
from mmeval.system.wording import shortened

PROTOCOL = 1
MAX_BATCH = 4096
"""The most rows of a batch, whatever the worker states: a run keeps several batches'
worth of samples in memory."""
MAX_NAME_CHARS = 200
MAX_ABOUT_BYTES = 2**16
"""Limit of the identity, and of the options, in bytes: both are recorded with the
run."""
MAX_INTEGER = 2**63 - 1
"""Largest integer of an identity: larger ones are not read back as written."""
MAX_PARTS = 10_000
"""Maximum number of parts of an answer."""
MAX_REASON_CHARS = 2000
"""Limit of the reason of a failure, in characters: it is recorded with the row."""
_MODES: tuple[OutputMode, ...] = get_args(OutputMode)
"""From the narrowest to the widest."""
_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
_KEY_REPLACED = "key_replaced"
"""The field of a message in whose parts a key is hidden."""
KEY_WARNING = "a key was replaced in this answer"
_WORDS = ("text", "code", "reasoning")
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


@dataclass(frozen=True)
class Hello:
    """What a worker says of its model before it has loaded it."""

    name: str
    capabilities: Capabilities
    batch: int
    """Rows, from 1 to ``MAX_BATCH``."""
    identity: Mapping[str, Any]
    gives_code: bool
    """Whether it names code as a kind of its own; else code is asked for as text."""


def read_line(line: bytes, *, hidden: Collection[str] = ()) -> dict[str, Any]:
    """A message, in which the texts ``hidden`` are replaced; one whose parts held some
    says so. Raises ValueError for a line that is not a message, RecursionError for one
    that is nested too deep."""
    row: Any = json.loads(line, parse_constant=_refuse_constant)
    if not isinstance(row, dict) or not isinstance(row.get("type"), str):
        raise ValueError("it is not an object with a type")
    # only what is found here makes a warning, whatever the worker writes
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
    """What a worker states, for a message: short, however large or nested it is."""
    return _SHORT.repr(value)


def read_hello(row: Mapping[str, Any]) -> Hello:
    """Raises UsageError for another protocol, and for a field that says nothing
    valid."""
    if row.get("protocol") != PROTOCOL:
        raise UsageError(
            f"the worker speaks protocol {shown(row.get('protocol'))}, and this mmeval "
            f"speaks {PROTOCOL}; write a worker "
            "for it with 'mmeval init worker'",
            name="protocol",
        )
    takes, gives, mode = row.get("takes"), row.get("gives"), row.get("mode")
    name = row.get("name")
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
    if wrong := [field for field, fine in valid.items() if not fine]:
        raise UsageError(
            f"hello of the worker: {wrong[0]}={shown(row.get(wrong[0]))} cannot be "
            "used; see docs/process-protocol.md",
            name=wrong[0],
        )
    try:
        can = Capabilities.of(takes or (), gives or (), mode or "single")
    except UsageError as error:
        raise UsageError(f"hello of the worker: {error}", name=error.name) from None
    known = None if options is None else frozenset(options)
    return Hello(
        str(name),
        replace(can, options=known),
        min(batch, MAX_BATCH),
        identity,
        gives_code="code" in (gives or ()),
    )


def narrowed(can: Capabilities, takes: str, gives: str, mode: str) -> Capabilities:
    """The capabilities, less what the user's arguments leave out. Raises UsageError for
    what would widen them."""
    inputs = _subset("takes", takes, can.inputs)
    outputs = _subset("gives", gives, can.outputs)
    if mode and mode not in _MODES[: _MODES.index(can.output_mode) + 1]:
        raise UsageError(
            f"mode={mode}: the worker's mode is {can.output_mode}, which it may "
            "narrow alone",
            name="mode",
        )
    chosen = next((known for known in _MODES if known == mode), can.output_mode)
    return replace(Capabilities.of(inputs, outputs, chosen), options=can.options)


def _subset(argument: str, given: str, known: Collection[str]) -> Sequence[str]:
    names = [name for name in given.split("+") if name]
    if more := [name for name in names if name not in known]:
        raise UsageError(
            f"{argument}={given}: the worker's {argument} are {'+'.join(known)}; "
            f"{more[0]} is not among them",
            name=argument,
        )
    return names or [name for name in known if name != "code" or "text" not in known]


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_short(value: object) -> bool:
    return len(to_line(value)) <= MAX_ABOUT_BYTES


def _can_be_recorded(identity: object) -> bool:
    """Whether an identity is short, and its numbers are read back as they are
    written."""
    try:
        is_short = _is_short(identity)
    except (TypeError, ValueError, RecursionError):
        return False
    return is_short and _has_plain_numbers(identity)


def _has_plain_numbers(value: object) -> bool:
    if isinstance(value, dict):
        return all(_has_plain_numbers(item) for item in value.values())
    if isinstance(value, list):
        return all(_has_plain_numbers(item) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) <= MAX_INTEGER


def row_of(
    request: Request, travel: MediaTravel, folder: MediaFolder, *, gives_code: bool
) -> dict[str, Any]:
    """A request as a row; media without a neutral name get one in ``folder``.
    Raises ContentError or MissingError for a medium that cannot be read."""
    messages = [
        {
            "role": message.role,
            "parts": [
                _part_row(part, travel, folder)
                for part in message.content.parts
                if part.kind != "reasoning"
                and (part.media is not None or part.raw or part.text)
            ],
        }
        for message in request.messages
    ]
    wants = dict.fromkeys(
        "text" if kind == "code" and not gives_code else kind for kind in request.wants
    )
    params = request.params.to_json()
    return {
        "messages": messages,
        "wants": list(wants),
        "seed": request.seed,
        "params": params,
    }


def _part_row(part: Part, travel: MediaTravel, folder: MediaFolder) -> dict[str, Any]:
    media = part.media
    if media is None:
        return {
            "kind": part.kind if part.text is not None else "text",
            "text": part.raw or part.text,
        }
    row = {"kind": part.kind, "mime": media.mime, "sha256": media.sha256}
    if travel == "inline":
        return {**row, "data": base64.b64encode(media.read()).decode("ascii")}
    return {**row, "path": str(folder.put(media))}


class AnswerReader:
    """Reads the answers of one batch, whose media lie in ``out``."""

    def __init__(self, gives: Collection[PartKind], out: MediaFolder) -> None:
        self._gives: tuple[PartKind, ...] = (*gives, "reasoning")
        self._out = out

    def response(self, row: Mapping[str, Any]) -> Response:
        """The response of an ``answer``, or a failed one that says what is wrong with
        its parts."""
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
        room = MAX_ANSWER_BYTES
        for row in rows:
            given = self._parts(row, room)
            parts.extend(given)
            room -= sum(part.media.size for part in given if part.media is not None)
            if len(parts) > MAX_PARTS:
                raise _too_many_parts()
        return parts

    def _parts(self, row: object, room: int) -> Sequence[Part]:
        """The parts of a row of ``parts``; a medium of it has at most ``room``
        bytes."""
        if not isinstance(row, dict):
            raise MediaFaultError(f"it holds {shown(row)}, which is not a part")
        stated = row.get("kind")
        # what it states may be anything, a list too, which no set can be asked for
        kind = next((known for known in self._gives if known == stated), None)
        if kind is None:
            raise MediaFaultError(
                f"it holds a part of the kind {shown(stated)}, which the worker does "
                "not give"
            )
        if kind in _WORDS:
            return _words(kind, row.get("text"))
        data = _inline(row) if "data" in row else self._out.take(row.get("path"), room)
        # Of texts, such as CSV or OBJ, the name says what the bytes leave open.
        name = ""
        if kind in ("document", "3d"):
            name = f"{kind}{suffix_for(str(row.get('mime')))}"
        media = Media.from_bytes(data, name)
        if row.get("sha256") != media.sha256:
            raise MediaFaultError(
                f"the sha256 of a medium of the kind {kind} is not that of its bytes"
            )
        if not may_be(kind, media.mime):
            raise MediaFaultError(
                f"a medium is said to be {kind}, and its bytes are {media.mime}"
            )
        return (media_part(media, kind),)


def _words(kind: PartKind, text: object) -> Sequence[Part]:
    if not isinstance(text, str):
        raise MediaFaultError(f"a part of the kind {kind} has no text")
    if kind == "text":
        # with placeholders that it may hold: each would become a part
        if len(text) > MAX_PARTS and _tags(text) > MAX_PARTS:
            raise _too_many_parts()
        return Interleaved.from_text(text).parts
    return (Part(kind, text=text, raw="" if kind == "reasoning" else text),)


def _tags(text: str) -> int:
    """The placeholders of a text, counted to one more than an answer may have parts."""
    return sum(1 for _ in islice(find(text), MAX_PARTS + 1))


def _too_many_parts() -> MediaFaultError:
    return MediaFaultError(f"it has more than {MAX_PARTS:,} parts")


def _inline(row: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(str(row["data"]), validate=True)
    except (binascii.Error, ValueError) as error:
        raise MediaFaultError(
            f"the base64 data of a medium are damaged ({error})"
        ) from None


def failure(row: Mapping[str, Any]) -> tuple[ErrorKind, str]:
    """Kind and message of a ``failed``; a kind that does not exist is ``internal``."""
    kind: ErrorKind = next(
        (known for known in _KINDS if known == row.get("error")), "internal"
    )
    said = row.get("message") or row.get("error") or "the worker gives no reason"
    return kind, shortened(str(said), MAX_REASON_CHARS)
