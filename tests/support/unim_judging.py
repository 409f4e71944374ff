"""UniM's judged metrics by hand: trials with items, captions that follow from these, and a judge that says what it is
told. A reply that a call does not take becomes a failure, as the broker makes one of it after its last try."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mmeval.content import Interleaved, Media
from mmeval.metric import bind, load_metric, score_judged
from mmeval.program.calls import Call, Reply, Role
from mmeval.records import Response, Sample, Score, Trial, user
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


def answer_trial(text: str = "It is <<image1>>.", *, reference: Interleaved | None = None, **labels: Any) -> Trial:
    return Trial(unim_sample(reference, **labels), output=interleaved(text))


def interleaved(text: str, *media: Media) -> Interleaved:
    found = dict(zip(("image1", "image2"), media or (RED, BLUE), strict=False))
    return Interleaved.from_text(text, {label: item for label, item in found.items() if label in text})


def unim_sample(reference: Interleaved | None = None, **labels: Any) -> Sample:
    return Sample("s", (user(QUESTION),), () if reference is None else (reference,), labels)


def judge_unim(
    metric: str,
    trial: Trial,
    *says: str | Response,
    profile: str = "standard",
    lost: Media | None = None,
    failure: Response = DOWN,
    **more: Any,
) -> Judged:
    program = score_judged(bind(load_metric(metric), more, profile), trial, Role)
    waiting = list(says)
    calls: dict[str, list[Call]] = {"judge": [], "captioner": []}
    sent: list[Reply] | None = None
    try:
        while True:
            asked = program.send(sent)
            assert not isinstance(asked, Call)
            for call in asked:
                calls[call.role].append(call)
            told = {"judge": lambda _: waiting.pop(0), "captioner": lambda call: _caption(call, lost, failure)}
            sent = [Reply(taken(call, told[call.role])) for call in asked]
    except StopIteration as done:
        assert not waiting, "a reply was not asked for"
        return Judged(done.value, calls)


def taken(call: Call, said: Callable[[Call], str | Response]) -> Response:
    given = said(call)
    response = given if isinstance(given, Response) else reply(given)
    fault = call.accept(response) if call.accept and response.output is not None else ""
    return Response.failed("bad_reply", f"{fault}; the reply was {response.text!r}") if fault else response


def _caption(call: Call, lost: Media | None, failure: Response) -> str | Response:
    (medium,) = call.request.messages[-1].content.media()
    return failure if lost is not None and medium.sha256 == lost.sha256 else NAMES[medium.sha256]
