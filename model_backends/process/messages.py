"""The messages of protocol 1 as JSON: ``hello`` and ``answer`` are read, rows of
``generate`` are written."""

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


def read_line(
    line: bytes,
    *,
    hidden: Collection[str] = (),
) -> dict[str, Any]:
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
                f"hello of the worker: {field}={shown(row.get(field))} cannot be "
                "used; see docs/process-protocol.md",
                name=field,
            )
    try:
        can = Capabilities.of(takes or (), gives or (), mode or "single")
    except UsageError as error:
        raise UsageError(f"hello of the worker: {error}", name=error.name) from None
    if options is not None:
        options = frozenset(options)
    return Hello(
        str(name),
        replace(can, options=options),
        min(batch, MAX_BATCH),
        identity,
        gives_code="code" in (gives or ()),
    )


def narrowed(
    can: Capabilities,
    takes: str,
    gives: str,
    mode: str,
) -> Capabilities:
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
    chosen = can.output_mode
    for known in _MODES:
        if known == mode:
            chosen = known
    return replace(Capabilities.of(inputs, outputs, chosen), options=can.options)


def _subset(
    argument: str,
    given: str,
    known: Collection[str],
) -> Sequence[str]:
    names = [name for name in given.split("+") if name]
    for name in names:
        if name not in known:
            raise UsageError(
                f"{argument}={given}: the worker's {argument} are {'+'.join(known)}; "
                f"{name} is not among them",
                name=argument,
            )
    if names:
        return names
    # code follows from text
    return [name for name in known if name != "code" or "text" not in known]


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_short(value: object) -> bool:
    return len(to_line(value)) <= MAX_ABOUT_BYTES


def _can_be_recorded(identity: object) -> bool:
    """Whether an identity is short, and its numbers are read back as they are
    written."""
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
    """A request as a row; media without a neutral name get one in ``folder``.
    Raises ContentError or MissingError for a medium that cannot be read."""
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
    """Reads the answers of one batch, whose media lie in ``out``."""

    def __init__(self, gives: Collection[PartKind], out: SharedFolder) -> None:
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
            for part in given:
                if part.media is not None:
                    room -= part.media.size
            if len(parts) > MAX_PARTS:
                raise _too_many_parts()
        return parts

    def _parts(self, row: object, room: int) -> Sequence[Part]:
        """The parts of a row of ``parts``; a medium of it has at most ``room``
        bytes."""
        if not isinstance(row, dict):
            raise MediaFaultError(f"it holds {shown(row)}, which is not a part")
        stated = row.get("kind")
        # what it states may be anything
        if stated not in self._gives:
            raise MediaFaultError(
                f"it holds a part of the kind {shown(stated)}, which the worker does "
                "not give"
            )
        kind: PartKind = stated
        if kind in _WORDS:
            return _words(kind, row.get("text"))
        if "data" not in row:
            data = self._out.take(row.get("path"), room)
        else:
            try:
                data = base64.b64decode(str(row["data"]), validate=True)
            except ValueError as error:
                raise MediaFaultError(
                    f"the base64 data of a medium are damaged ({error})"
                ) from None
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
    """Kind and message of a ``failed``; a kind that does not exist is ``internal``."""
    kind: ErrorKind = "internal"
    stated = row.get("error")
    if stated in _KINDS:
        kind = stated
    said = row.get("message") or stated or "the worker gives no reason"
    return kind, shortened(str(said), MAX_REASON_CHARS)
