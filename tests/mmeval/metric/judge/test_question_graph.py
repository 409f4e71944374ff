from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mmeval.metric.judge.form import ReplyForm, Text, YesNo
from mmeval.metric.judge.question_graph import (
    AnsweredGraph,
    GraphId,
    GraphQuestion,
    ask_graph,
)
from mmeval.metric.judge.verdict import Question
from mmeval.program.calls import Call, Role
from mmeval.program.prompt_file import PromptFile
from mmeval.records.response import Response
from tests.support.judging import driven

FORM = ReplyForm((Text("reason"), YesNo("verdict", unsure=True)))
PROMPT = PromptFile("p", "[user]\n{{ question }} {{ form }}").to_json()
YES, NO, UNSURE = (f'{{"verdict": "{word}"}}' for word in ("yes", "no", "not sure"))
FAILED = Response.failed("timeout", "slow")
UNREAD = Response.failed("bad_reply", "prose")


def graph(
    parents: Mapping[GraphId, Sequence[GraphId]], unaskable: str = ""
) -> list[GraphQuestion]:
    asked = {
        id: Question(Role("judge"), FORM, PROMPT, {"question": f"<{id}>"})
        for id in parents
    }
    return [
        GraphQuestion(id, None if id == unaskable else asked[id], above)
        for id, above in parents.items()
    ]


def answered(
    questions: Sequence[GraphQuestion],
    replies: Mapping[str, str | Response] | None = None,
    **options: Any,
) -> tuple[AnsweredGraph, list[int]]:
    """The verdicts where all but the ``replies`` by id are yes, and how many calls each
    wave has."""

    def say(call: Call) -> str | Response:
        id = call.request.messages[-1].content.text.partition("<")[2].partition(">")[0]
        return (replies or {}).get(id, YES)

    found, steps = driven(ask_graph(questions, **options), say)
    return found, [len(step) for step in steps]


def words(found: AnsweredGraph) -> str:
    return "".join(
        {True: "y", False: "n", None: "?"}[one.yes] for one in found.verdicts
    )


def test_what_is_ready_is_asked_at_once_and_parents_before_children() -> None:
    found, waves = answered(graph({3: [1, 2], 1: [], 2: [1], 4: []}))
    assert (waves, found.asked, words(found)) == ([2, 1, 1], (1, 4, 2, 3), "yyyy")
    assert (found.share().value, found.faults) == (1.0, ())


def test_below_a_no_all_are_no_and_nobody_is_asked() -> None:
    found, waves = answered(graph({1: [], 2: [1], 3: [2], 4: []}), {"1": NO})
    assert (waves, words(found), found.share().value) == ([2], "nnny", 0.25)
    assert found.evidence["not_asked"] == {"2": "1 is no", "3": "2 is no"}
    assert found.evidence["verdicts"] == {"1": "no", "2": "no", "3": "no", "4": "yes"}


@pytest.mark.parametrize(
    ("reply", "cause"), [(FAILED, "lost"), (UNREAD, "lost"), (UNSURE, "unsure")]
)
def test_below_an_unknown_all_are_unknown_and_the_bounds_hold_them(
    reply: Any, cause: str
) -> None:
    found, waves = answered(graph({1: [], 2: [1], 3: [2], 4: []}), {"1": reply})
    score = found.share()
    assert (waves, words(found), found.asked) == ([2], "???y", (1, 4))
    assert score.status == "unscored"
    assert score.bounds == (0.25, 1.0)
    assert score.cause == cause
    assert score.reason == found.verdicts[0].why
    assert (list(found.evidence["lost"]), list(found.evidence["not_asked"])) == (
        ["1"],
        ["2", "3"],
    )


def test_of_two_parents_a_no_decides() -> None:
    for order in ([1, 2], [2, 1]):
        found, _ = answered(graph({1: [], 2: [], 3: order}), {"1": FAILED, "2": NO})
        assert (words(found), found.share().bounds) == ("?nn", (0.0, 1 / 3))
    late, _ = answered(graph({1: [], 2: [], 3: [2], 4: [1, 3]}), {"1": FAILED, "3": NO})
    assert words(late) == "?ynn"


def test_what_is_in_a_cycle_or_below_one_is_no_and_not_asked() -> None:
    found, waves = answered(graph({1: [3], 2: [1], 3: [2], 4: [3], 5: []}))
    assert (waves, words(found), found.asked) == ([1], "nnnny", (5,))
    assert found.faults == ("in a cycle, or dependent on one: 1, 2, 3, 4",)


def test_parents_that_cannot_be_are_left_out_and_reported() -> None:
    found, waves = answered(graph({1: [9], 2: [2, 1]}))
    assert (waves, words(found)) == ([1, 1], "yy")
    assert found.faults == (
        "1 has the parent 9, which does not exist",
        "2 is its own parent",
    )
    twice = [*graph({1: []}), *graph({1: [], 2: [1]})]
    found, _ = answered(twice, {"1": NO})
    assert (words(found), found.faults) == ("nnn", ("2 questions have the id 1",))
    assert found.evidence["verdicts"] == {"1": "no", "1 (2)": "no", "2": "no"}


def test_what_cannot_be_asked_is_no_even_below_an_unknown() -> None:
    found, waves = answered(
        graph({"a": [], "b": ["a"], "c": ["b"]}, unaskable="b"), {"a": FAILED}
    )
    assert (waves, words(found)) == ([1], "?nn")
    assert found.evidence["not_asked"] == {"b": "it cannot be asked", "c": "b is no"}


def test_where_dependencies_are_not_followed_what_has_parents_is_no() -> None:
    questions = graph({0: [1], 1: [], 2: [9]})
    found, waves = answered(questions, dependencies="never_asked")
    assert (waves, words(found), found.asked) == ([1], "nyn", (1,))
    assert answered(questions)[0].asked == (1, 2, 0)


def test_a_reply_that_cannot_be_used_may_count_as_no_and_a_judge_that_failed_never_does() -> (
    None
):
    found, _ = answered(
        graph({1: [], 2: [1], 3: []}), {"1": UNREAD, "3": FAILED}, lost_is_no=True
    )
    assert (words(found), found.evidence["unread"], found.share().bounds) == (
        "nn?",
        1,
        (0.0, 1 / 3),
    )


def test_each_question_is_asked_so_often_and_the_majority_decides() -> None:
    found, waves = answered(graph({1: [], 2: [1]}), {"2": NO}, repeats=3)
    assert (waves, found.share().value) == ([3, 3], 0.5)


def test_long_chains_and_many_questions_are_loops() -> None:
    chain = graph({id: [id - 1] if id else [] for id in reversed(range(1000))})
    assert answered(chain)[1] == [1] * 1000
    assert words(answered(chain, {"0": NO})[0]) == "n" * 1000
    assert words(answered(chain, {"0": FAILED})[0]) == "?" * 1000
    assert answered(graph({id: [] for id in range(3000)}))[1] == [3000]


def test_a_dry_run_has_a_yes_for_an_example() -> None:
    (one,) = graph({1: []})
    asked = next(ask_graph([one]))
    assert not isinstance(asked, Call)
    assert [call.example for call in asked] == [YES]
