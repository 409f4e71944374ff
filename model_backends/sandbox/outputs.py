"""The files that a program has left in ``output/``, read by descriptor: no link is
followed, no name is kept.

Whether they can be decoded is tried here, within the memory and the time of the
program: a file of some bytes may hold more than that.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from mmeval.errors import ContentError, MissingExtraError
from mmeval.media import UNKNOWN_MIME, Media, Part, media_part
from mmeval.media.decode import (
    DecodeLimits,
    Decoder,
    audio,
    image,
    mesh_arrays,
    page_count,
    video_info,
)
from mmeval.model_backends.sandbox.limits import MIB, ProgramLimits
from mmeval.system import open_plain

# Any: each decoder has its own result, of which nothing is wanted here.
_DECODERS: Mapping[str, Decoder[Any]] = {
    "image": image,
    "audio": audio,
    "video": video_info,
    "3d": mesh_arrays,
}
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,5}")


class Outputs(NamedTuple):
    """``left_out`` says why files are not parts. ``too_many``: a bound of files was
    reached."""

    parts: tuple[Part, ...] = ()
    left_out: tuple[str, ...] = ()
    too_many: bool = False


def outputs_of(folder: int, limits: ProgramLimits) -> Outputs:
    """The regular files of an open folder as parts, by name. Nothing of the program
    runs any more. Decoding them takes the program's seconds at most, all together."""
    names = sorted(os.listdir(folder))
    parts: list[Part] = []
    left_out: list[str] = []
    files = 0
    until = time.monotonic() + limits.seconds
    for name in names:
        if files == limits.files:
            left_out.append(
                f"{len(names)} entries in output/, of which {limits.files} files are "
                "taken"
            )
            return Outputs(tuple(parts), tuple(left_out), too_many=True)
        most = limits.file_mb * MIB
        try:
            with open_plain(name, folder=folder) as file:
                data = file.read(most + 1)
            is_readable = len(data) <= most
        except OSError:
            is_readable = False
        if not is_readable:
            left_out.append("an entry of output/ that is no readable regular file")
            continue
        files += 1
        left = until - time.monotonic()
        if left <= 0:
            left_out.append(
                f"files of output/ from number {files} on: decoding took more than "
                f"{limits.seconds:g} seconds"
            )
            break
        bounds = limits.of_decoding(len(data), left)
        part, fault = _part(data, name, files, bounds)
        if part is not None:
            parts.append(part)
        else:
            left_out.append(f"file {files} of output/: {fault}")
    return Outputs(tuple(parts), tuple(dict.fromkeys(left_out)))


def _part(
    data: bytes, name: str, number: int, limits: DecodeLimits
) -> tuple[Part | None, str]:
    """The part of a file; None with why there is none. Of its name the suffix says what
    kind of text it is."""
    if not data:
        return None, "it is empty"
    label = f"file{number}"
    suffix = PurePath(name).suffix
    if _SUFFIX.fullmatch(suffix):
        label += suffix
    media = Media.from_bytes(data, label)
    if media.mime == UNKNOWN_MIME:
        return None, "it is of no known type"
    # what is decoded stays with its medium: another one leaves the answer's without
    tried = Media.from_bytes(data, label)
    try:
        if media.mime == "application/pdf":
            page_count(tried, limits=limits)
        elif decoder := _DECODERS.get(media.kind):
            decoder(tried, limits=limits)
    except ContentError as error:
        return None, str(error)
    except MissingExtraError:  # what opens it later is missing then, too
        pass
    return media_part(media), ""
