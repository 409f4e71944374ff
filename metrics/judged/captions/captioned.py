"""Captioned content: an answer, question or reference as text; states of captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.media import PartKind
from mmeval.records import CAUSES, Cause, Score


@dataclass(frozen=True)
class Caption:
    """The caption of one item of an answer, or why it is ``lost``.

    Where the answer has nothing readable, ``text`` is empty and nothing is lost, since
    this is the answer's fault; ``remarks`` say so, and how the medium was changed
    before it was captioned.
    """

    label: str
    kind: PartKind
    text: str = ""
    lost: str = ""
    cause: Cause = "lost"
    remarks: tuple[str, ...] = ()

    @property
    def evidence(self) -> dict[str, Any]:
        """The caption for people, as JSON."""
        said: dict[str, Any] = {
            "label": self.label,
            "kind": self.kind,
            "text": self.text,
        }
        if self.lost:
            said["lost"] = self.lost
        if self.remarks:
            said["remarks"] = list(self.remarks)
        return said


@dataclass(frozen=True)
class Captioned:
    """An answer as text, with its captions in order.
    Where one is lost the text is incomplete and must not be judged."""

    text: str
    captions: tuple[Caption, ...] = ()

    @property
    def lost(self) -> str:
        """Why the text is incomplete; empty when it is complete."""
        gone = [caption for caption in self.captions if caption.lost]
        if not gone:
            return ""
        why = f"no caption of {gone[0].label}: {gone[0].lost}"
        if len(gone) == 1:
            return why
        return f"{why} (and {len(gone) - 1} more)"

    @property
    def cause(self) -> Cause:
        """Whether asking again can help where a caption is lost."""
        causes = (caption.cause for caption in self.captions if caption.lost)
        return min(causes, key=CAUSES.index, default="lost")

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """The captions for people, as JSON."""
        return [caption.evidence for caption in self.captions]


def without_captions(
    contents: Mapping[str, Sequence[Captioned]], evidence: Mapping[str, Any]
) -> Score | None:
    """The score of a trial with a lost caption, unscored with bounds 0 and 1.
    It has the reason. ``contents`` are by name; None where all are complete."""
    for whose, each in contents.items():
        for words in each:
            if words.lost:
                return Score(
                    status="unscored",
                    reason=f"the {whose} cannot be shown whole: {words.lost}",
                    evidence=evidence,
                    bounds=(0.0, 1.0),
                    cause=words.cause,
                )
    return None
