"""Judged metrics by hand: what they ask, and what they make of the replies. Questions
about pictures and UniM's metrics have judges and trials of their own here."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from mmeval.media.media import Media
from mmeval.media.parts import Interleaved
from mmeval.metric.apply import score_judged
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.program.calls import Call, Program, Reply, Role
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.pictures import even, medium
from tests.support.toy import reply

T = TypeVar("T")
RED, BLUE = medium(even(16, 16, (255, 0, 0))), medium(even(16, 16, (0, 0, 255)))


def driven(
    program: Program[T], say: Callable[[Call], str | Response]
) -> tuple[T, list[list[Call]]]:
    """The result of a program whose calls get these replies, and the calls of each
    step."""
    steps: list[list[Call]] = []
    sent: Any = None
    try:
        while True:
            asked = program.send(sent)
            steps.append([asked] if isinstance(asked, Call) else list(asked))
            said = [say(call) for call in steps[-1]]
            replies = [
                Reply(one if isinstance(one, Response) else reply(one)) for one in said
            ]
            sent = replies[0] if isinstance(asked, Call) else replies
    except StopIteration as done:
        result: T = done.value
        return result, steps


class Judged(NamedTuple):
    """The scores of a trial by output, and the calls that were made for it."""

    scores: Mapping[str, Score]
    calls: list[Call]

    @property
    def score(self) -> Score:
        (score,) = self.scores.values()
        return score

    @property
    def asked(self) -> list[Request]:
        return [call.request for call in self.calls]

    @property
    def questions(self) -> list[str]:
        """The words of each question to a judge; a captioner is asked none."""
        return [
            call.request.messages[-1].content.text
            for call in self.calls
            if call.role != "captioner"
        ]

    @property
    def kinds(self) -> list[list[str]]:
        """The kinds of part of each question, in their order."""
        return [
            [part.kind for part in request.messages[-1].content.parts]
            for request in self.asked
        ]

    def pictures(self, at: int = 0) -> tuple[Media, ...]:
        return self.asked[at].messages[-1].content.media("image")

    def of(self, role: str) -> "Judged":
        """The calls of one role alone."""
        calls = [call for call in self.calls if call.role == role]
        return self._replace(calls=calls)


def judged_by(
    say: Callable[[Call], str | Response],
    metric: str,
    trial: Trial,
    profile: str = "standard",
    **switches: Any,
) -> Judged:
    """A trial judged by a metric of ours whose calls get these replies."""
    bound = bind(load_metric(metric), switches, profile)
    scores, steps = driven(score_judged(bound, trial, Role), say)
    return Judged(scores, [call for step in steps for call in step])


def judged(
    metric: str, trial: Trial, *replies: str | Response, **switches: Any
) -> Judged:
    """The calls get the replies in their order."""
    waiting = list(replies)
    done = judged_by(lambda _: waiting.pop(0), metric, trial, **switches)
    assert not waiting, "a reply was not asked for"
    return done


# Questions about pictures: a judge that answers each by what stands in it.

LOST = Response.failed("bad_reply", "the reply is empty")
Says = Mapping[str, "str | Response | list[str]"]
"""What the judge replies to questions that hold some words; the first that fits holds,
``""`` fits all. Of a list each question gets the next."""


def answer(value: Any, why: str = "so") -> str:
    """A reply in the form that a robust reading asks for."""
    return json.dumps({"reason": why, "answer": value})


def judged_by_words(
    metric: str,
    trial: Trial,
    says: Says | str,
    profile: str = "standard",
    role_says: Mapping[str, Says] | None = None,
    **switches: Any,
) -> Judged:
    """``says`` may be one reply to all; ``role_says`` is for other roles."""
    usual: Says = {"": says} if isinstance(says, str) else says

    def say(call: Call) -> str | Response:
        asked = call.request.messages[-1].content.text
        found = next(
            said
            for words, said in (role_says or {}).get(call.role, usual).items()
            if words in asked
        )
        return found.pop(0) if isinstance(found, list) else found

    return judged_by(say, metric, trial, profile, **switches)


def trial_of(
    said: str | None, /, *pictures: Media, given: Sequence[Media] = (), **labels: Any
) -> Trial:
    """A trial whose answer is a text with placeholders and pictures, about a row with
    these labels."""
    output = None if said is None else Interleaved.from_reply(said, pictures)
    return Trial(Sample("s", (user("draw", *given),), (), labels), output=output)


# UniM's metrics: trials with items, and captions that follow from these.

QUESTION = "Which kettle is it, tell me?"
NAMES = {RED.sha256: "a red kettle", BLUE.sha256: "a blue kettle"}
DOWN = Response.failed("server", "error 503: quota 3 of 5 used")
"""A judge or captioner that fails, with digits in its message."""


def unim_sample(reference: Interleaved | None = None, **labels: Any) -> Sample:
    references = () if reference is None else (reference,)
    return Sample("s", (user(QUESTION),), references, labels)


def answer_trial(
    text: str = "It is <<image1>>.",
    *,
    reference: Interleaved | None = None,
    **labels: Any,
) -> Trial:
    """An answer with the pictures red, blue where it has tags, and a reference in words
    unless one is given."""
    return Trial(unim_sample(reference, **labels), output=interleaved(text))


def interleaved(text: str, *media: Media) -> Interleaved:
    found = dict(zip(("image1", "image2"), media or (RED, BLUE), strict=False))
    return Interleaved.from_text(
        text, {label: item for label, item in found.items() if label in text}
    )


def judge_unim(
    metric: str,
    trial: Trial,
    *says: str | Response,
    profile: str = "standard",
    lost: Media | None = None,
    **more: Any,
) -> Judged:
    """The judge gives these replies in their order; the captioner fails at the medium
    ``lost``. A reply that a call does not take becomes a failure, as the broker makes
    one of it after its last try."""
    waiting = list(says)

    def say(call: Call) -> Response:
        given: str | Response
        if call.role == "captioner":
            (shown,) = call.request.messages[-1].content.media()
            given = DOWN if shown == lost else NAMES[shown.sha256]
        else:
            given = waiting.pop(0)
        response = given if isinstance(given, Response) else reply(given)
        fault = (
            call.accept(response) if call.accept and response.output is not None else ""
        )
        return Response.failed("bad_reply", fault) if fault else response

    done = judged_by(say, metric, trial, profile, **more)
    assert not waiting, "a reply was not asked for"
    return done


def graded(score: Any, reason: str = "so") -> str:
    """A reply of a judge with one grade."""
    return json.dumps({"reason": reason, "score": score})
