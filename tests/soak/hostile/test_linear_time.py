"""Hostile texts and heads of files are read in time that grows with their length alone.

Measured in seconds of a processor, which other work on the machine does not lengthen."""

import contextlib
import io
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mmeval.content.media_type import MAX_BOXES, SNIFF_BYTES, handlers, sniff_mime
from mmeval.content.parts import split_reasoning
from mmeval.content.placeholders import SPELLINGS, find
from mmeval.judge.json_reply import MAX_CHARS, ReplyError, read_object
from mmeval.metric.contract import load_metric
from mmeval.metrics.judged.code_quality import unwrapped
from mmeval.metrics.text.choice import find_choice
from mmeval.metrics.text.constraints import all_met, constraints_of
from mmeval.metrics.text.words import count_words
from tests.support.picture_judging import trial_of
from tests.support.trials import score_of


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


# A text of the following that is read in more than linear time reaches the limit of a test.
ANIMALS = {"A": "a cat", "B": "a dog", "C": "a hot dog", "D": "an owl"}
LISTED = ("Answer: B, ", "B or ", "not the answer is ")


@pytest.mark.parametrize("noise", ["the answer is ", "\n", " \n", "(", "A is ", "option ", "not ", *LISTED])
def test_a_choice(noise: str) -> None:
    assert find_choice("x" + noise * 50_000 + "\nAnswer: B", ANIMALS).letter == "B"


def test_constraints() -> None:
    label = [["length_word", "== 400000"], ["keyword_count", "word", "== 400000"]]
    assert all_met("word " * 400_000, constraints_of(label)).met


@pytest.mark.parametrize("noise", ["'", "''", ". ", "a.", "n't ", "`", '"', ": ", "can", "'s' ", "-", "more'n"])
def test_words(noise: str) -> None:
    assert count_words("word " + noise * 100_000) >= 1


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("piece", ["{", "}", '["', "<text>", "<count>1", "<<", "{}", "[]\n", '{"a":', "<image_start>"])
def test_a_self_description(piece: str, profile: str) -> None:
    labels: dict[str, Any] = {"object": ["cup", "rug"], "color": ["red", "blue"]}
    trial = trial_of(piece * (1_000_000 // len(piece)), **labels)
    for kind in ("count", "text", "colors", "sizes", "letters", "pattern", "words"):
        assert score_of(load_metric("self_description"), trial, profile, kind=kind).status == "scored"


@pytest.mark.parametrize(
    "code", ["```" + " " * 300_000, "`" * 300_000, "```\n" + "``` \n" * 99_999], ids=["blanks", "run", "lines"]
)
def test_code_in_fences(code: str) -> None:
    assert unwrapped(code) == (code, "")
