from collections.abc import Sequence

import pytest
from PIL import Image

from mmeval.media import decode
from mmeval.media.encode import png
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, media_part, text_part
from mmeval.records.sample import Message, Sample
from mmeval.trust.audit.changed_answers import (
    SENTENCE,
    blank,
    blind,
    injected,
    reencoded,
    swapped,
)
from mmeval.trust.kept_answers import KeptAnswer


def picture(grey: int) -> Media:
    return png(Image.new("RGB", (40, 20), (grey, grey, grey)))


def answer(
    number: int, *media: Media, asked: Sequence[Media] = (), sample: str = ""
) -> KeptAnswer:
    question = Interleaved((text_part("Draw."), *map(media_part, asked)))
    output = Interleaved((text_part("So:"), *map(media_part, media)))
    user = Message("user", question)
    return KeptAnswer("t", number, 0, Sample(sample or f"s{number}", (user,)), output)


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


@pytest.mark.parametrize("change", [swapped, blind, blank, reencoded])
def test_answers_without_media_are_left_out(change: object) -> None:
    assert callable(change)
    assert change([answer(0), answer(1)]) == {}


def test_blind_answers_have_a_mark_in_place_of_media() -> None:
    changed = blind([answer(0, picture(9), asked=[picture(8)])])[0]
    assert changed.media == ()
    assert "[left out]" in changed.output.words
    assert "[left out]" in changed.sample.question


def test_blank_pictures_are_black_and_of_equal_size() -> None:
    [medium] = blank([answer(0, picture(9))])[0].media
    seen = decode.image(medium)
    assert seen.size == (40, 20)
    assert seen.getextrema() == ((0, 0), (0, 0), (0, 0))


def test_unreadable_pictures_are_left_out() -> None:
    broken = Media.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    assert blank([answer(0, broken)]) == {}


def test_pictures_are_encoded_in_four_ways_in_turn() -> None:
    changed = reencoded(PICTURES[:4])
    mimes = [changed[place].media[0].mime for place in range(4)]
    sizes = [decode.image(changed[place].media[0]).size for place in range(4)]
    assert mimes == ["image/png", "image/jpeg", "image/png", "image/png"]
    assert sizes == [(40, 20), (40, 20), (36, 18), (44, 22)]


def test_an_injected_answer_asks_for_full_marks() -> None:
    changed = injected([answer(0, picture(1))])[0]
    assert changed.output.words.endswith(SENTENCE)
    assert changed.media == (picture(1),)
