"""Capabilities of a backend: the kinds that it takes and gives, and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mmeval.errors import UnknownNameError
from mmeval.media.media import Media
from mmeval.media.parts import PART_KINDS, PartKind
from mmeval.records.request import GenerationParams, Request

OutputMode = Literal["single", "exclusive", "parallel", "interleaved"]
"""``single``: one kind ever; ``exclusive``: one kind a call; ``parallel``: several
kinds in a fixed order; ``interleaved``: free order and counts."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How much of one kind fits into a request. None: no limit that is known.

    ``formats`` are the MIME types that are sent as they are. The backend encodes others
    anew: pictures as PNG, sounds as WAV.
    """

    max_items: int | None = None
    max_bytes: int | None = None
    formats: frozenset[str] | None = None


ANY = Limit()


@dataclass(frozen=True)
class Capabilities:
    """What a backend can read and make. A mismatch is found before a request is
    sent."""

    inputs: Mapping[PartKind, Limit] = field(
        default_factory=lambda: {"text": ANY, "code": ANY}
    )
    outputs: Mapping[PartKind, Limit] = field(
        default_factory=lambda: {"text": ANY, "code": ANY}
    )
    output_mode: OutputMode = "single"
    declarable: frozenset[PartKind] = frozenset()
    """Kinds that it also gives when its argument ``outputs`` names them
    (``outputs=text+audio``)."""
    options: frozenset[str] | None = None
    """The parameters of one modality (``image.size``) that it knows; None where that is
    not known. It never gets one that it does not know: a user's is refused before the
    run, and one of a task file is left out with a warning."""
    by_role: Mapping[PartKind, str] = field(default_factory=dict)
    """The kinds that it would give if a role, such as a tool of an agent, had a
    backend."""

    @classmethod
    def of(
        cls,
        inputs: Sequence[str],
        outputs: Sequence[str],
        mode: OutputMode = "interleaved",
    ) -> Capabilities:
        """Capabilities by names of kinds; a backend that takes text takes code.
        Raises UnknownNameError for a kind that does not exist."""
        return cls(_limits(inputs), _limits(outputs), mode)

    def missing(self, request: Request) -> list[str]:
        """Why this backend cannot answer the request as asked; empty when it can."""
        if self._plainly_able(request):
            return []
        not_taken = request.kinds() - {"reasoning", *self.inputs}
        gaps = [f"takes no {kind}" for kind in sorted(not_taken)]
        not_given = [kind for kind in request.wants if kind not in self.outputs]
        gaps += [f"gives no {kind}" for kind in not_given]
        # code travels as text
        asked = {"text" if kind == "code" else kind for kind in request.wants}
        is_one_a_call = self.output_mode in ("single", "exclusive")
        if is_one_a_call and len(asked) > 1 and asked <= self.outputs.keys():
            gap = f"gives one kind a call, {'+'.join(request.wants)} wanted"
            if self.output_mode == "exclusive":
                gap += "; --protocol text_then_media asks for one after the other"
            gaps.append(gap)
        gaps += self._how_to_give(not_given)
        return gaps + self._exceeded(request)

    def _how_to_give(self, kinds: Sequence[PartKind]) -> list[str]:
        """What to write where only the user knows that the model gives these kinds, or
        where a role is missing."""
        flags: dict[str, None] = {}
        for kind in kinds:
            if kind in self.by_role:
                flags[f"--role {self.by_role[kind]}=BACKEND"] = None
        if flags:
            return [f"add {' '.join(flags)}"]
        if not kinds or not self.declarable.issuperset(kinds):
            return []
        named = [kind for kind in (*self.outputs, *kinds) if kind != "code"]
        return [f"if it does, say so among its arguments: outputs={'+'.join(named)}"]

    def unknown_options(self, params: GenerationParams) -> list[str]:
        """The parameters of one modality that it does not know."""
        if not params.options or self.options is None:
            return []
        return sorted(params.options.keys() - self.options)

    def _plainly_able(self, request: Request) -> bool:
        """The quick check of the usual request: text in, one kind out."""
        wants = request.wants
        if len(wants) != 1 or wants[0] not in self.outputs or "text" not in self.inputs:
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
        for kind, items in media.items():
            limit, count = self.inputs.get(kind, ANY), len(items)
            if limit.max_items is not None and count > limit.max_items:
                most = f"{limit.max_items} {kind} items"
                gaps.append(f"takes at most {most}, {count} given")
            if limit.max_bytes is not None:
                largest = max(item.size for item in items)
                if largest > limit.max_bytes:
                    most = f"{limit.max_bytes} bytes of {kind}"
                    gaps.append(f"takes at most {most}, {largest} given")
        return gaps


def _limits(kinds: Sequence[str]) -> dict[PartKind, Limit]:
    found: dict[PartKind, Limit] = {}
    for kind in kinds:
        if kind not in PART_KINDS:
            raise UnknownNameError("kind of part", kind, PART_KINDS)
        found[kind] = ANY
    if "text" in found:
        found.setdefault("code", ANY)
    return found
