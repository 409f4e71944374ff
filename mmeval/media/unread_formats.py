"""Formats that mmeval recognises by their first bytes but does not read.

An answer in one of these formats is not damaged. Its score is therefore unscored, never
0. The signatures are long enough that random bytes rarely match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_BINARY: tuple[tuple[bytes, str, str], ...] = (
    (rb"\xff\x0a|\0\0\0\x0cJXL \r\n\x87\n", "image/jxl", ".jxl"),
    (rb"\0\0\0\x0cjP  \r\n\x87\n|\xff\x4f\xff\x51\0", "image/jp2", ".jp2"),
    (rb"II\xbc\x01", "image/jxr", ".jxr"),
    (rb"\0\0[\x01\x02]\0[\x01-\xff]\0...\0", "image/x-icon", ".ico"),
    (rb"icns\0", "image/icns", ".icns"),
    (rb"8BPS\0[\x01\x02]", "image/vnd.adobe.photoshop", ".psd"),
    (rb"gimp xcf ", "image/x-xcf", ".xcf"),
    (rb"%!PS-Adobe-[^\n\r]{0,40}EPSF|\xc5\xd0\xd3\xc6", "image/x-eps", ".eps"),
    (rb"DDS \x7c\0\0\0", "image/vnd-ms.dds", ".dds"),
    (rb"v/1\x01[\x01\x02]", "image/x-exr", ".exr"),
    (rb"#\?(?:RADIANCE|RGBE)\n", "image/vnd.radiance", ".hdr"),
    (rb"qoif\0", "image/qoi", ".qoi"),
    (rb"BPG\xfb", "image/bpg", ".bpg"),
    (rb"P[4-6]\s[0-9]{1,9}\s[0-9]{1,9}\s", "image/x-portable-anymap", ".pnm"),
    (rb"\xd7\xcd\xc6\x9a\0\0", "image/wmf", ".wmf"),
    (rb"\x01\0\0\0.{36} EMF", "image/emf", ".emf"),
    (rb".{128}DICM", "image/dicom", ".dcm"),
    (rb"AT&TFORM.{4}DJV[UM]", "image/vnd.djvu", ".djvu"),
    (rb"#!AMR", "audio/amr", ".amr"),
    (rb"caff\0\x01", "audio/x-caf", ".caf"),
    (rb"MThd\0\0\0\x06|RIFF.{4}RMID", "audio/midi", ".mid"),
    (rb"\.snd\0\0", "audio/basic", ".au"),
    (rb"wvpk.{4}.\x04", "audio/x-wavpack", ".wv"),
    (rb"MAC .\x0f\0\0", "audio/x-ape", ".ape"),
    (rb"MPCKSH", "audio/x-musepack", ".mpc"),
    (rb"TTA1[\x01-\x03]\0", "audio/x-tta", ".tta"),
    (rb"DSD \x1c\0\0\0|FRM8.{8}DSD ", "audio/x-dsd", ".dsf"),
    (rb"Creative Voice File\x1a", "audio/x-voc", ".voc"),
    (rb"NIST_1A\n", "audio/x-nist", ".sph"),
    (rb"\.ra\xfd", "audio/x-realaudio", ".ra"),
    (rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video/x-ms-asf", ".asf"),
    (rb"\.RMF\0\0\0", "video/x-realmedia", ".rm"),
    (rb"\0\0\x01\xb3", "video/mpeg-es", ".m2v"),
    (rb"\0\0\0?\x01[\x27\x67]", "video/h264", ".h264"),
    (rb"\0\0\0\x01[\x40\x42]\x01", "video/h265", ".h265"),
    (rb"DKIF\0\0\x20\0", "video/x-ivf", ".ivf"),
    (rb"YUV4MPEG2 ", "video/x-yuv4mpeg", ".y4m"),
    (rb"\x06\x0e\x2b\x34\x02\x05\x01\x01", "video/mxf", ".mxf"),
    (rb"Kaydara FBX Binary", "model/x-fbx", ".fbx"),
    (rb"BLENDER(?:[-_]|17-01)v[0-9]{3}", "model/x-blender", ".blend"),
    (rb"PXR-USDC", "model/vnd.usdc", ".usdc"),
    (rb"MM.{4}\x02\0\x0a\0\0\0", "model/x-3ds", ".3ds"),
    (rb"Ogawa[\0\xff]\0", "model/x-alembic", ".abc"),
    (rb"DRACO[\x01\x02]", "model/x-draco", ".drc"),
    (rb"VOX .\0\0\0", "model/x-vox", ".vox"),
    (rb"FORM.{4}LWO[B23]", "model/x-lwo", ".lwo"),
    (rb"LASF\0", "model/x-las", ".las"),
    (rb"Rar!\x1a\x07", "application/vnd.rar", ".rar"),
    (rb"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed", ".7z"),
    (rb"\x1f\x8b\x08[\0-\x1f]", "application/gzip", ".gz"),
    (rb"BZh[1-9]1AY&SY", "application/x-bzip2", ".bz2"),
    (rb"\xfd7zXZ\0", "application/x-xz", ".xz"),
    (rb"\x28\xb5\x2f\xfd", "application/zstd", ".zst"),
    (rb".{257}ustar", "application/x-tar", ".tar"),
    (rb".{60}BOOKMOBI", "application/x-mobipocket-ebook", ".mobi"),
    (rb"\xffWPC", "application/vnd.wordperfect", ".wpd"),
)
"""The pattern of the first bytes, the MIME type and the file suffix."""
_TEXT: tuple[tuple[str, str, str], ...] = (
    (
        r"(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)?<COLLADA\s",
        "model/vnd.collada+xml",
        ".dae",
    ),
    (
        r"(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE X3D[^>]*>\s*)?<X3D\s",
        "model/x3d+xml",
        ".x3d",
    ),
    (r"#VRML V[12]", "model/vrml", ".wrl"),
    (r"#usda 1", "model/vnd.usda", ".usda"),
    (r"; FBX [0-9]", "model/x-fbx", ".fbx"),
    (r"ISO-10303-21;", "model/step", ".step"),
    (r"# \.PCD v", "model/x-pcd", ".pcd"),
    (r"# vtk DataFile Version", "model/x-vtk", ".vtk"),
)
"""The pattern of the first characters, the MIME type and the suffix of text formats."""
_BINARY_PATTERNS = tuple(
    (re.compile(pattern, re.DOTALL), mime) for pattern, mime, _ in _BINARY
)
_TEXT_PATTERNS = tuple(
    (re.compile(pattern, re.DOTALL), mime) for pattern, mime, _ in _TEXT
)
UNREAD_TEXTS = tuple(mime for _, mime, _ in _TEXT)
"""The MIME types of these formats that contain text. Their content is read where text
is needed."""
UNREAD_SUFFIXES: Mapping[str, str] = {
    mime: suffix for _, mime, suffix in (*_TEXT, *_BINARY)
}


def unread_mime(head: bytes) -> str:
    """Returns the MIME type of binary content, from its first bytes.

    The string is empty if no type matches.
    """
    for pattern, mime in _BINARY_PATTERNS:
        if pattern.match(head):
            return mime
    return ""


def unread_text_mime(text: str) -> str:
    """Returns the MIME type of a text, from its first characters.

    The string is empty if no type matches.
    """
    for pattern, mime in _TEXT_PATTERNS:
        if pattern.match(text):
            return mime
    return ""
