import pytest

from mmeval.content import Interleaved, Media, PartKind, text_part
from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.metrics.produced import decoded, media_of, the_only_medium
from mmeval.records import Score
from tests.support.trials import trial

OWL, CALL = Media.from_bytes(b"owl"), Media.from_bytes(b"call")
ANSWER = Interleaved.from_text("<<image1>> <<audio1>> <<image1>>", {"image1": OWL, "audio1": CALL})


@pytest.mark.parametrize(("kind", "media"), [("image", (OWL,)), ("audio", (CALL,)), ("video", ())])
def test_media_are_found_by_their_kind_and_counted_by_their_number(kind: PartKind, media: tuple[Media, ...]) -> None:
    assert media_of(ANSWER, kind) == media


def test_the_only_medium_is_handed_on_and_without_it_the_answer_is_wrong() -> None:
    found = the_only_medium(trial(Interleaved((text_part("none"),))), "image", "pictures")
    assert the_only_medium(trial(ANSWER), "image", "pictures") == OWL
    assert isinstance(found, Score) and (found.value, list(found.evidence)) == (0.0, ["reason"])
    failed = the_only_medium(trial(None), "audio", "sounds")
    assert isinstance(failed, Score) and failed.status == "unscored"


@pytest.mark.parametrize(
    ("error", "score"),
    [
        (CorruptMediaError("damaged"), Score(0.0, evidence={"reason": "damaged"})),
        (MediaLimitError("too large"), Score.unscored("too large")),
    ],
    ids=["damaged", "too large"],
)
def test_a_medium_that_cannot_be_decoded_is_wrong_or_unscored(error: Exception, score: Score) -> None:
    def decode(_: Media) -> bytes:
        raise error

    assert decoded(OWL, decode) == score
    assert decoded(OWL, Media.read) == b"owl"
