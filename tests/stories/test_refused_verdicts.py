"""What a judge's refusal is worth on ISG-Bench's levels, in both profiles."""

from typing import Any

import pytest

from mmeval.media.parts import Interleaved, media_part, text_part
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from tests.support.judging import judged
from tests.support.toy import picture, reply

PAIRS = [
    {"subject": "<gen_text1>", "object": "<gen_img1>", "Question": question}
    for question in ("Does the text describe this image?", "Is it short?")
]
ABOUT = [
    {"image": "<gen_img1>", "Question": question, "id": number, "Preliminary": []}
    for number, question in enumerate(("Is there a lamp?", "Is there a hare?"))
]
SILENT = Response(Interleaved(()), finish_reason="refused")
WORDS = Response(Interleaved.from_text("I cannot."), finish_reason="refused")
OFFICIAL = {"reading": "official"}
WRONG = {"lost": "wrong"}


def trial() -> Trial:
    answer = Interleaved((text_part("A lamp."), media_part(picture())))
    wanted = {
        "structure": {"Answer": ["<gen_text1>", "<gen_img1>"]},
        "block_qa": {"questions": PAIRS},
        "image_qa": {"questions": ABOUT},
    }
    sample = Sample("a", (), references=(answer,), metadata={"predict": wanted})
    return Trial(sample, output=answer)


def values(metric: str, refused: Response, **switches: Any) -> float | None:
    replies: dict[str, list[Response]] = {
        "isg_block": [reply('{"Judge": 7, "Reason": ""}'), refused],
        "isg_image": [reply('{"Judge": "Yes", "Reason": ""}'), refused],
        "isg_holistic": [refused],
    }
    return judged(metric, trial(), *replies[metric], **switches).score.value


@pytest.mark.parametrize(
    ("metric", "bounds"),
    [("isg_block", (4, 8.5)), ("isg_image", (0.5, 1)), ("isg_holistic", (1, 10))],
)
@pytest.mark.parametrize("refused", [SILENT, WORDS], ids=["silent", "words"])
def test_a_refused_verdict_leaves_the_level_unscored(
    metric: str, bounds: tuple[float, float], refused: Response
) -> None:
    first = reply('{"Judge": 7}' if metric == "isg_block" else '{"Judge": "Yes"}')
    replies = [refused] if metric == "isg_holistic" else [first, refused]
    score = judged(metric, trial(), *replies).score
    assert (score.status, score.cause, score.bounds) == ("unscored", "refused", bounds)


@pytest.mark.parametrize(
    ("metric", "switches", "value"),
    [
        # A call without any reply makes the whole sample 1 in the release.
        ("isg_block", OFFICIAL, 1),
        # The paper leaves such a question out of the mean.
        ("isg_block", WRONG, 7),
        ("isg_image", OFFICIAL, 0.5),
        ("isg_image", WRONG, 0.5),
        ("isg_holistic", OFFICIAL, 1),
        ("isg_holistic", WRONG, 1),
    ],
)
def test_a_verdict_that_is_refused_without_a_word_counts_as_in_the_release(
    metric: str, switches: dict[str, Any], value: float
) -> None:
    assert values(metric, SILENT, **switches) == value


@pytest.mark.parametrize(
    ("metric", "value"), [("isg_block", 7), ("isg_image", 0.5), ("isg_holistic", 1)]
)
def test_the_words_of_a_refusal_are_read_as_the_release_reads_any(
    metric: str, value: float
) -> None:
    assert values(metric, WORDS, **OFFICIAL) == value
