"""Values of switches of UniM's metrics that make a difference to some answer, or to what is asked about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved
from mmeval.metric.apply import score_derived, score_judged, score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.program.calls import Call, Reply, Role
from mmeval.records.response import Response
from mmeval.records.sample import Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.mmmg_switch_cases import Effect
from tests.support.quality_switch_cases import of_quality
from tests.support.tiny_media import PLAIN_OFF, clip, pdf, picture, wav
from tests.support.unim_judging import taken

SC, ICS = "semantic_correctness", "interleaved_coherence"
OTHER = {"text": "Say it in other words."}
KINDS: Mapping[str, Callable[[], bytes]] = {
    "image": picture,
    "audio": wav,
    "video": clip,
    "document": pdf,
    "3d": lambda: PLAIN_OFF,
}
SCORE, GRADES = '{"score": 3}', '{"coherence": 4, "style_consistency": 2}'


def of_unim() -> Iterator[Effect]:
    yield from _of_structure()
    for metric, says in ((SC, SCORE), (ICS, GRADES)):
        yield from _of_judges(metric, says)
    yield Effect(SC, "reading", "official", [shown()], says="I would say 4.")
    yield Effect(SC, "prompt", "semantic_correctness_intent_aware", [shown()], says=SCORE)
    yield from (Effect(ICS, "weight", value, [shown()], says=GRADES) for value in (0.7, 0.9))
    yield Effect(ICS, "show_input", True, [shown()], says=GRADES)
    yield Effect(ICS, "captions", "released", [shown()], says=GRADES)
    yield Effect(ICS, "reading", "official", [shown()], says='{"coherence": 3.5, "style_consistency": 2}')
    yield Effect(ICS, "judge_failure", "lowest", [shown()], says="no grade")
    yield from (Effect("sqcs", "eta", value, []) for value in (0.6, 0.8))
    yield Effect("sqcs", "of", ["unim_gq", SC], [])
    yield from of_quality()
    yield Effect("unim_gq", "of", [SC], [], {"of": [SC, "unim_gq"]})


def _of_structure() -> Iterator[Effect]:
    """The answer has the picture of the question, one tag twice, a picture that no tag names, and another spelling."""
    media = {"image2": _medium("image"), "image3": _medium("image")}
    answer = Interleaved.from_text(
        "<<image1>> <<audio1>> <<audio1>> <<image2>> <video_start><video_0><video_end>", media
    )
    once = Interleaved.from_text("<<audio1>> <<image1>>")
    alone = Interleaved.from_text("<<image1>>")
    for metric in ("strict_structure", "lenient_structure"):
        trials = [_trial(answer, once, given="<<image1>>"), _trial(alone, once, given="<<image1>>")]
        for mode in ("unique", "unique_no_echo"):
            yield Effect(metric, "mode", mode, trials)
        for count in ("files", "parts"):
            yield Effect(metric, "count", count, trials)
        yield Effect(metric, "spelling", "span", trials)


def _of_judges(metric: str, says: str) -> Iterator[Effect]:
    yield Effect(metric, "repeats", 2, [shown()], says=says)
    varied = [says, says.replace("3", "5").replace("4", "5"), says]
    yield from (Effect(metric, "combine", how, [shown()], {"repeats": 3}, varied) for how in ("median", "majority"))
    yield Effect(metric, "prompt", OTHER, [shown()], says=says)
    for kind in KINDS:
        yield Effect(metric, f"caption_{kind}", OTHER, [shown(kind)], says=says)


def shown(kind: str = "image") -> Trial:
    """An answer with a medium of a kind."""
    answer = Interleaved.from_text(f"Here it is: <<{kind}1>>.", {f"{kind}1": _medium(kind)})
    return _trial(answer, Interleaved.from_text("A kettle."), given="What is it?")


def _medium(kind: str) -> Media:
    return Media.from_bytes(KINDS[kind]())


def _trial(answer: Interleaved, reference: Interleaved, *, given: str) -> Trial:
    return Trial(Sample("s", (user(given),), (reference,)), output=answer)


def seen(effect: Effect, trial: Trial | None, switches: Mapping[str, Any]) -> Any:
    """What a metric makes of a trial, and what it asks for that; of a derived one what it makes of two numbers."""
    bound = bind(load_metric(effect.metric), switches)
    if trial is None:
        return score_derived(bound, {SC: Score(0.5), "unim_gq": Score(0.25)})
    if not bound.metric.judged:
        return score_one(bound, trial)
    says = [effect.says] if isinstance(effect.says, str) else list(effect.says)
    program = score_judged(bound, trial, Role)
    asked: list[Call] = []
    sent: list[Reply] | None = None
    try:
        while True:
            calls = program.send(sent)
            assert not isinstance(calls, Call)
            asked += calls
            sent = [Reply(_given(call, says[at % len(says)])) for at, call in enumerate(calls)]
    except StopIteration as done:
        return done.value, [call.request.messages for call in asked]


def _given(call: Call, says: str) -> Response:
    return taken(call, lambda asked: says if asked.role == "judge" else "a kettle")
