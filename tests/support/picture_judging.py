"""Questions about pictures by hand: a judge that answers each by what stands in it, and
trials to ask about."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mmeval.media.media import Media
from mmeval.media.parts import Interleaved
from mmeval.metric.apply import score_judged
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.program.calls import Call, Role
from mmeval.records.response import Response
from mmeval.records.sample import Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.judging import driven
from tests.support.pictures import even, medium

RED, BLUE = medium(even(16, 16, (255, 0, 0))), medium(even(16, 16, (0, 0, 255)))
LOST = Response.failed("bad_reply", "the reply is empty")
Says = Mapping[str, "str | Response | list[str]"]
"""What the judge replies to questions that hold some words; the first that fits holds,
``""`` fits all. Of a list each question gets the next."""


class Asked(NamedTuple):
    """A score, and the questions that were asked for it, each with its role and
    request."""

    score: Score
    calls: list[Call]

    @property
    def questions(self) -> list[str]:
        return [call.request.messages[-1].content.text for call in self.calls]

    @property
    def kinds(self) -> list[list[str]]:
        """The kinds of part of each question, in their order."""
        return [
            [part.kind for part in call.request.messages[-1].content.parts]
            for call in self.calls
        ]

    def pictures(self, at: int = 0) -> tuple[Media, ...]:
        return self.calls[at].request.messages[-1].content.media("image")


def answer(value: Any, why: str = "so") -> str:
    """A reply in the form that a robust reading asks for."""
    return json.dumps({"reason": why, "answer": value})


def judged(
    metric: str,
    trial: Trial,
    says: Says | str,
    profile: str = "standard",
    role_says: Mapping[str, Says] | None = None,
    **switches: Any,
) -> Asked:
    """A trial judged by a metric of ours. ``says`` may be one reply to all;
    ``role_says`` is for other roles."""
    usual: Says = {"": says} if isinstance(says, str) else says

    def say(call: Call) -> str | Response:
        asked = call.request.messages[-1].content.text
        found = next(
            said
            for words, said in (role_says or {}).get(call.role, usual).items()
            if words in asked
        )
        return found.pop(0) if isinstance(found, list) else found

    scores, steps = driven(
        score_judged(bind(load_metric(metric), switches, profile), trial, Role), say
    )
    (score,) = scores.values()
    return Asked(score, [call for step in steps for call in step])


def trial_of(
    said: str | None, /, *pictures: Media, given: Sequence[Media] = (), **labels: Any
) -> Trial:
    """A trial whose answer is a text with placeholders and pictures, about a row with
    these labels."""
    output = None if said is None else Interleaved.from_reply(said, pictures)
    return Trial(Sample("s", (user("draw", *given),), (), labels), output=output)
