import numpy as np
import pytest

from mmeval.media.media import kind_for
from mmeval.media.media_type import UNKNOWN_MIME, sniff_mime, suffix_for
from mmeval.media.unread_formats import unread_mime

HEADS: dict[str, tuple[bytes, ...]] = {
    "image/jxl": (b"\xff\x0a\xfa\x1f", b"\0\0\0\x0cJXL \r\n\x87\n"),
    "image/jp2": (b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51\0\x29"),
    "image/x-icon": (b"\0\0\1\0\1\0\x10\x10\0\0\1\0",),
    "image/vnd.adobe.photoshop": (b"8BPS\0\1",),
    "image/x-exr": (b"v/1\1\2\0\0\0",),
    "image/vnd.radiance": (b"#?RADIANCE\n",),
    "image/x-portable-anymap": (b"P6\n8 4\n255\n",),
    "audio/amr": (b"#!AMR\n", b"#!AMR-WB\n"),
    "audio/basic": (b".snd\0\0\0\x18",),
    "audio/midi": (b"MThd\0\0\0\6", b"RIFF\4\0\0\0RMIDdata"),
    "audio/x-caf": (b"caff\0\1",),
    "video/x-ms-asf": (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11",),
    "video/h264": (b"\0\0\0\1\x67\x42",),
    "model/x-fbx": (b"Kaydara FBX Binary  \0",),
    "model/x-blender": (b"BLENDER-v300",),
    "model/x-3ds": (b"MM\x20\0\0\0\2\0\x0a\0\0\0",),
    "model/vnd.usdc": (b"PXR-USDC\0",),
    "application/vnd.rar": (b"Rar!\x1a\7\1\0",),
    "application/x-tar": (bytes(257) + b"ustar\0",),
}
TEXTS = {
    "model/vnd.collada+xml": "<?xml version='1.0'?>\n<COLLADA version='1'>",
    "model/x3d+xml": "<X3D profile='a'>",
    "model/vnd.usda": "#usda 1.0\n",
    "model/vrml": "#VRML V2.0 utf8\n",
    "model/step": "ISO-10303-21;\nHEADER;",
    "model/x-fbx": "; FBX 7.4.0 project file\n",
}


@pytest.mark.parametrize("mime", HEADS)
def test_a_format_is_known_by_its_first_bytes(mime: str) -> None:
    assert {sniff_mime(head) for head in HEADS[mime]} == {mime}


@pytest.mark.parametrize("mime", TEXTS)
def test_a_format_of_text_is_known_unless_its_name_says_more(mime: str) -> None:
    text = TEXTS[mime].encode()
    assert sniff_mime(text, "scene") == mime
    assert sniff_mime(text, "scene.py") == "text/x-python"


def test_a_format_has_the_kind_and_the_suffix_of_its_files() -> None:
    assert (kind_for("image/jxl"), suffix_for("image/jxl")) == ("image", ".jxl")
    assert (kind_for("model/x-fbx"), suffix_for("model/x-fbx")) == ("3d", ".fbx")
    assert kind_for("application/x-tar") == "document"


def test_noise_is_of_no_known_format() -> None:
    noise = np.random.default_rng(3)
    mimes = [unread_mime(noise.bytes(4096)) for _ in range(300)]
    assert mimes == [""] * 300
    assert sniff_mime(bytes(range(256))) == UNKNOWN_MIME


@pytest.mark.parametrize(
    "words", ["Ogawa is a name", "MAC addresses", "FORM 1", "P6 is a size", "BLENDER"]
)
def test_words_that_begin_like_a_signature_are_words(words: str) -> None:
    assert sniff_mime(words.encode()) == "text/plain"
