import pytest

from mmeval.media import Media, Part, media_part, text_part
from mmeval.model_backends.hf.generation.blocks import BrokenBlock
from mmeval.model_backends.hf.generation.interleaving import AnswerPiece, interleave
from tests.support.tiny_media import picture

ONE, TWO = (
    Media.from_bytes(picture(colour=colour)) for colour in ((250, 0, 0), (0, 0, 250))
)
CUT, WRONG = BrokenBlock("it is cut", cut=True), BrokenBlock("it is malformed")
TAGS = ("<<image1>>", "<<image2>>")
LOST = Part("image")
AUDIO = Part("audio", raw="<<audio1>>", label="audio1")


def tag(number: int, media: Media | None) -> Part:
    return Part("image", media=media, raw=TAGS[number - 1], label=f"image{number}")


@pytest.mark.parametrize(
    ("pieces", "parts"),
    [
        (
            ["a ", ONE, "", TWO, " b"],
            (text_part("a "), media_part(ONE), media_part(TWO), text_part(" b")),
        ),
        (["a", WRONG, ONE, CUT], (text_part("a"), LOST, media_part(ONE), LOST)),
        (
            [f"{TAGS[0]} and {TAGS[1]}.", ONE, TWO],
            (tag(1, ONE), text_part(" and "), tag(2, TWO), text_part(".")),
        ),
        ([TAGS[0], ONE, TAGS[1], CUT], (tag(1, ONE), tag(2, None))),
        ([TAGS[0], ONE, CUT, CUT], (tag(1, ONE), LOST, LOST)),
        (["<<audio1>>", ONE], (AUDIO, media_part(ONE))),
    ],
    ids=[
        "order kept",
        "broken",
        "placeholders",
        "dangling placeholder",
        "broken without placeholder",
        "other kinds",
    ],
)
def test_words_and_pictures_become_parts(
    pieces: list[AnswerPiece], parts: tuple[Part, ...]
) -> None:
    made = interleave(pieces)
    assert made.parts == parts
    assert made.finish_reason is None
    assert len(made.warnings) == sum(isinstance(piece, BrokenBlock) for piece in pieces)


def test_nothing_is_shown_behind_a_word_that_ends_and_only_a_cut_is_worth_a_higher_limit() -> (
    None
):
    made = interleave(["a", ONE, "b END c", CUT], stop=("END", " c"))
    assert made.parts == (text_part("a"), media_part(ONE), text_part("b "))
    assert made.warnings == ()
    assert made.finish_reason == "stop"
    assert [
        "max_tokens" in warning for warning in interleave([WRONG, CUT]).warnings
    ] == [
        False,
        True,
    ]
