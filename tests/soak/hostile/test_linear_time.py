"""Hostile texts and heads of files are read in time that grows with their length alone.

Measured in seconds of a processor, which other work on the machine does not lengthen."""

import contextlib
import io
import time
from collections.abc import Iterator

import pytest

from mmeval.content.media_type import MAX_BOXES, SNIFF_BYTES, handlers, sniff_mime
from mmeval.content.parts import split_reasoning
from mmeval.content.placeholders import SPELLINGS, find
from mmeval.judge.json_reply import MAX_CHARS, ReplyError, read_object


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < seconds


@pytest.mark.parametrize(
    "piece", [b"<!--", b"<!-- -->", b"OFF\n#\n", b"ply\ncomment \n", b"v 1 1 1", b" ", b"<?xml ", b"solid "]
)
def test_heads_of_files(piece: bytes) -> None:
    with within(1):
        sniff_mime((piece * SNIFF_BYTES)[:SNIFF_BYTES])
        sniff_mime((piece[:3] + piece[3:] * SNIFF_BYTES)[:SNIFF_BYTES])
        sniff_mime(b"v" + b" 1" * (SNIFF_BYTES // 2) + b"x")


@pytest.mark.parametrize("piece", [bytes(8), b"\0\0\0\x08free", b"\0\0\0\x04moov", b"\0\0\0\x01moov"])
def test_boxes_of_a_film(piece: bytes) -> None:
    data = piece * (20 * MAX_BOXES)
    for name in (b"mdia", b"trak", b"moov"):
        with within(1):
            assert handlers(io.BytesIO(data), len(data)) == set()
        data = (8 + len(data)).to_bytes(4) + name + data


@pytest.mark.parametrize("start", ["", "<", "<image", "<image1", "#image"])
@pytest.mark.parametrize(
    "piece", ["<", "<<<<image", "<<<<image1", " ", "<image ", "< ", "1", "<image_start>", "#image"]
)
def test_placeholders(start: str, piece: str) -> None:
    with within(1):
        assert len(list(find(start + piece * (200_000 // len(piece)), tuple(SPELLINGS)))) <= 20_000


@pytest.mark.parametrize("piece", ["<t>", "</t>", "<t></t>", "<t><t></t>", "a<t>b</t></t>"])
def test_reasoning(piece: str) -> None:
    with within(2):
        split_reasoning(piece * (200_000 // len(piece)), "<t>", "</t>")


@pytest.mark.parametrize("piece", ['{"a":', "{'", '{"a":{}x', '{"a":1},', '{"a":"\\', '{"a":[{"a":1},x'], ids=repr)
def test_replies_of_judges(piece: str) -> None:
    with within(4), contextlib.suppress(ReplyError):
        read_object(piece * (MAX_CHARS // len(piece)), ["b"])
