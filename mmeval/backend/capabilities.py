"""Capabilities of a backend: the kinds that it takes and gives, and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mmeval.errors import UnknownNameError
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
        gaps = [
            f"takes no {kind}"
            for kind in sorted(request.kinds() - {"reasoning"})
            if kind not in self.inputs
        ]
        gaps += [
            f"gives no {kind}" for kind in request.wants if kind not in self.outputs
        ]
        # code travels as text
        asked = {"text" if kind == "code" else kind for kind in request.wants}
        if (
            self.output_mode in ("single", "exclusive")
            and len(asked) > 1
            and asked <= self.outputs.keys()
        ):
            how = (
                "; --protocol text_then_media asks for one after the other"
                if self.output_mode == "exclusive"
                else ""
            )
            gaps.append(f"gives one kind a call, {'+'.join(request.wants)} wanted{how}")
        return gaps + self._undeclared(request) + self._exceeded(request)

    def _undeclared(self, request: Request) -> list[str]:
        """What to write where only the user knows what the model gives, or where a role
        is missing."""
        more = [kind for kind in request.wants if kind not in self.outputs]
        if roles := dict.fromkeys(
            self.by_role[kind] for kind in more if kind in self.by_role
        ):
            return [f"add {' '.join(f'--role {role}=BACKEND' for role in roles)}"]
        if not more or not self.declarable.issuperset(more):
            return []
        kinds = [kind for kind in self.outputs if kind != "code"] + [
            kind for kind in more if kind != "code"
        ]
        return [f"if it does, say so among its arguments: outputs={'+'.join(kinds)}"]

    def unknown_options(self, params: GenerationParams) -> list[str]:
        """The parameters of one modality that it does not know."""
        return (
            sorted(params.options.keys() - self.options)
            if params.options and self.options is not None
            else []
        )

    def _plainly_able(self, request: Request) -> bool:
        """The quick check of the usual request: text in, one kind out."""
        wants = request.wants
        if len(wants) != 1 or wants[0] not in self.outputs or "text" not in self.inputs:
            return False
        return all(
            part.kind == "text"
            for message in request.messages
            for part in message.content.parts
        )

    def _exceeded(self, request: Request) -> list[str]:
        counts: dict[PartKind, list[int]] = {}
        for part in (part for item in request.messages for part in item.content.parts):
            if part.media is not None:
                has_limit = self.inputs.get(part.kind, ANY).max_bytes is not None
                counts.setdefault(part.kind, []).append(
                    part.media.size if has_limit else 0
                )
        gaps = []
        for kind, sizes in counts.items():
            limit = self.inputs.get(kind, ANY)
            if limit.max_items is not None and len(sizes) > limit.max_items:
                gaps.append(
                    f"takes at most {limit.max_items} {kind} items, {len(sizes)} given"
                )
            if limit.max_bytes is not None and max(sizes) > limit.max_bytes:
                gaps.append(
                    f"takes at most {limit.max_bytes} bytes of {kind}, {max(sizes)} "
                    "given"
                )
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
