import itertools
import random
import re

import pytest

from mmeval.backend.handshake import media
from mmeval.media import decode
from tests.support.able_server import beep_counts, film_colours, stripe_colours


@pytest.fixture
def draw() -> random.Random:
    return random.Random(7)


def test_a_word_has_letters_that_differ_from_digits(draw: random.Random) -> None:
    word = media.word(draw)

    assert re.fullmatch("[ACDEFHJKLMNPRTUVXY]{5}", word)


def test_a_word_is_guessed_in_less_than_one_of_a_thousand_tries() -> None:
    words = len(media.LETTERS) ** media.WORD_LETTERS

    assert words > 1000


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_neighbouring_colours_differ(draw: random.Random, count: int) -> None:
    for _ in range(50):
        names = media.colours(draw, count)
        neighbours = itertools.pairwise(names)

        assert all(left != right for left, right in neighbours)


def test_four_colours_are_guessed_in_less_than_one_of_a_thousand_tries() -> None:
    patterns = len(media.COLOURS) * (len(media.COLOURS) - 1) ** 3

    assert patterns > 1000


def test_four_groups_of_beeps_are_guessed_in_less_than_one_of_a_thousand_tries() -> (
    None
):
    assert media.MOST_BEEPS**4 > 1000


def test_a_picture_shows_its_stripes_from_left_to_right() -> None:
    picture = media.picture(["red", "blue", "red"], "PLATE")

    assert stripe_colours(picture) == ["red", "blue", "red"]


def test_a_word_is_dark_on_a_white_band() -> None:
    picture = media.picture(["red"], "PLATE")

    colours = decode.image(picture).convert("RGB").getcolors(100_000)

    assert colours is not None
    assert {(0, 0, 0), (255, 255, 255)} <= {colour for _, colour in colours}


@pytest.mark.parametrize("groups", [[1, 1, 1, 1], [6, 2, 5, 1]], ids=str)
def test_a_sound_has_groups_of_beeps(groups: list[int]) -> None:
    sound = media.beeps(groups)

    assert beep_counts(sound) == groups


def test_a_page_shows_its_text() -> None:
    pypdfium2 = pytest.importorskip("pypdfium2")

    document = pypdfium2.PdfDocument(media.page("PLATE").read())

    assert document[0].get_textpage().get_text_range() == "PLATE"


def test_a_film_shows_its_colours_one_after_the_other() -> None:
    film = media.film(["red", "green", "blue", "red"])

    assert film_colours(film) == ["red", "green", "blue", "red"]
