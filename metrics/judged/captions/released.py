"""Makes the text that UniM's released script judges, and the calls for its captions.

The script is ``evaluation/interleaved_coherence`` in the authors' repository. It writes
each caption after its tag. In the script, an answer is a string and a mapping from tags
to paths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mmeval.media import Part, PartKind, canonical_label, suffix_for
from mmeval.metrics.judged.material import Material
from mmeval.program import PromptFile
from mmeval.records import Sample

_TAG = re.compile(r"<((?:image|document|audio|video|code|threeD)[0-9]+)>")
"""A tag in single brackets. The outer brackets of a double pair are kept. ``<3d1>`` is
not a tag."""
_MARKER = "assistant\n"
VALUES = ("file", "extracted", "subject", "answer", "caption")
"""The values of released prompts, besides the kind and the medium."""
NOT_EXTRACTED = "N/A"
_UNSEEN_TYPES = (
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "text/plain",
)


@dataclass(frozen=True)
class Captioned:
    """A part to caption, with what a released prompt also shows.

    ``subject`` is the domain of the sample. ``answer`` is the answer that contains the
    part, which only the official call for a 3D object shows.
    """

    part: Part
    subject: str = ""
    answer: str = NOT_EXTRACTED
    official: bool = False

    @property
    def values(self) -> Material:
        """The values of a released prompt. The name of a file is neutral."""
        media = self.part.media
        suffix = "" if media is None else suffix_for(media.mime)
        return {
            "file": f"{self.part.label}{suffix}",
            "extracted": NOT_EXTRACTED,
            "subject": self.subject,
            "answer": self.answer,
        }

    @property
    def is_unseen(self) -> bool:
        """True if the script does not show the document to the captioner.

        Official oddity: of a PDF, a Word document and plain text, the script only sends
        the path.
        """
        media = self.part.media
        return self.official and media is not None and media.mime in _UNSEEN_TYPES


def domain_of(sample: Sample) -> str:
    """Returns the domain of a sample of UniM; empty for other samples."""
    domain = sample.metadata.get("domain")
    return domain if isinstance(domain, str) else ""


def summary_prompt(prompt: PromptFile) -> PromptFile | None:
    """Returns the prompt that shortens a caption, or None if there is none."""
    then = prompt.released_call.get("then")
    return None if then is None else PromptFile.of(then)


def to_summarise(kind: PartKind, caption: str) -> str:
    """Returns a caption as the script passes it on.

    The script numbers the segments of a video. mmeval sends a video as one segment.
    """
    if kind == "video":
        return f"[Segment 1] {caption.strip()}"
    return caption.strip()


def tags(text: str) -> frozenset[str]:
    """Returns the labels of the tags that the script would replace."""
    return frozenset(canonical_label(tag) for tag in _TAG.findall(text))


def marked_up(text: str, captions: Mapping[str, str]) -> str:
    """Writes ``<tag:caption>`` for each captioned tag (``replace_placeholders``)."""

    def written(tag: re.Match[str]) -> str:
        caption = captions.get(canonical_label(tag[1]))
        if caption is None:
            return tag[0]
        return f"<{tag[1]}:{caption}>"

    return _TAG.sub(written, text)


def useful_words(reply: str) -> str:
    """Returns the part of a captioner's reply that the script uses.

    This part is the text after the first line that ends in ``assistant``. A captioner
    writes this line when it repeats its prompt. The script's function is
    ``extract_caption``.
    """
    _, marker, after = reply.partition(_MARKER)
    return (after if marker else reply).strip()


def not_found(label: str) -> str:
    """Returns the text for an item with a missing file. The wording is mmeval's own."""
    return f"No file of {label} was found."


def is_not_found(part: Part) -> bool:
    """Returns True if the script finds no file for an item.

    The script treats every value as a path, so it finds no file for code that is text.
    """
    if part.media is None:
        return part.text is not None
    return part.media.path is not None and not part.media.path.is_file()
