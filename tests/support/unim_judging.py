"""UniM's judged metrics by hand: trials with items, captions that follow from these,
and a judge that says what it is told. A reply that a call does not take becomes a
failure, as the broker makes one of it after its last try."""

import json
from collections.abc import Mapping
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
from tests.support.toy import picture, reply

QUESTION = "Which kettle is it, tell me?"
RED, BLUE = picture(0xFF0000), picture(0x0000FF)
NAMES = {RED.sha256: "a red kettle", BLUE.sha256: "a blue kettle"}
DOWN = Response.failed("server", "error 503: quota 3 of 5 used")
"""A judge or captioner that fails, with digits in its message."""


class Judged(NamedTuple):
    """The scores of a trial by output, and the calls that were made for it, by role."""

    scores: Mapping[str, Score]
    calls: Mapping[str, list[Call]]

    @property
    def score(self) -> Score:
        (score,) = self.scores.values()
        return score

    @property
    def questions(self) -> list[str]:
        """What the judge was asked, each as the words of its user message."""
        return [call.request.messages[-1].content.text for call in self.calls["judge"]]

    @property
    def captions(self) -> int:
        return len(self.calls["captioner"])


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


def unim_sample(reference: Interleaved | None = None, **labels: Any) -> Sample:
    return Sample(
        "s", (user(QUESTION),), () if reference is None else (reference,), labels
    )


def judge_unim(
    metric: str,
    trial: Trial,
    *says: str | Response,
    profile: str = "standard",
    lost: Media | None = None,
    **more: Any,
) -> Judged:
    """A trial judged with these replies in their order; the captioner fails at the
    medium ``lost``."""
    waiting = list(says)
    calls: dict[str, list[Call]] = {"judge": [], "captioner": []}

    def say(call: Call) -> Response:
        given: str | Response
        calls[call.role].append(call)
        if call.role == "captioner":
            (medium,) = call.request.messages[-1].content.media()
            given = DOWN if medium == lost else NAMES[medium.sha256]
        else:
            given = waiting.pop(0)
        response = given if isinstance(given, Response) else reply(given)
        fault = (
            call.accept(response) if call.accept and response.output is not None else ""
        )
        return Response.failed("bad_reply", fault) if fault else response

    scores, _ = driven(
        score_judged(bind(load_metric(metric), more, profile), trial, Role), say
    )
    assert not waiting, "a reply was not asked for"
    return Judged(scores, calls)


def graded(score: Any, reason: str = "so") -> str:
    """A reply of a judge with one grade."""
    return json.dumps({"reason": reason, "score": score})
