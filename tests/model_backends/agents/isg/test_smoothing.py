from typing import Any

import pytest

from tests.support.agents import BAD, DRAW, MARK, add, ask, blocks, caption, titles

KEPT = ["text 0", "image", "text 1", "image"]
SMOOTHED = ["A", "image", "B", "image"]
TWICE = [caption(), DRAW, add("<GEN_0>"), caption(), add("<GEN_0>")]


@pytest.mark.parametrize(
    ("replies", "expected", "outcome"),
    [
        ([f"A{MARK} B {MARK}"], SMOOTHED, (True, 0)),
        ([f"Sure. Result: A{MARK} B {MARK}"], SMOOTHED, (True, 0)),
        ([f"A{MARK}B", f"A{MARK}B{MARK}"], SMOOTHED, (True, 1)),
        ([f"A{MARK}B"] * 3, KEPT, (False, 2)),
        (
            [f"A{MARK * 2}B{MARK}"] * 3,
            KEPT,
            (False, 2),
        ),
        ([f"{MARK}A{MARK}B"], KEPT, (False, 0)),
        ([{"error": "too_long"}], KEPT, (False, 0)),
        ([" "] * 3, KEPT, (False, 0)),
    ],
    ids=[
        "smoothed",
        "after Result:",
        "at the second try",
        "one lost",
        "one added",
        "moved",
        "an error",
        "blank",
    ],
)
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_smoothed_texts_are_taken_if_pictures_keep_their_number_and_places(
    replies: list[Any], expected: list[str], outcome: tuple[bool, int], profile: str
) -> None:
    result = ask(TWICE, roles={"smoother": replies}, smooth=True, profile=profile)
    found = result["evidence"]["smoothing"]
    assert blocks(result) == expected
    assert (found["accepted"], found["retried"]) == outcome
    assert bool(found["kept"]) is not outcome[0]
    asked = next(step for step in result["steps"] if step["title"] == "smooth")
    assert f"text 0{MARK}text 1{MARK}" in asked["text"]
    assert asked["media"] == []


def test_the_released_agent_reads_a_smoothed_answer_up_to_another_result() -> None:
    for profile, kept in (
        ("standard", ["A", "image", "Result: B", "image"]),
        ("official", ["C", "image", "D", "image"]),
    ):
        replies = [f"Result: A{MARK}Result: B{MARK}", f"C{MARK}D{MARK}"]
        result = ask(TWICE, roles={"smoother": replies}, smooth=True, profile=profile)
        assert blocks(result) == kept


def test_only_an_answer_with_texts_and_without_problems_is_smoothed() -> None:
    for steps in ([DRAW, add("<GEN_0>")], BAD):
        result = ask(steps, smooth=True, refine=0)
        assert "smooth" not in titles(result)
        assert result["evidence"]["smoothing"] is None
