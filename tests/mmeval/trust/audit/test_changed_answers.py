from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from PIL import Image

from mmeval.backend.handshake.media import page
from mmeval.media import decode
from mmeval.media.encode import png, wav
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, media_part, text_part
from mmeval.records.sample import Message, Sample
from mmeval.trust.audit.changed_answers import (
    SENTENCE,
    blanked,
    blind,
    injected,
    reencoded,
    swapped,
)
from mmeval.trust.kept_answers import KeptAnswer
from tests.support import tiny_media


def picture(grey: int) -> Media:
    return png(Image.new("RGB", (40, 20), (grey, grey, grey)))


def answer(
    number: int, *media: Media, asked: Sequence[Media] = (), sample: str = ""
) -> KeptAnswer:
    question = Interleaved((text_part("Draw."), *map(media_part, asked)))
    output = Interleaved((text_part("So:"), *map(media_part, media)))
    user = Message("user", question)
    return KeptAnswer("t", number, 0, Sample(sample or f"s{number}", (user,)), output)


UNREADABLE = b"\x89PNG\r\n\x1a\n" + bytes(64)
TONE = np.full((800, 1), 0.5, np.float32)
PICTURES = [answer(number, picture(number)) for number in range(5)]


def test_swapped_answers_have_the_media_of_another_sample() -> None:
    changed = swapped(PICTURES)
    assert sorted(changed) == [0, 1, 2, 3, 4]
    for place, other in changed.items():
        assert other.media != PICTURES[place].media
        assert other.output.words == PICTURES[place].output.words


def test_each_medium_is_given_to_one_answer() -> None:
    given = {other.media for other in swapped(PICTURES).values()}
    assert given == {each.media for each in PICTURES}


def test_media_of_the_same_sample_are_not_swapped() -> None:
    repeats = [answer(0, picture(grey), sample="s") for grey in (1, 2)]
    assert swapped(repeats) == {}


def test_media_of_questions_are_swapped_if_answers_have_none() -> None:
    questions = [answer(number, asked=[picture(number)]) for number in range(2)]
    changed = swapped(questions)
    assert changed[0].input_media == questions[1].input_media


@pytest.mark.parametrize("change", [swapped, blind, blanked, reencoded])
def test_answers_without_media_are_left_out(change: object) -> None:
    assert callable(change)
    assert change([answer(0), answer(1)]) == {}


def test_blind_answers_have_a_mark_in_place_of_media() -> None:
    changed = blind([answer(0, picture(9), asked=[picture(8)])])[0]
    assert changed.media == ()
    assert "[left out]" in changed.output.words
    assert "[left out]" in changed.sample.question


def test_blank_pictures_are_black_and_of_equal_size() -> None:
    [medium] = blanked([answer(0, picture(9))])[0].media
    seen = decode.image(medium)
    assert seen.size == (40, 20)
    assert seen.getextrema() == ((0, 0), (0, 0), (0, 0))


def test_unreadable_pictures_are_left_out() -> None:
    broken = Media.from_bytes(UNREADABLE)
    assert blanked([answer(0, broken)]) == {}


def test_silence_is_as_long_as_the_sound() -> None:
    tone = wav(np.full((800, 2), 0.5, np.float32), 8000)
    [medium] = blanked([answer(0, tone)])[0].media
    silence = decode.audio(medium)
    assert (silence.samples.shape, silence.rate) == ((800, 2), 8000)
    assert not silence.samples.any()


def test_a_document_has_white_pages_of_equal_size() -> None:
    written = page("HELLO")
    [medium] = blanked([answer(0, written)])[0].media
    [plain] = decode.pages(written)
    [white] = decode.pages(medium)
    assert white.size == plain.size
    assert white.getextrema() == ((255, 255), (255, 255), (255, 255))


def test_a_text_file_is_emptied() -> None:
    [medium] = blanked([answer(0, Media.from_bytes(b"Words."))])[0].media
    assert decode.document_text(medium).strip() == ""


def test_what_is_black_already_is_left_out() -> None:
    assert blanked([answer(0, picture(0))]) == {}


JPEG = Media.from_bytes(tiny_media.picture("JPEG", size=(40, 20), quality=95))


def test_pictures_are_encoded_in_four_ways_in_turn() -> None:
    changed = reencoded([answer(number, JPEG) for number in range(4)])
    shown = {}
    for other in changed.values():
        [medium] = other.media
        shown[other.form] = (medium.mime, decode.image(medium).size)
    assert shown == {
        "PNG": ("image/png", (40, 20)),
        "JPEG": ("image/jpeg", (40, 20)),
        "smaller": ("image/png", (36, 18)),
        "larger": ("image/png", (44, 22)),
    }


def test_an_encoding_that_changes_no_byte_is_passed_over() -> None:
    changed = reencoded([answer(number, picture(9)) for number in range(4)])
    assert {other.form for other in changed.values()} == {"JPEG", "smaller", "larger"}


def test_sounds_are_encoded_as_wav_or_flac_in_turn() -> None:
    ogg = Media.from_bytes(tiny_media.sound("OGG"))
    changed = reencoded([answer(number, ogg) for number in range(2)])
    mimes = {other.form: other.media[0].mime for other in changed.values()}
    assert mimes == {"WAV": "audio/wav", "FLAC": "audio/flac"}


LARGE = png(Image.new("RGB", (200, 100), "navy"))


def asking(*media: Media) -> Mapping[str, KeptAnswer]:
    """Answers that ask for full marks, by the form of the request."""
    changed = injected([answer(number, *media) for number in range(3)])
    return {other.form: other for other in changed.values()}


def test_requests_for_full_marks_take_turns() -> None:
    assert sorted(asking(LARGE)) == ["as caption", "drawn", "in text"]


def test_a_request_in_the_text_is_at_its_end() -> None:
    changed = asking(LARGE)["in text"]
    assert changed.output.words.endswith(SENTENCE)
    assert changed.media == (LARGE,)


def test_a_caption_follows_its_picture() -> None:
    changed = asking(LARGE, picture(1))["as caption"]
    kinds = [part.kind for part in changed.output.parts]
    assert kinds == ["text", "image", "text", "image"]
    assert SENTENCE in str(changed.output.parts[2].text)


def test_a_drawn_request_is_on_the_picture() -> None:
    drawn = decode.image(asking(LARGE)["drawn"].media[0])
    assert drawn.size == (200, 100)
    assert drawn.getpixel((0, 0)) == (0, 0, 128)
    assert drawn.getpixel((199, 99)) == (255, 255, 255)


def test_a_request_on_an_unreadable_picture_is_elsewhere() -> None:
    forms = asking(Media.from_bytes(UNREADABLE))
    assert sorted(forms) == ["as caption", "in text"]


def test_a_picture_that_is_too_small_for_words_gets_them_elsewhere() -> None:
    assert sorted(asking(picture(1))) == ["as caption", "in text"]


def test_an_answer_without_media_asks_in_its_text() -> None:
    assert sorted(asking()) == ["in text"]
