"""Hostile texts and heads of files are read in time that grows with their length
alone."""

import contextlib
import gc
import io
import time
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from mmeval.media.media_type import MAX_BOXES, SNIFF_BYTES, handlers, sniff_mime
from mmeval.media.parts import split_reasoning
from mmeval.media.placeholders import SPELLINGS, find
from mmeval.metric.contract import load_metric
from mmeval.metric.judge.json_reply import MAX_CHARS, ReplyError, read_object
from mmeval.metrics.judged.code_quality import unwrapped
from mmeval.metrics.text.choices.reader import find_choice
from mmeval.metrics.text.constraints import all_met, constraints_of
from mmeval.metrics.text.words import count_words
from mmeval.tasks.mme_unify.mme_unify_choice import letter_of
from tests.support.judging import trial_of
from tests.support.trials import score_of

T = TypeVar("T")


def reads_in_linear_time(read: Callable[[T], object], short: T, long: T) -> bool:
    """Whether a text of four times the length takes at most ten times as long: sixteen
    times would be quadratic.

    The best of several, in seconds of the processor, which other work on the machine
    does not lengthen. Python's search for garbage is off: it goes through all objects
    of this process, which earlier tests have made."""

    def seconds(text: T) -> float:
        gc.disable()
        begun = time.thread_time()
        read(text)
        took = time.thread_time() - begun
        gc.enable()
        return took

    return min(seconds(long) for _ in range(5)) < 10 * min(
        seconds(short) for _ in range(5)
    )


@pytest.mark.parametrize(
    "piece",
    [
        b"<!--",
        b"<!-- -->",
        b"OFF\n#\n",
        b"ply\ncomment \n",
        b"ply\nobj_info \n",
        b"\n \nOFF",
        b'{"asset":{"version"',
        b"v 1 1 1",
        b" ",
        b"<?xml ",
        b"solid ",
    ],
)
def test_heads_of_files(piece: bytes) -> None:
    for endless in (
        piece * SNIFF_BYTES,
        piece[:3] + piece[3:] * SNIFF_BYTES,
        b"v" + b" 1" * SNIFF_BYTES,
    ):
        assert reads_in_linear_time(
            sniff_mime,
            endless[: SNIFF_BYTES // 4 - 1] + b"x",
            endless[: SNIFF_BYTES - 1] + b"x",
        )


@pytest.mark.parametrize(
    "piece", [bytes(8), b"\0\0\0\x08free", b"\0\0\0\x04moov", b"\0\0\0\x01moov"]
)
def test_boxes_of_a_film(piece: bytes) -> None:
    short, long = piece * (5 * MAX_BOXES), piece * (20 * MAX_BOXES)
    for name in (b"mdia", b"trak", b"moov"):
        assert handlers(io.BytesIO(long), len(long)) == set()
        assert reads_in_linear_time(
            lambda data: handlers(io.BytesIO(data), len(data)), short, long
        )
        short, long = (
            (8 + len(data)).to_bytes(4) + name + data for data in (short, long)
        )


@pytest.mark.parametrize("start", ["", "<", "<image", "<image1", "#image"])
@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<<<<image",
        "<<<<image1",
        " ",
        "<image ",
        "< ",
        "1",
        "<image_start>",
        "#image",
    ],
)
def test_placeholders(start: str, piece: str) -> None:
    short, long = (
        start + piece * (length // len(piece)) for length in (50_000, 200_000)
    )
    assert len(list(find(long, tuple(SPELLINGS)))) <= 20_000
    assert reads_in_linear_time(
        lambda text: list(find(text, tuple(SPELLINGS))), short, long
    )


@pytest.mark.parametrize(
    "piece", ["<t>", "</t>", "<t></t>", "<t><t></t>", "a<t>b</t></t>"]
)
def test_reasoning(piece: str) -> None:
    short, long = (piece * (length // len(piece)) for length in (50_000, 200_000))
    assert reads_in_linear_time(
        lambda text: split_reasoning(text, "<t>", "</t>"), short, long
    )


@pytest.mark.parametrize(
    "piece",
    ['{"a":', "{'", '{"a":{}x', '{"a":1},', '{"a":"\\', '{"a":[{"a":1},x'],
    ids=repr,
)
def test_replies_of_judges(piece: str) -> None:
    def read(text: str) -> None:
        with contextlib.suppress(ReplyError):
            read_object(text, ["b"])

    assert reads_in_linear_time(
        read,
        *(piece * (length // len(piece)) for length in (MAX_CHARS // 4, MAX_CHARS)),
    )


# A text of the following that is read in more than linear time reaches the limit of a
# test.
ANIMALS = {"A": "a cat", "B": "a dog", "C": "a hot dog", "D": "an owl"}
LISTED = ("Answer: B, ", "B or ", "not the answer is ")


@pytest.mark.parametrize(
    "noise",
    [
        "the answer is ",
        "\n",
        " \n",
        "(",
        "A is ",
        "option ",
        "not ",
        *LISTED,
        "A, ",
        "答案",
        "\\boxed{",
        "<answer> ",
        '{"a":1} ',
    ],
)
def test_a_choice(noise: str) -> None:
    assert find_choice("x" + noise * 50_000 + "\nAnswer: B", ANIMALS).letter == "B"


def test_constraints() -> None:
    label = [["length_word", "== 400000"], ["keyword_count", "word", "== 400000"]]
    assert all_met("word " * 400_000, constraints_of(label)).met


@pytest.mark.parametrize(
    "noise",
    ["'", "''", ". ", "a.", "n't ", "`", '"', ": ", "can", "'s' ", "-", "more'n"],
)
def test_words(noise: str) -> None:
    assert count_words("word " + noise * 100_000) >= 1


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "}",
        '["',
        "<text>",
        "<count>1",
        "<<",
        "{}",
        "[]\n",
        '{"a":',
        "<image_start>",
    ],
)
def test_a_self_description(piece: str, profile: str) -> None:
    labels: dict[str, Any] = {"object": ["cup", "rug"], "color": ["red", "blue"]}
    trial = trial_of(piece * (1_000_000 // len(piece)), **labels)
    for kind in ("count", "text", "colors", "sizes", "letters", "pattern", "words"):
        assert (
            score_of(load_metric("self_description"), trial, profile, kind=kind).status
            == "scored"
        )


@pytest.mark.parametrize(
    "code",
    ["```" + " " * 300_000, "`" * 300_000, "```\n" + "``` \n" * 99_999],
    ids=["blanks", "run", "lines"],
)
def test_code_in_fences(code: str) -> None:
    assert unwrapped(code) == (code, "")


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        ("", "answer "),
        ("answer", " ("),
        ("", "("),
        ("", "A a"),
        ("", "<think>"),
        ("", "a<think></think>"),
    ],
)
def test_the_letter_of_an_answer(start: str, piece: str) -> None:
    options = ["A. a green kite", "B. two boats", "C. a wall", "D. snow"]
    short, long = (
        start + piece * (length // len(piece)) for length in (50_000, 200_000)
    )
    assert reads_in_linear_time(lambda text: letter_of(text, options), short, long)
