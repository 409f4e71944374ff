from __future__ import annotations

from mmeval.content import Part, media_part, text_part
from mmeval.content.media import Media
from mmeval.model_backends.hf.generation.blocks import BrokenBlock
from mmeval.model_backends.hf.generation.weaving import woven
from tests.support.tiny_media import picture

ONE, TWO = (Media.from_bytes(picture(colour=colour)) for colour in ((250, 0, 0), (0, 0, 250)))
CUT, WRONG = BrokenBlock("a picture is cut off", cut=True), BrokenBlock("a picture is malformed")
TAGS = ("<<image1>>", "<<image2>>")


def tag(number: int, media: Media | None) -> Part:
    return Part("image", media=media, raw=TAGS[number - 1], label=f"image{number}")


def test_words_and_pictures_keep_their_order() -> None:
    made = woven(["a ", ONE, "", TWO, " b"])
    assert made.parts == (text_part("a "), media_part(ONE), media_part(TWO), text_part(" b"))
    assert (made.warnings, made.finish_reason) == ((), None)


def test_a_picture_that_cannot_be_drawn_is_dangling_and_said() -> None:
    made = woven(["a", WRONG, ONE, CUT])
    assert made.parts == (text_part("a"), Part("image"), media_part(ONE), Part("image"))
    assert made.warnings == ("a picture is malformed", "a picture is cut off; raise max_tokens")


def test_placeholders_in_the_words_say_where_the_pictures_belong() -> None:
    made = woven([f"{TAGS[0]} and {TAGS[1]}.", ONE, TWO])
    assert made.parts == (tag(1, ONE), text_part(" and "), tag(2, TWO), text_part("."))


def test_a_placeholder_is_dangling_instead_of_the_picture_that_it_stands_for() -> None:
    made = woven([TAGS[0], ONE, TAGS[1], CUT])
    assert made.parts == (tag(1, ONE), tag(2, None))
    assert len(made.warnings) == 1


def test_pictures_that_cannot_be_drawn_and_have_no_placeholder_follow() -> None:
    assert woven([TAGS[0], ONE, CUT, CUT]).parts == (tag(1, ONE), Part("image"), Part("image"))


def test_placeholders_of_other_kinds_are_read_and_change_no_place() -> None:
    audio = Part("audio", raw="<<audio1>>", label="audio1")
    assert woven(["<<audio1>>", ONE]).parts == (audio, media_part(ONE))


def test_nothing_is_shown_behind_a_word_that_ends_the_answer() -> None:
    made = woven(["a", ONE, "b END c", CUT], stop=("END", " c"))
    assert made.parts == (text_part("a"), media_part(ONE), text_part("b "))
    assert (made.warnings, made.finish_reason) == ((), "stop")
