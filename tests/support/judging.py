"""Judged metrics by hand: what they ask, and what they make of the replies."""

from __future__ import annotations

from typing import Any, NamedTuple

from mmeval.metric.apply import score_judged
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.program.calls import Call, Reply, Role
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.toy import reply


class Judged(NamedTuple):
    """The score of a trial and the requests that were made for it."""

    score: Score
    asked: list[Request]

    @property
    def questions(self) -> list[str]:
        """The words of each user message."""
        return [request.messages[-1].content.text for request in self.asked]


def judged(metric: str, trial: Trial, *replies: str | Response, **switches: Any) -> Judged:
    """A trial judged by a metric of ours whose calls get the replies in their order."""
    bound = bind(load_metric(metric), switches)
    program = score_judged(bound, trial, Role)
    asked: list[Request] = []
    waiting = [one if isinstance(one, Response) else reply(one) for one in replies]
    sent: list[Reply] | None = None
    try:
        while True:
            calls = program.send(sent)
            assert not isinstance(calls, Call)
            asked += [call.request for call in calls]
            sent = [Reply(waiting.pop(0)) for _ in calls]
    except StopIteration as done:
        assert not waiting, "a reply was not asked for"
        (score,) = done.value.values()
        return Judged(score, asked)
