from collections.abc import Callable

from mmeval.errors import CorruptMediaError, MediaLimitError, UnsupportedMediaError
from mmeval.media import Interleaved, Media, PartKind, media_part, text_part
from mmeval.metrics.produced import decoded, media_of, the_only_medium
from mmeval.records import Score
from tests.support.trials import trial

OWL, CALL = Media.from_bytes(b"owl"), Media.from_bytes(b"call")
SAME = {"image1": OWL, "image2": OWL}
ANSWER = Interleaved.from_text(
    "<<image1>> <<audio1>> <<image1>>", {"image1": OWL, "audio1": CALL}
)


def test_the_only_medium_of_a_kind_is_handed_on_and_without_it_the_answer_is_wrong() -> (
    None
):
    kinds: dict[PartKind, tuple[Media, ...]] = {
        "image": (OWL,),
        "audio": (CALL,),
        "video": (),
    }
    assert {kind: media_of(ANSWER, kind) for kind in kinds} == kinds
    beside = Interleaved((media_part(OWL, "image"),) * 2)
    twice = Interleaved.from_text("<<image1>> <<image2>>", SAME)
    assert media_of(beside, "image") == media_of(twice, "image") == (OWL, OWL)
    found = the_only_medium(
        trial(Interleaved((text_part("none"),))), "image", "pictures"
    )
    assert the_only_medium(trial(ANSWER), "image", "pictures") == OWL
    assert isinstance(found, Score) and (found.value, list(found.evidence)) == (
        0.0,
        ["reason"],
    )
    failed = the_only_medium(trial(None), "audio", "sounds")
    assert isinstance(failed, Score) and failed.status == "unscored"


def test_a_medium_that_cannot_be_decoded_is_wrong_or_unscored() -> None:
    def failing(error: Exception) -> Callable[[Media], bytes]:
        def decode(_: Media) -> bytes:
            raise error

        return decode

    assert decoded(OWL, failing(CorruptMediaError("damaged"))) == Score(
        0.0, evidence={"reason": "damaged"}
    )
    assert decoded(OWL, failing(MediaLimitError("too large"))) == Score.unscored(
        "too large"
    )
    assert decoded(OWL, failing(UnsupportedMediaError("not read"))) == Score.unscored(
        "not read"
    )
    assert decoded(OWL, Media.read) == b"owl"
