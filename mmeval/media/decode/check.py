"""Checks whether media can be decoded, within a time limit (``mmeval check``)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mmeval.errors import (
    ContentError,
    MissingError,
    MissingExtraError,
    UnsupportedMediaError,
)
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.from_error import finding_of
from mmeval.media import decode
from mmeval.media.media import Media, MediaKind, may_be
from mmeval.media.media_type import TEXT_MIMES, UNKNOWN_MIME
from mmeval.media.parts import Part

SECONDS = 60.0
"""The maximum number of seconds that a command spends on decoding media, for all
tasks."""

# Any: each decoder has its own type of result, which is not used here.
_DECODERS: Mapping[MediaKind, Callable[[Media], Any]] = {
    "image": decode.image,
    "audio": decode.audio,
    "video": decode.video_info,
    "3d": decode.mesh_arrays,
}


@dataclass
class MediaCheck:
    """Decodes media until the time is over.

    Pictures, sounds and meshes are decoded completely. For videos and PDFs, only the
    declared properties are read. Media without a decoder are ignored.
    """

    seconds: float = SECONDS
    spent: float = 0.0
    looked_at: int = 0
    passed_over: int = 0
    """The number of media that were not decoded because the time was over."""
    lacking: dict[MissingExtraError, set[MediaKind]] = field(default_factory=dict)
    """Missing packages, with the kinds of media that could not be decoded."""
    unsupported: list[str] = field(default_factory=list)
    """The reasons why mmeval does not read some media. This is not a fault, because a
    model may read these media."""

    def fault(self, media: Media) -> str:
        """Returns why a medium cannot be decoded.

        The string is empty if the medium can be decoded, or was not decoded.
        """
        if self.spent >= self.seconds:
            self.passed_over += 1
            return ""
        start = time.monotonic()
        try:
            if media.mime == "application/pdf":
                decode.page_count(media)
            elif media.kind in _DECODERS:
                _DECODERS[media.kind](media)
        except MissingExtraError as error:
            for known_error in self.lacking:
                if known_error.command == error.command:
                    self.lacking[known_error].add(media.kind)
                    return ""
            self.lacking[error] = {media.kind}
            return ""
        except UnsupportedMediaError as error:
            self.unsupported.append(str(error))
        except (ContentError, MissingError) as error:
            self.looked_at += 1
            return str(error)
        finally:
            self.spent += time.monotonic() - start
        self.looked_at += 1
        return ""

    def findings(self) -> Iterator[Finding]:
        """Yields findings about media that were not decoded.

        The cause is a missing package, an unsupported format, or the end of the time.
        """
        for error, kinds in self.lacking.items():
            subject = Subject(name=", ".join(sorted(kinds)))
            yield finding_of(error, subject, "warning")
        if self.unsupported:
            cause = f"mmeval does not read media such as: {self.unsupported[0]}"
            yield Finding("unsupported", count=len(self.unsupported), cause=cause)
        if self.passed_over:
            yield Finding(
                "subset",
                count=self.passed_over,
                of=self.looked_at + self.passed_over,
                cause=f"media were not decoded within {self.spent:.0f} seconds",
                severity="note",
            )


def medium_problem(part: Part, media: Media) -> str:
    """Returns the fault of a medium's type or size.

    The string is empty for a medium without a fault. Code may have any type of text.
    """
    try:
        mime, size = media.mime, media.size
    except (MissingError, ContentError) as error:
        return str(error)
    except OSError as error:
        return f"{media.path}: cannot be read ({error.strerror})"
    if not size:
        return f"{media.path or media.name} is empty"
    if mime == UNKNOWN_MIME:
        return f"{media.path or media.name} has an unknown type"
    is_code = part.kind == "code" and mime.startswith(TEXT_MIMES)
    if not is_code and not may_be(part.kind, mime):
        return (
            f"{media.path or media.name} should be of kind {part.kind}, but its "
            f"content is {mime}"
        )
    return ""
