"""Decodes media within limits: pictures, sounds, frames, meshes, pages and text.

Media from models and data sets are hostile input. Every function here reads one medium.
The function does not rely on the name or the declared size of the medium, and never
opens a file or address that the medium refers to. It raises one of these errors:

    CorruptMediaError      the medium cannot be decoded; the message states the reason
    UnsupportedMediaError  its format, codec, depth or encryption is not supported
    MediaLimitError        it exceeds a limit; the message states limit and value
    MissingExtraError      a package is missing; the message states how to install it
    MissingDataError       the file is missing

Metrics share results: pictures, sounds, meshes and the text of documents are decoded
once per medium and limits, and cached with the medium (see ``memo``). Frames and pages
are streamed, and are decoded again at each call.
"""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
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
    from mmeval.media.decode.office.read import (
        OFFICE,
        Block,
        OfficeTable,
        office_blocks,
    )
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

__getattr__, __dir__ = door(__name__)
