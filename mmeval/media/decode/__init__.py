"""Decodes media within limits: pictures, sounds, frames, meshes, pages and text.

What a model or a data set delivers is hostile until it is decoded. Every function here
reads one medium, relies neither on its name nor on what it declares, follows no
reference out of its bytes, and raises one of

    CorruptMediaError      it cannot be decoded: which medium, and why
    UnsupportedMediaError  it has a format, codec, depth or password that is not read here
    MediaLimitError        it is larger than a limit: which limit, its value, what was found
    MissingExtraError      the package that decodes it is not installed: the command that installs it
    MissingDataError       its file has gone

Metrics share what is decoded: a picture, a sound, a mesh and the words of a document
are decoded once for a medium and its limits, and kept with the medium (see ``memo``).
Frames and pages are streams, decoded whenever they are asked for.
"""  # noqa: E501

from mmeval.media.decode.av.sound import Audio, SoundStart, audio, sound_start
from mmeval.media.decode.av.video import (
    Frame,
    VideoInfo,
    frame_count,
    frames_at,
    frames_by_change,
    video,
    video_info,
)
from mmeval.media.decode.container_header import whole_wave
from mmeval.media.decode.document import (
    TextBox,
    document_start,
    document_text,
    page_boxes,
    page_count,
    pages,
)
from mmeval.media.decode.limits import DEFAULT_LIMITS, DecodeLimits, within
from mmeval.media.decode.memo import Decoder, decoded_once
from mmeval.media.decode.mesh import (
    MeshArrays,
    mesh_arrays,
    point_arrays,
    raw_mesh_arrays,
)
from mmeval.media.decode.office.read import OFFICE, Block, OfficeTable, office_blocks
from mmeval.media.decode.picture import image, stored_image

__all__ = [
    "DEFAULT_LIMITS",
    "OFFICE",
    "Audio",
    "Block",
    "DecodeLimits",
    "Decoder",
    "Frame",
    "MeshArrays",
    "OfficeTable",
    "SoundStart",
    "TextBox",
    "VideoInfo",
    "audio",
    "decoded_once",
    "document_start",
    "document_text",
    "frame_count",
    "frames_at",
    "frames_by_change",
    "image",
    "mesh_arrays",
    "office_blocks",
    "page_boxes",
    "page_count",
    "pages",
    "point_arrays",
    "raw_mesh_arrays",
    "sound_start",
    "stored_image",
    "video",
    "video_info",
    "whole_wave",
    "within",
]
