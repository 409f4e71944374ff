from __future__ import annotations

import pytest

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, PartKind, text_part
from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.metrics.produced import decoded, media_of, the_only_medium
from mmeval.records.score import Score
from tests.support.trials import trial

OWL, CALL = Media.from_bytes(b"owl"), Media.from_bytes(b"call")
ANSWER = Interleaved.from_text("<<image1>> <<audio1>> <<image1>>", {"image1": OWL, "audio1": CALL})


@pytest.mark.parametrize(("kind", "media"), [("image", (OWL,)), ("audio", (CALL,)), ("video", ())])
def test_media_are_told_by_their_kind_and_counted_by_their_number(kind: PartKind, media: tuple[Media, ...]) -> None:
    assert media_of(ANSWER, kind) == media


def test_the_only_medium_is_handed_on_and_its_lack_is_a_wrong_answer() -> None:
    found = the_only_medium(trial(Interleaved((text_part("none"),))), "image", "pictures")
    assert the_only_medium(trial(ANSWER), "image", "pictures") == OWL
    assert found == Score(0.0, evidence={"reason": "the answer has 0 pictures, not exactly one"})


def test_without_an_answer_nothing_is_scored() -> None:
    assert the_only_medium(trial(None), "audio", "sounds") == Score.unscored("there is no answer to score")


@pytest.mark.parametrize(
    ("error", "score"),
    [
        (CorruptMediaError("damaged"), Score(0.0, evidence={"reason": "damaged"})),
        (MediaLimitError("too large"), Score.unscored("too large")),
    ],
    ids=["damaged", "too large"],
)
def test_what_cannot_be_decoded_has_a_score_by_whose_fault_it_is(error: Exception, score: Score) -> None:
    def decode(_: Media) -> bytes:
        raise error

    assert decoded(OWL, decode) == score
    assert decoded(OWL, Media.read) == b"owl"
