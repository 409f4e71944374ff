import re
from pathlib import Path
from typing import Any

import pytest

from mmeval.broker.broker import reasoning_apart
from mmeval.content.parts import Interleaved, Part, media_part, text_part
from mmeval.records.response import FinishReason, Response
from mmeval.records.trial import Exchange
from mmeval.run import progress
from mmeval.run.options import BackendSpec
from mmeval.run.progress import Remarks, left_to_judge, opening
from tests.support.toy import Toy, picture, run_toy, task


def answer(
    *warnings: str, reason: FinishReason = "stop", role: str = "model"
) -> Exchange:
    return Exchange(
        "0",
        role,
        "d",
        Response(Interleaved.from_text("a"), finish_reason=reason, warnings=warnings),
    )


CUT = answer(reason="length")


@pytest.mark.parametrize(
    ("trials", "lines"),
    [
        ([(CUT, CUT), (answer(), answer(reason="length", role="helper"))], ["1 of 2"]),
        (
            [(answer("8 of 90"), answer("8 of 70")), (answer("8 of 31"),)],
            ["2 of 2", "a warning of 2: 8 of 90"],
        ),
        (
            [(answer(name),) for name in "abbcccdddd"],
            [
                "10 of 10",
                *(f"a warning of {n}" for n in ("4: d", "3: c", "2: b")),
                "and 1 other warning",
            ],
        ),
        (
            [(answer("one\ntwo " + "x" * 300),)],
            ["1 of 1", f"a warning of 1: one two {'x' * 292}..."],
        ),
    ],
    ids=["cut off", "equal but for digits", "the most frequent", "a long one"],
)
def test_what_is_cut_off_or_warned_of_is_counted(
    trials: list[tuple[Exchange, ...]], lines: list[str]
) -> None:
    made = Remarks()
    for exchanges in trials:
        made.add(exchanges)
    assert [
        line if line[:2] == "a " else line.partition(" answers")[0]
        for line in made.told()
    ] == lines


def test_refused_answers_are_counted() -> None:
    made = Remarks()
    made.add((answer(), answer(reason="refused")))
    made.add((answer(),))
    (line,) = made.told()
    assert line.startswith("refused 1/2:")


def thought(*parts: Part, reason: FinishReason = "stop") -> Exchange:
    reasoning = Part("reasoning", text="It could be an ash.")
    response = Response(Interleaved((reasoning, *parts)), finish_reason=reason)
    return Exchange("0", "model", "d", response)


def test_answers_that_are_empty_beside_reasoning_are_counted_with_what_to_do() -> None:
    made = Remarks()
    for _ in range(3):
        made.add((thought(text_part("\n\n")),))
    (line,) = made.told()
    assert line.startswith("3 of 3 answers are empty beside reasoning; ")
    assert "--reasoning_tags" in line


def test_a_reasoning_that_was_never_closed_is_one_that_hides_the_answer() -> None:
    made = Remarks()
    output = reasoning_apart(Interleaved.from_text("<think>oak"), "<think>", "</think>")
    made.add((Exchange("0", "model", "d", Response(output)),))
    (line,) = made.told()
    assert line.startswith("1 of 1 answers is empty beside reasoning; ")


@pytest.mark.parametrize(
    "exchange",
    [
        thought(text_part("oak")),
        thought(media_part(picture())),
        answer(),
        Exchange("0", "model", "d", Response(Interleaved(()))),
        Exchange("0", "helper", "d", thought().response),
    ],
    ids=["words", "a picture", "no reasoning", "empty alone", "another role"],
)
def test_other_answers_are_not_counted_as_empty_beside_reasoning(
    exchange: Exchange,
) -> None:
    made = Remarks()
    made.add((exchange,))
    assert made.only_reasoning == 0


def test_an_answer_that_was_cut_off_while_thinking_is_counted_as_cut_off_alone() -> (
    None
):
    made = Remarks()
    made.add((thought(reason="length"),))
    assert (made.cut_off, made.only_reasoning) == (1, 0)


def test_warnings_without_end_take_no_memory_without_end() -> None:
    made = Remarks()
    for number in range(300):
        made.add((answer("w" + "x" * number),))
    assert (made.warned, len(made.kinds), len(made._words), progress.MAX_KINDS) == (
        300,
        100,
        100,
        100,
    )


def test_a_run_notes_this_of_new_and_of_kept_answers_alike_and_its_exit_code_stays_0(
    tmp_path: Path,
) -> None:
    toy = BackendSpec(
        "toy", instance=Toy(answers=lambda _: answer("w", reason="length").response)
    )
    first, again = (run_toy(tmp_path, task(rows=2), model=toy) for _ in range(2))
    assert (first.counts.new, again.counts.kept, first.notes) == (2, 2, again.notes)
    assert [note[:7] for note in first.notes[:2]] == ["2 of 2 "] * 2
    assert first.notes[2:] == ("a warning of 2: w",)
    assert (first.exit_code, first.complaints) == (0, ())


def test_the_first_line_has_what_is_kept_and_new() -> None:
    cases: list[tuple[int, int, dict[str, Any], list[str], list[str]]] = [
        (0, 0, {}, [], ["nothing"]),
        (0, 30, {}, ["30"], []),
        (0, 3, {"bad": True}, ["3"], ["up to"]),
        (0, 3, {"exact": False}, ["3"], ["up to"]),
        (0, 3, {"filtered": True, "bad": True}, ["3"], ["up to", "filter"]),
        (120, 30, {}, ["120", "2026-01-31", "30"], []),
        (120, 0, {}, ["120", "2026-01-31"], ["nothing"]),
        (2, 3, {"bad": True, "since": ""}, ["2", "3"], []),
    ]
    for kept, new, flags, numbers, words in cases:
        found = opening(kept=kept, new=new, **{"since": "2026-01-31", **flags})
        assert re.findall(r"[\d-]+", found) == numbers
        assert [
            word for word in ("nothing", "up to", "filter") if word in found
        ] == words
    assert (
        " 1 answer " in left_to_judge(1),
        " 1,200 answers " in left_to_judge(1200),
    ) == (True, True)
