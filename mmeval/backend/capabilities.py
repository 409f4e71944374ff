"""The capabilities of a backend: its input and output kinds, with limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from mmeval.backend.probe import ReplyFormat
from mmeval.errors import UnknownNameError
from mmeval.media.media import Media
from mmeval.media.parts import PART_KINDS, PartKind
from mmeval.records.request import GenerationParams, Request

OutputMode = Literal["single", "exclusive", "parallel", "interleaved"]
"""How an answer combines output kinds.

- ``single``: every answer contains only one kind, which is always the same.
- ``exclusive``: each call returns one kind.
- ``parallel``: an answer contains several kinds in a fixed order.
- ``interleaved``: an answer contains any number of kinds in any order.
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """The limits for one kind of part in a request.

    A limit is None if it is not known. ``max_items`` is the maximum number of parts,
    and ``min_items`` the minimum, for media. ``max_bytes`` is the maximum size of each
    part. ``formats`` are the MIME types that are sent unchanged. The backend re-encodes
    other formats: pictures as PNG, sounds as WAV.
    """

    max_items: int | None = None
    max_bytes: int | None = None
    formats: frozenset[str] | None = None
    min_items: int = 0


ANY = Limit()


@dataclass(frozen=True)
class Capabilities:
    """The input and output kinds of a backend.

    A request that needs other kinds or exceeds a limit is unsupported and is not sent.
    """

    inputs: Mapping[PartKind, Limit] = field(
        default_factory=lambda: {"text": ANY, "code": ANY}
    )
    outputs: Mapping[PartKind, Limit] = field(
        default_factory=lambda: {"text": ANY, "code": ANY}
    )
    output_mode: OutputMode = "single"
    declarable: frozenset[PartKind] = frozenset()
    """Output kinds that the user can add with the argument ``outputs``
    (``outputs=text+audio``)."""
    options: frozenset[str] | None = None
    """The parameters of one modality that the backend knows, such as ``image.size``.

    The set is None if these parameters are not known. A parameter that is not in the
    set is never sent. If the user sets such a parameter, the run ends with an error
    before it starts. If a task file sets such a parameter, it is left out with a
    warning.
    """
    by_role: Mapping[PartKind, str] = field(default_factory=dict)
    """Output kinds that need a missing role, such as a tool of an agent."""
    is_certain: bool = True
    """False if a server may lack a declared capability. A run then asks the server
    first (see ``mmeval.backend.handshake``)."""
    reply_formats: tuple[ReplyFormat, ...] = ()
    """Ways in which the backend can ask for JSON, with the best first. A handshake
    finds out which of them the server supports."""
    denied: Mapping[PartKind, str] = field(default_factory=dict)
    """Declared input kinds that the model lacks according to a handshake, with the
    evidence."""

    @classmethod
    def of(
        cls,
        inputs: Sequence[str],
        outputs: Sequence[str],
        mode: OutputMode = "interleaved",
    ) -> Capabilities:
        """Creates capabilities from names of kinds. Text includes code.

        Raises UnknownNameError for an unknown kind.
        """
        return cls(_limits(inputs), _limits(outputs), mode)

    def missing(self, request: Request) -> list[str]:
        """Returns the reasons why this backend cannot answer a request.

        The list is empty if the backend can answer the request.
        """
        if self._is_simple_match(request):
            return []
        not_taken = request.kinds() - {"reasoning", *self.inputs}
        gaps = [self._not_taken(kind) for kind in sorted(not_taken)]
        not_given = [kind for kind in request.wants if kind not in self.outputs]
        gaps += [f"gives no {kind}" for kind in not_given]
        # Code is sent as text, so the two count as one kind.
        kinds = {"text" if kind == "code" else kind for kind in request.wants}
        is_one_a_call = self.output_mode in ("single", "exclusive")
        if is_one_a_call and len(kinds) > 1 and kinds <= self.outputs.keys():
            gap = (
                "gives only one kind per call, but the request wants "
                f"{'+'.join(request.wants)}"
            )
            if self.output_mode == "exclusive":
                gap += "; use --protocol text_then_media to request one after the other"
            gaps.append(gap)
        gaps += self._how_to_add(not_given)
        return gaps + self._exceeded(request)

    def _not_taken(self, kind: PartKind) -> str:
        evidence = self.denied.get(kind)
        if evidence is None:
            return f"takes no {kind}"
        names = {*self.inputs, kind} - {"code", "reasoning"}
        declared = "+".join(name for name in PART_KINDS if name in names)
        return (
            f"does not read {kind}, as its handshake shows ({evidence}); if it does, "
            f"add the argument inputs={declared}"
        )

    def _how_to_add(self, kinds: Sequence[PartKind]) -> list[str]:
        """Returns advice on how to add these output kinds, with a role or with the
        argument ``outputs``."""
        flags: dict[str, None] = {}
        for kind in kinds:
            if kind in self.by_role:
                flags[f"--role {self.by_role[kind]}=BACKEND"] = None
        if flags:
            return [f"add {' '.join(flags)}"]
        if not kinds or not self.declarable.issuperset(kinds):
            return []
        named = [kind for kind in (*self.outputs, *kinds) if kind != "code"]
        return [f"if the model can, add the argument outputs={'+'.join(named)}"]

    @cached_property
    def required_inputs(self) -> frozenset[PartKind]:
        """The kinds that every request must contain."""
        return frozenset(kind for kind, limit in self.inputs.items() if limit.min_items)

    def unknown_options(self, params: GenerationParams) -> list[str]:
        """Returns the parameters of one modality that this backend does not know."""
        if not params.options or self.options is None:
            return []
        return sorted(params.options.keys() - self.options)

    def _is_simple_match(self, request: Request) -> bool:
        """Returns True if a request has only text and one output kind, and they fit.

        This quick check is enough for most requests.
        """
        wants = request.wants
        if len(wants) != 1 or wants[0] not in self.outputs or "text" not in self.inputs:
            return False
        if self.required_inputs:
            return False
        for message in request.messages:
            for part in message.content.parts:
                if part.kind != "text":
                    return False
        return True

    def _exceeded(self, request: Request) -> list[str]:
        media: dict[PartKind, list[Media]] = {}
        for message in request.messages:
            for part in message.content.parts:
                if part.media is not None:
                    media.setdefault(part.kind, []).append(part.media)
        gaps = []
        for kind in sorted(self.required_inputs):
            least, count = self.inputs[kind].min_items, len(media.get(kind, ()))
            if count < least:
                gaps.append(f"needs {least} {kind}, but the request has {count}")
        for kind, items in media.items():
            limit, count = self.inputs.get(kind, ANY), len(items)
            if limit.max_items is not None and count > limit.max_items:
                most = f"{limit.max_items} {kind} items"
                gaps.append(f"takes at most {most}, but the request has {count}")
            if limit.max_bytes is not None:
                largest = max(item.size for item in items)
                if largest > limit.max_bytes:
                    most = f"{limit.max_bytes} bytes of {kind}"
                    gaps.append(f"takes at most {most}, but one has {largest}")
        return gaps


def _limits(kinds: Sequence[str]) -> dict[PartKind, Limit]:
    limits: dict[PartKind, Limit] = {}
    for kind in kinds:
        if kind not in PART_KINDS:
            raise UnknownNameError("kind of part", kind, PART_KINDS)
        limits[kind] = ANY
    if "text" in limits:
        limits.setdefault("code", ANY)
    return limits
