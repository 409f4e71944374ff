"""Makes the text that UniM's released script judges, with one function per oddity.

The script is ``evaluation/interleaved_coherence`` in the authors' repository. It writes
each caption after its tag. In the script, an answer is a string and a mapping from tags
to paths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mmeval.media import Part, canonical_label

_TAG = re.compile(r"<((?:image|document|audio|video|code|threeD)[0-9]+)>")
"""A tag in single brackets. The outer brackets of a double pair are kept. ``<3d1>`` is
not a tag."""
_MARKER = "assistant\n"


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
