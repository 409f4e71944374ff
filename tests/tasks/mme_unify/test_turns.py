"""Turns of a maze read from an answer, and written."""

from __future__ import annotations

from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.tasks.mme_unify.turns import MazeTurn, answer_of, turns_of

PICTURE = media_part(Media.from_bytes(b"\x89PNG\r\n\x1a\n first"), "image")
OTHER = media_part(Media.from_bytes(b"\x89PNG\r\n\x1a\n other"), "image")
MISSING = Part("image", raw="<<image1>>", label="image1")


def test_turns_that_are_written_are_read_again() -> None:
    turns = [
        MazeTurn(0, "Right", [1, 0], PICTURE),
        MazeTurn(1, "Down ", [1, 1.5], MISSING),
        MazeTurn(3, "", None, None),
        MazeTurn(12, "Finish", "here", OTHER),
    ]
    assert list(turns_of(answer_of(turns)).values()) == turns


def test_of_several_pictures_the_first_counts_and_of_a_step_that_stands_twice_the_later_one() -> (
    None
):
    answer = Interleaved(
        (
            PICTURE,
            text_part("Action: Up\nStep 4\nAction: Left\n"),
            OTHER,
            PICTURE,
            text_part("Step 4\nImage:\n"),
        )
    )
    assert turns_of(Interleaved(answer.parts[:-1])) == {
        4: MazeTurn(4, "Left", None, OTHER)
    }
    assert turns_of(answer) == {4: MazeTurn(4)}
    assert turns_of(None) == {}


def test_turns_in_one_text_are_read_one_by_one_and_a_location_that_is_no_json_is_none() -> (
    None
):
    answer = Interleaved.from_text(
        "Step 0\nAction: Up\nLocation: [1, \nImage:\nStep 1\nAction:Down\nLocation: "
        "[[[2]]]\n"
    )
    assert turns_of(answer) == {0: MazeTurn(0, "Up"), 1: MazeTurn(1, "Down", [[[2]]])}
    for location in ("[" * 100_000, "[1e999, 0]", "NaN", "9" * 9999):
        assert turns_of(Interleaved.from_text(f"Step 0\nLocation: {location}")) == {
            0: MazeTurn(0)
        }


def test_an_action_of_several_lines_stays_on_its_own() -> None:
    assert turns_of(answer_of([MazeTurn(0, "Up\nStep 7\nAction: Down\n")])) == {
        0: MazeTurn(0, "Up Step 7 Action: Down ")
    }
