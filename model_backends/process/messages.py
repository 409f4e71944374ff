"""The messages of protocol 1 as JSON: ``hello`` and ``answer`` are read, rows of
``generate`` are written."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, get_args

from mmeval.backend import Capabilities, OutputMode
from mmeval.content import Interleaved, Media, Part, may_be, media_part, suffix_for
from mmeval.errors import ContentError, MissingError, UsageError
from mmeval.model_backends.process.media import MediaFaultError, written
from mmeval.model_backends.process.settings import MediaTravel
from mmeval.records import ErrorKind, Request, Response, Usage, answered

PROTOCOL = 1
_MODES: tuple[OutputMode, ...] = get_args(OutputMode)
"""From the narrowest to the widest."""
_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
_WORDS = ("text", "code", "reasoning")


@dataclass(frozen=True)
class Hello:
    """What a worker says of its model before it has loaded it."""

    name: str
    capabilities: Capabilities
    batch: int
    identity: Mapping[str, Any]
    gives_code: bool
    """Whether it names code as a kind of its own; else code is asked for as text."""


def read_line(line: bytes) -> dict[str, Any]:
    """A message. Raises ValueError for a line that is none."""
    row = json.loads(line, parse_constant=_refuse_constant)
    if not isinstance(row, dict) or not isinstance(row.get("type"), str):
        raise ValueError("it is no object with a type")
    return row


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number; write null")


def read_hello(row: Mapping[str, Any]) -> Hello:
    """Raises UsageError for another protocol, and for a field that says nothing
    valid."""
    if row.get("protocol") != PROTOCOL:
        raise UsageError(
            f"the worker speaks protocol {row.get('protocol')!r}, and this mmeval "
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
        "name": isinstance(name, str) and bool(name),
        "takes": _is_texts(takes) and bool(takes),
        "gives": _is_texts(gives) and bool(gives),
        "mode": mode in _MODES,
        "batch": type(batch) is int and batch > 0,
        "identity": isinstance(identity, dict),
        "options": options is None or _is_texts(options),
    }
    if wrong := [field for field, fine in valid.items() if not fine]:
        raise UsageError(
            f"hello of the worker: {wrong[0]}={row.get(wrong[0])!r:.200} cannot be "
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
        batch,
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


def row_of(
    request: Request, travel: MediaTravel, folder: Path, *, gives_code: bool
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


def _part_row(part: Part, travel: MediaTravel, folder: Path) -> dict[str, Any]:
    media = part.media
    if media is None:
        return {
            "kind": part.kind if part.text is not None else "text",
            "text": part.raw or part.text,
        }
    row = {"kind": part.kind, "mime": media.mime, "sha256": media.sha256}
    if travel == "inline":
        return {**row, "data": base64.b64encode(media.read()).decode("ascii")}
    return {**row, "path": str(_neutral(media, folder))}


def _neutral(media: Media, folder: Path) -> Path:
    """A path whose name says nothing of the content: a file name can give the answer
    away."""
    if media.path is not None and media.path.stem == media.sha256:
        return media.path.absolute()
    place = folder / f"{media.sha256}{suffix_for(media.mime)}"
    if not place.exists():
        if media.path is not None:
            place.symlink_to(media.path.absolute())
        else:
            place.write_bytes(media.read())
    return place


class AnswerReader:
    """Reads the answers of one batch, whose media lie in ``out``."""

    def __init__(self, gives: Collection[str], out: Path) -> None:
        self._gives, self._out = {*gives, "reasoning"}, out
        self._used: set[Path] = set()

    def response(self, row: Mapping[str, Any]) -> Response:
        """The response of an ``answer``, or a failed one that says what is wrong with
        its parts."""
        parts, tokens = row.get("parts"), row.get("tokens")
        try:
            if not isinstance(parts, list):
                raise MediaFaultError("the answer has no list of parts")
            found = [piece for part in parts for piece in self._parts(part)]
        except (MediaFaultError, ContentError, MissingError) as fault:
            return Response.failed(
                "internal", f"the worker's answer cannot be used: {fault}"
            )
        counts = tokens[:2] if isinstance(tokens, list) else ()
        return replace(answered(found), usage=Usage(*counts))

    def _parts(self, row: object) -> Sequence[Part]:
        kind = row.get("kind") if isinstance(row, dict) else None
        if not isinstance(row, dict) or kind not in self._gives:
            raise MediaFaultError(
                f"it holds a part of the kind {kind!r:.80}, which the worker does not "
                "give"
            )
        if kind in _WORDS:
            text = row.get("text")
            if not isinstance(text, str):
                raise MediaFaultError(f"a part of the kind {kind} has no text")
            if kind == "text":
                return Interleaved.from_text(
                    text
                ).parts  # with placeholders that it may hold
            return (Part(kind, text=text, raw="" if kind == "reasoning" else text),)
        data = _inline(row) if "data" in row else written(row, self._out, self._used)
        # Of texts, such as CSV or OBJ, the name says what the bytes leave open.
        name = (
            f"{kind}{suffix_for(str(row.get('mime')))}"
            if kind in ("document", "3d")
            else ""
        )
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
    return kind, str(
        row.get("message") or row.get("error") or "the worker gives no reason"
    )
