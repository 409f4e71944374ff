"""Parts, media, placeholders and encoding of interleaved content."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.media.embedded import DATA_URI, base64_bytes
    from mmeval.media.encode import mp4, png, wav
    from mmeval.media.media import MEDIA_KINDS, Media, kind_for, may_be, path_inside
    from mmeval.media.media_type import (
        SNIFF_BYTES,
        UNKNOWN_MIME,
        sniff_mime,
        suffix_for,
    )
    from mmeval.media.parts import (
        PART_KINDS,
        TEXT_ITEM,
        Interleaved,
        Part,
        PartKind,
        media_part,
        text_item,
        text_part,
    )
    from mmeval.media.placeholders import (
        SpellingName,
        Tag,
        TagKind,
        canonical_label,
        find,
        label_kind,
        render,
    )

__all__ = [
    "DATA_URI",
    "MEDIA_KINDS",
    "PART_KINDS",
    "SNIFF_BYTES",
    "TEXT_ITEM",
    "UNKNOWN_MIME",
    "Interleaved",
    "Media",
    "Part",
    "PartKind",
    "SpellingName",
    "Tag",
    "TagKind",
    "base64_bytes",
    "canonical_label",
    "find",
    "kind_for",
    "label_kind",
    "may_be",
    "media_part",
    "mp4",
    "path_inside",
    "png",
    "render",
    "sniff_mime",
    "suffix_for",
    "text_item",
    "text_part",
    "wav",
]

__getattr__, __dir__ = door(__name__)
