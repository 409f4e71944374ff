"""Captioned content: an answer, a question or a reference in words, with what became of each of its captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.content import PartKind
from mmeval.records import CAUSES, Cause, Score


@dataclass(frozen=True)
class Caption:
    """What is known of one item of an answer: its caption, or ``lost``, why there is none.

    ``text`` is empty and nothing is lost where nothing readable was given: that is the answer's own fault. ``remarks``
    say so, and what was done to the medium before it was captioned.
    """

    label: str
    kind: PartKind
    text: str = ""
    lost: str = ""
    cause: Cause = "lost"
    remarks: tuple[str, ...] = ()

    @property
    def evidence(self) -> dict[str, Any]:
        """For people, as JSON."""
        said: dict[str, Any] = {"label": self.label, "kind": self.kind, "text": self.text}
        if self.lost:
            said["lost"] = self.lost
        return {**said, "remarks": list(self.remarks)} if self.remarks else said


@dataclass(frozen=True)
class Captioned:
    """An answer in words, with its captions in order. Where one is lost the text is not whole, and no judge should be
    shown it."""

    text: str
    captions: tuple[Caption, ...] = ()

    @property
    def lost(self) -> str:
        """Why the text is not whole; empty when it is."""
        gone = [caption for caption in self.captions if caption.lost]
        more = f" (and {len(gone) - 1} more)" if len(gone) > 1 else ""
        return f"no caption of {gone[0].label}: {gone[0].lost}{more}" if gone else ""

    @property
    def cause(self) -> Cause:
        """What asking again does where a caption is lost."""
        causes = {caption.cause for caption in self.captions if caption.lost}
        return next((cause for cause in CAUSES if cause in causes), "lost")

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """The captions for people, as JSON."""
        return [caption.evidence for caption in self.captions]


def without_captions(contents: Mapping[str, Sequence[Captioned]], evidence: Mapping[str, Any]) -> Score | None:
    """The score of a trial of which the judge cannot be shown all: unscored from 0 to 1, and why. ``contents`` are by
    what they are called; None where all are whole."""
    for whose, words in ((whose, words) for whose, each in contents.items() for words in each):
        if words.lost:
            reason = f"the {whose} cannot be shown whole: {words.lost}"
            return Score(status="unscored", reason=reason, evidence=evidence, bounds=(0.0, 1.0), cause=words.cause)
    return None
