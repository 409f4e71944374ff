"""What UniM's definitions allow at most and at least, on the bundled samples and with a truthful judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from statistics import fmean

import pytest

from mmeval.content.parts import Interleaved
from mmeval.metric.apply import score_judged, score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.program.calls import Call, Reply, Role
from mmeval.records.sample import Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.task.build import build
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides
from mmeval.tasks.unim.perturbation import STEPS, curve, items_of
from tests.support.toy import reply
from tests.support.unim_judges import purpose_of, said

STRUCTURE = ("strict_structure", "lenient_structure")
METRICS = (*STRUCTURE, "semantic_correctness")
PROFILES = pytest.mark.parametrize("profile", ["standard", "official"])


@cache
def samples() -> Sequence[Sample]:
    """The bundled samples of all levels that can be asked."""
    files = choose(["unim_easy", "unim_medium", "unim_hard"], TaskIndex()).tasks.values()
    tasks = [build(file, TaskOverrides(data="bundled"), roles=frozenset({"judge", "captioner"})) for file in files]
    return [sample for task in tasks for sample in task.dataset() if task.selected(sample) and not sample.fault]


def gold(sample: Sample) -> Interleaved:
    return sample.references[0]


def values(metric: str, answer: Callable[[Sample], Interleaved], profile: str) -> list[float | None]:
    trials = [Trial(sample, output=answer(sample)) for sample in samples()]
    return [score.value for trial in trials for score in scored(metric, trial, profile).values()]


def scored(metric: str, trial: Trial, profile: str) -> dict[str, Score]:
    bound = bind(load_metric(metric), profile=profile)
    if not bound.metric.judged:
        return dict(score_one(bound, trial))
    program, sent = score_judged(bound, trial, Role), None
    try:
        while True:
            calls = program.send(sent)
            assert not isinstance(calls, Call)
            sent = [Reply(reply(honest(call))) for call in calls]
    except StopIteration as done:
        return dict(done.value)


def honest(call: Call) -> str:
    """A caption by the digest of the medium; a grade of 5 where candidate and reference are the same words."""
    words = call.request.messages[-1].content.text
    media = [medium.sha256 for message in call.request.messages for medium in message.content.media()]
    return said(purpose_of(words), words, media[0] if media else "")


@PROFILES
@pytest.mark.parametrize("metric", METRICS)
def test_the_gold_answer_has_the_best_value_of_every_sample_and_those_of_others_are_worse(
    metric: str, profile: str
) -> None:
    others = dict(zip([one.id for one in samples()], [*samples()[1:], samples()[0]], strict=True))
    found = [value for value in values(metric, lambda one: gold(others[one.id]), profile) if value is not None]

    assert values(metric, gold, profile) == [1.0] * len(samples())
    assert (len(found), fmean(found) < 0.9) == (len(samples()), True)
    assert metric in STRUCTURE or max(found) < 1, "another answer never means the same"


@PROFILES
@pytest.mark.parametrize("metric", [*METRICS, "interleaved_coherence"])
def test_an_empty_answer_has_the_least_value_of_every_sample(metric: str, profile: str) -> None:
    assert set(values(metric, lambda _: Interleaved(), profile)) == {0.0}
    assert metric not in STRUCTURE or set(values(metric, lambda _: Interleaved.from_text("Words."), profile)) == {0.0}


def test_bundled_gold_answers_behave_under_damage_as_in_the_paper() -> None:
    counts = [(answer, items_of(answer).values()) for answer in map(gold, samples())]
    answers = [answer for answer, items in counts if len(items) >= 2 and max(items) >= 3]
    assert answers, "some bundled answer has two modalities and three items of one"

    found = [(point.k, point.strict == 1, point.lenient) for point in curve(answers, "RN", draws=5)]
    assert found == [(k, k == 0, 1) for k in STEPS]
