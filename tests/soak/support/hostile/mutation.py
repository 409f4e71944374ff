"""Fuzzing: valid media, changed at random in ways that can be repeated, put to every
decoder that takes their kind.

A process that is meant to be started for it: ``python -m tests.soak.support.hostile.mutation
COUNT SEED`` prints a row of JSON before each case and one for each that did not end as
it should."""

import json
import random
import resource
import struct
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from mmeval.errors import ContentError
from mmeval.media.media import Media
from tests.soak.support.hostile.opening import OPENERS
from tests.support import tiny_media as tiny

SLOW_SECONDS = 2.0
MOST_KIB = 200 * 1024
HEAD = 100
_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


class Whole(NamedTuple):
    """A medium that is valid, and those who are to open what becomes of it."""

    name: str
    openers: tuple[str, ...]
    data: bytes


def media() -> Iterator[Whole]:
    """One of every format."""
    for form in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"):
        yield Whole(form, ("image",), tiny.picture(form, size=(33, 17)))
    for form, coding in (
        ("WAV", None),
        ("W64", None),
        ("RF64", None),
        ("FLAC", None),
        ("OGG", "VORBIS"),
        ("MP3", None),
        ("AIFF", None),
    ):
        yield Whole(form, ("audio",), tiny.sound(form, coding, frames=4000))
    for form, codec in (
        ("mp4", "mpeg4"),
        ("webm", "vp9"),
        ("avi", "mpeg4"),
        ("flv", "flv"),
        ("mpegts", "mpeg2video"),
    ):
        yield Whole(form, ("video", "video_info"), tiny.clip(form, codec, frames=5))
    yield Whole(
        "mp4 with sound", ("audio", "video"), tiny.clip(frames=5, with_sound=True)
    )
    yield Whole("pdf", ("pages", "document_text"), tiny.pdf(pages=2))
    yield Whole("svg", ("image",), _SVG)
    plain = {
        "obj": tiny.PLAIN_OBJ,
        "off": tiny.PLAIN_OFF,
        "ply": tiny.PLAIN_PLY,
        "stl": tiny.PLAIN_STL,
    }
    for name, mesh in {
        **plain,
        "binary stl": tiny.binary_stl(3),
        "glb": tiny.glb(),
        "gltf": tiny.gltf(),
    }.items():
        yield Whole(name, ("mesh",), mesh)
    for name, office in {
        "docx": tiny.word("Dear guest"),
        "xlsx": _SHEET,
        "pptx": _SLIDE,
    }.items():
        yield Whole(name, ("document_text",), office)
    yield Whole("text", ("document_text",), "a text with ä and ö, 漢字\n".encode())


_SHEET = tiny.workbook({"Food": tiny.row(1, tiny.words_in("A1", "x"))})
_SLIDE = tiny.slides("<a:p><a:r><a:t>First</a:t></a:r></a:p>")
_SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" viewBox="0 0 20 '
    b'20"><defs><g id="a"><path '
    b'd="M0 0L9 9C1 2 3 4 5 6z" fill="url(#b)"/></g><linearGradient id="b"><stop '
    b'offset="0.5" stop-color="red"/>'
    b'</linearGradient></defs><use href="#a" transform="rotate(9)"/><text x="1" '
    b'y="9">words</text></svg>'
)


def mutated(data: bytes, other: bytes, dice: random.Random) -> bytes:
    """Some bytes changed, a number replaced by a telling one, a piece cut, repeated, or
    taken from another medium."""
    found = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        at, start = dice.randrange(len(found) + 1), dice.randrange(len(other) + 1)
        length = min(len(found) - at, dice.choice((1, 4, 30, 300)))
        number = struct.pack(f"{dice.choice('<>')}I", dice.choice(_NUMBERS))
        end, piece = dice.choice(
            (
                (at + 1, bytes([dice.randrange(256)])),
                (at + 4, number),
                (at + length, b""),
                (len(found), b""),
                (at, found[at : at + length] * dice.choice((1, 2, 50))),
                (at, other[start : start + length]),
            )
        )
        found[at:end] = piece
    return bytes(found)


def shortened(data: bytes, dice: random.Random) -> bytes:
    """Some words fewer, everywhere the same ones of a line."""
    lines = [line.split(b" ") for line in data.split(b"\n")]
    at = dice.randrange(max(map(len, lines)))
    kept = (
        line[:at] + line[at + 1 :] if dice.random() < 0.9 else line
        for line in lines * dice.choice((1, 2))
    )
    return b"\n".join(map(b" ".join, kept))


def lies(data: bytes) -> Iterator[bytes]:
    """The medium with a telling number at each place of its first bytes, where headers
    state sizes and counts."""
    for at in range(min(len(data) - 4, HEAD)):
        for number in (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xf0", bytes(4)):
            yield data[:at] + number + data[at + 4 :]


def main(count: int, seed: int) -> None:
    whole = list(media())
    for item in whole:
        mime = Media.from_bytes(item.data, f"a.{item.name}").mime
        dice = [
            random.Random(f"{seed} {number} {item.name}") for number in range(count)
        ]
        changed = [mutated(item.data, one.choice(whole).data, one) for one in dice]
        words = (
            [shortened(item.data, one) for one in dice]
            if b"\0" not in item.data
            else []
        )
        for number, data in enumerate((*changed, *words, *lies(item.data))):
            for opener in item.openers:
                print(json.dumps([item.name, opener, number]), flush=True)
                fault = _fault(
                    opener, Media(data=data, mime=mime, size=len(data), name="a")
                )
                if fault:
                    print(
                        json.dumps(
                            [item.name, opener, number, fault, data.hex()[:4000]]
                        ),
                        flush=True,
                    )


def _fault(opener: str, medium: Media) -> str:
    """What is wrong with the way in which it ended; empty where nothing is."""
    start = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        OPENERS[opener](medium)
    except ContentError as error:
        if not str(error):
            return "an empty message"
    except Exception as error:
        return f"untyped {type(error).__name__}: {error}"
    took = time.process_time() - start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    return f"{took:.1f} seconds" * (took > SLOW_SECONDS) or f"{grown} KiB" * (
        grown > MOST_KIB
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
