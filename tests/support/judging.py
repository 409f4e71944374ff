"""Judged metrics by hand: what they ask, and what they make of the replies."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from mmeval.metric.apply import score_judged
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.program.calls import Call, Program, Reply, Role
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.toy import reply

T = TypeVar("T")


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
    """The score of a trial and the requests that were made for it."""

    score: Score
    asked: list[Request]

    @property
    def questions(self) -> list[str]:
        """The words of each user message."""
        return [request.messages[-1].content.text for request in self.asked]


def judged(
    metric: str, trial: Trial, *replies: str | Response, **switches: Any
) -> Judged:
    """A trial judged by a metric of ours whose calls get the replies in their order."""
    waiting = list(replies)
    scores, steps = driven(
        score_judged(bind(load_metric(metric), switches), trial, Role),
        lambda _: waiting.pop(0),
    )
    assert not waiting, "a reply was not asked for"
    (score,) = scores.values()
    return Judged(score, [call.request for step in steps for call in step])
