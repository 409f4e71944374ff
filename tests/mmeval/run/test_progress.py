from pathlib import Path
from typing import Any

import pytest

from mmeval.broker.acceptance import reasoning_apart
from mmeval.media.parts import Interleaved, Part, media_part, text_part
from mmeval.records.response import FinishReason, Response
from mmeval.records.trial import Exchange
from mmeval.run import progress
from mmeval.run.options import BackendSpec
from mmeval.run.progress import LIMIT, REFUSED, AnswerNotes, opening
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
    ("trials", "found"),
    [
        (
            [(CUT, CUT), (answer(), answer(reason="length", role="helper"))],
            [("cut_off", 1, LIMIT)],
        ),
        (
            [(answer("8 of 90"), answer("8 of 70")), (answer("8 of 31"),)],
            [("plugin", 2, "a warning: 8 of 90")],
        ),
        (
            [(answer(name),) for name in "abbcccdddd"],
            [
                ("plugin", 4, "a warning: d"),
                ("plugin", 3, "a warning: c"),
                ("plugin", 2, "a warning: b"),
                ("plugin", 1, "other warnings"),
            ],
        ),
        (
            [(answer("one\ntwo " + "x" * 300),)],
            [("plugin", 1, f"a warning: one two {'x' * 292}...")],
        ),
    ],
    ids=["cut off", "equal but for digits", "the most frequent", "a long one"],
)
def test_what_is_cut_off_or_warned_of_is_counted(
    trials: list[tuple[Exchange, ...]], found: list[tuple[str, int, str]]
) -> None:
    made = AnswerNotes()
    for exchanges in trials:
        made.add(exchanges)
    assert [(one.kind, one.count, one.cause) for one in made.findings()] == found


def remarks(*exchanges: Exchange) -> AnswerNotes:
    made = AnswerNotes()
    for exchange in exchanges:
        made.add((exchange,))
    return made


def test_a_refused_answer_is_counted_without_the_words_of_its_service() -> None:
    refused = answer("the prompt was filtered", reason="refused")
    (found,) = remarks(refused).findings()
    assert (found.kind, found.count, found.cause) == ("refused", 1, REFUSED)


def thought(*parts: Part, reason: FinishReason = "stop") -> Exchange:
    reasoning = Part("reasoning", text="It could be an ash.")
    response = Response(Interleaved((reasoning, *parts)), finish_reason=reason)
    return Exchange("0", "model", "d", response)


def test_answers_that_are_empty_beside_reasoning_are_counted_with_what_to_do() -> None:
    (found,) = remarks(*[thought(text_part("\n\n"))] * 3).findings()
    assert (found.count, found.of) == (3, 3)
    assert "reasoning" in found.cause
    assert "--reasoning_tags" in found.remedy


def test_a_reasoning_that_was_never_closed_is_one_that_hides_the_answer() -> None:
    output = reasoning_apart(Interleaved.from_text("<think>oak"), "<think>", "</think>")
    (found,) = remarks(Exchange("0", "model", "d", Response(output))).findings()
    assert "only reasoning" in found.cause


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
    assert remarks(exchange).only_reasoning == 0


def test_an_answer_that_was_cut_off_while_thinking_is_counted_as_cut_off_alone() -> (
    None
):
    made = remarks(thought(reason="length"))
    assert (made.cut_off, made.only_reasoning) == (1, 0)


def test_warnings_without_end_take_no_memory_without_end() -> None:
    made = remarks(*(answer("w" + "x" * number) for number in range(300)))
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
    assert (first.counts.new, again.counts.kept) == (2, 2)
    assert first.findings == again.findings
    cut, warned = first.findings
    assert (cut.kind, warned.cause, first.exit_code) == ("cut_off", "a warning: w", 0)


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({"kept": 0, "new": 0}, "nothing to ask"),
        ({"kept": 0, "new": 3, "exact": False}, "answers to ask: at most 3"),
        (
            {"kept": 0, "new": 3, "some_unaskable": True},
            "answers to ask: at most 3; some samples cannot be asked",
        ),
        (
            {"kept": 0, "new": 28, "some_unaskable": True, "none_known": True},
            "answers to ask: at most 28; none of the first samples can be asked",
        ),
        (
            {"kept": 1200, "new": 30, "since": "2026-01-31"},
            "answers kept: 1,200 from 2026-01-31; answers to ask: 30",
        ),
        ({"kept": 2, "new": 0}, "answers kept: 2; nothing to ask"),
        (
            {"kept": 0, "new": 3, "unaskable": 1200},
            "answers to ask: 3; cannot be asked: 1,200",
        ),
        ({"kept": 0, "new": 0, "unaskable": 6}, "nothing to ask; cannot be asked: 6"),
    ],
    ids=str,
)
def test_the_first_line_has_what_is_kept_and_new(
    facts: dict[str, Any], line: str
) -> None:
    assert opening(**facts) == line
