"""Text for a judge, in which captions replace the media."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.media import PartKind
from mmeval.records import CAUSES, Cause, Score


@dataclass(frozen=True)
class MediumCaption:
    """The caption of an item of an answer, or the reason why the caption is ``lost``.

    If the answer contains no readable medium for the item, ``text`` is empty, but the
    caption is not lost, since the answer is at fault. ``remarks`` report the fault, and
    any change to the medium before it was captioned.
    """

    label: str
    kind: PartKind
    text: str = ""
    lost: str = ""
    cause: Cause = "lost"
    remarks: tuple[str, ...] = ()

    @property
    def evidence(self) -> dict[str, Any]:
        """The caption as JSON."""
        evidence: dict[str, Any] = {
            "label": self.label,
            "kind": self.kind,
            "text": self.text,
        }
        if self.lost:
            evidence["lost"] = self.lost
        if self.remarks:
            evidence["remarks"] = list(self.remarks)
        return evidence


@dataclass(frozen=True)
class CaptionedContent:
    """An answer as text, with its captions in order.

    If a caption is lost, the text is incomplete and must not be judged.
    """

    text: str
    captions: tuple[MediumCaption, ...] = ()

    @property
    def lost(self) -> str:
        """The reason why the text is incomplete; empty if the text is complete."""
        lost = [caption for caption in self.captions if caption.lost]
        if not lost:
            return ""
        reason = f"no caption of {lost[0].label}: {lost[0].lost}"
        if len(lost) == 1:
            return reason
        return f"{reason} (and {len(lost) - 1} more)"

    @property
    def cause(self) -> Cause:
        """The cause of the lost captions.

        The cause shows if another attempt can help.
        """
        # CAUSES begins with the cause where another attempt can help most.
        causes = (caption.cause for caption in self.captions if caption.lost)
        return min(causes, key=CAUSES.index, default="lost")

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """The captions as JSON."""
        return [caption.evidence for caption in self.captions]


def missing_caption_score(
    contents: Mapping[str, Sequence[CaptionedContent]], evidence: Mapping[str, Any]
) -> Score | None:
    """Returns an unscored score with bounds 0 and 1 if a caption is lost, else None.

    ``contents`` maps the names that the reason uses to the captioned contents.
    """
    for name, captioned in contents.items():
        for content in captioned:
            if content.lost:
                return Score(
                    status="unscored",
                    reason=f"the {name} cannot be shown whole: {content.lost}",
                    evidence=evidence,
                    bounds=(0.0, 1.0),
                    cause=content.cause,
                )
    return None
