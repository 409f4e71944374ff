"""Reads the files that a program has written to ``output/``.

They are read by descriptor: links are not followed and names are not kept. Each file is
decoded as a test, within the memory and the time of the program, since a file of a few
bytes may unpack to much more.
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

# Any: the results of the decoders are not used here.
_DECODERS: Mapping[str, Decoder[Any]] = {
    "image": image,
    "audio": audio,
    "video": video_info,
    "3d": mesh_arrays,
}
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,5}")


class Outputs(NamedTuple):
    """The files as parts of the answer.

    ``left_out`` lists the reasons why files are missing. ``too_many`` is True if the
    limit of files was reached.
    """

    parts: tuple[Part, ...] = ()
    left_out: tuple[str, ...] = ()
    too_many: bool = False


def outputs_of(folder: int, limits: ProgramLimits) -> Outputs:
    """Returns the regular files of an open folder as parts, ordered by name.

    The program must have ended. Decoding all files takes at most as long as the program
    may run.
    """
    names = sorted(os.listdir(folder))
    parts: list[Part] = []
    left_out: list[str] = []
    files = 0
    deadline = time.monotonic() + limits.seconds
    for name in names:
        if files == limits.files:
            left_out.append(
                f"output/ has {len(names)} entries; only {limits.files} files are taken"
            )
            return Outputs(tuple(parts), tuple(left_out), too_many=True)
        max_bytes = limits.file_mb * MIB
        try:
            with open_plain(name, folder=folder) as file:
                data = file.read(max_bytes + 1)
            is_readable = len(data) <= max_bytes
        except OSError:
            is_readable = False
        if not is_readable:
            left_out.append("an entry of output/ is not a readable regular file")
            continue
        files += 1
        seconds_left = deadline - time.monotonic()
        if seconds_left <= 0:
            left_out.append(
                f"files of output/ from number {files} on: decoding took more than "
                f"{limits.seconds:g} seconds"
            )
            break
        decode_limits = limits.of_decoding(len(data), seconds_left)
        part, fault = _part(data, name, files, decode_limits)
        if part is not None:
            parts.append(part)
        else:
            left_out.append(f"file {files} of output/: {fault}")
    return Outputs(tuple(parts), tuple(dict.fromkeys(left_out)))


def _part(
    data: bytes, name: str, number: int, limits: DecodeLimits
) -> tuple[Part | None, str]:
    """Returns the part of a file, or None and the reason.

    Only the suffix of its name is kept, since it shows the type of a text file.
    """
    if not data:
        return None, "it is empty"
    label = f"file{number}"
    suffix = PurePath(name).suffix
    if _SUFFIX.fullmatch(suffix):
        label += suffix
    media = Media.from_bytes(data, label)
    if media.mime == UNKNOWN_MIME:
        return None, "its type is unknown"
    # A medium caches its decoded content, so a second one is decoded.
    tried = Media.from_bytes(data, label)
    try:
        if media.mime == "application/pdf":
            page_count(tried, limits=limits)
        elif decoder := _DECODERS.get(media.kind):
            decoder(tried, limits=limits)
    except ContentError as error:
        return None, str(error)
    except MissingExtraError:  # later decoding reports the missing package
        pass
    return media_part(media), ""
