"""Batched metrics: one call for many answers, and what one bad answer costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mmeval.content.parts import Interleaved
from mmeval.errors import PluginError
from mmeval.metric import apply
from mmeval.metric.apply import score_all, score_one
from mmeval.metric.bound import BoundMetric, bind
from mmeval.metric.contract import metric
from mmeval.records.sample import Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.system.time_limit import TimeLimit

Function = Callable[[Sequence[Trial]], Any]


@pytest.fixture(autouse=True)
def _no_size_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "_FITTED", {})


def trials(*texts: str) -> list[Trial]:
    return [Trial(Sample(f"s{i}", ()), output=Interleaved.from_text(text)) for i, text in enumerate(texts)]


def words(trial: Trial) -> str:
    return trial.output.words if trial.output else ""


OF_CUDA = "CUDA out of memory. Tried to allocate 2.00 GiB"


class Lengths:
    """A batched metric: the length of each answer. It notes the sizes of its batches."""

    def __init__(self, *, fits: int = 99, batch: int = 4) -> None:
        self.sizes: list[int] = []
        self.fits, self.says = fits, OF_CUDA

        def lengths(trials: Sequence[Trial]) -> list[float]:
            return self.of(trials)

        self.bound = bind(metric(range=(0, 9), version="1", source="test", batch=batch)(lengths))

    def of(self, trials: Sequence[Trial]) -> list[float]:
        self.sizes.append(len(trials))
        if any("bad" in words(trial) for trial in trials):
            raise ValueError("no such luck")
        if len(trials) > self.fits:
            raise RuntimeError(self.says)
        return [float(len(words(trial))) for trial in trials]

    def values(self, *texts: str) -> list[float | None]:
        return [scores["lengths"].value for scores in score_all(self.bound, trials(*texts))]


def given(function: Function, batch: int = 9) -> BoundMetric:
    def named(trials: Sequence[Trial]) -> Any:
        return function(trials)

    return bind(metric(range=(0, 1), version="1", source="test", name="given", batch=batch)(named))


def test_answers_are_scored_in_batches_and_in_order() -> None:
    lengths = Lengths()

    assert lengths.values("a", "bb", "ccc", "dd", "e", "ffff") == [1, 2, 3, 2, 1, 4]
    assert lengths.sizes == [4, 2]


def test_one_answer_can_be_scored_alone() -> None:
    lengths = Lengths()

    assert score_one(lengths.bound, trials("abc")[0])["lengths"].value == 3
    assert lengths.sizes == [1]


def test_a_bad_answer_costs_only_itself() -> None:
    lengths = Lengths()
    (good, bad, also) = score_all(lengths.bound, trials("a", "bad", "ccc"))

    assert (good["lengths"].value, also["lengths"].value) == (1, 3)
    assert bad["lengths"].reason.startswith("ValueError: no such luck (test_apply.py")
    assert lengths.sizes == [3, 1, 1, 1]


def test_a_batch_for_which_memory_is_short_is_halved_and_the_size_is_remembered() -> None:
    lengths = Lengths(fits=2, batch=8)

    assert lengths.values(*["a"] * 9) == [1.0] * 9
    assert lengths.sizes == [8, 4, 2, 2, 2, 2, 1]
    lengths.sizes.clear()
    assert lengths.values(*["a"] * 4) == [1.0] * 4
    assert lengths.sizes == [2, 2]


@pytest.mark.parametrize(
    "says", [OF_CUDA, "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."]
)
def test_one_answer_for_which_memory_is_short_is_unscored_and_may_be_tried_again(says: str) -> None:
    lengths = Lengths(fits=0, batch=2)
    lengths.says = says
    found = [scores["lengths"] for scores in score_all(lengths.bound, trials("a", "b"))]

    assert [score.cause for score in found] == [Score.lost("x").cause] * 2
    assert found[0].reason.startswith(f"MemoryError: one answer needs more memory than there is ({says[:20]}")


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ([1.0], "was given 2 trials and returned 1 scores"),
        ([1.0, 1.0, 1.0], "was given 2 trials and returned 3 scores"),
        (1.0, "it must return a list, not a float"),
        ("ab", "it must return a list, not a str"),
        ({0: 1.0, 1: 1.0}, "it must return a list, not a dict"),
    ],
)
def test_another_number_of_scores_than_of_answers_is_the_plugins_fault(result: Any, reason: str) -> None:
    calls: list[int] = []

    def wrong(trials: Sequence[Trial]) -> Any:
        calls.append(len(trials))
        return result

    for scores in score_all(given(wrong), trials("a", "b")):
        assert scores["given"].reason.startswith(f"{PluginError.__name__}: the metric 'given' ")
        assert reason in scores["given"].reason
    assert calls == [2], "it is not tried answer by answer"


def test_a_value_that_is_none_or_outside_the_range_concerns_its_answer_alone() -> None:
    found = score_all(given(lambda trials: [1.0, 7.0, "x", float("nan"), Score(0.5)]), trials(*"abcde"))

    assert [scores["given"].value for scores in found] == [1.0, None, None, None, 0.5]


def test_a_batch_has_the_time_of_its_answers_and_one_that_hangs_is_scored_alone() -> None:
    import time

    def slow(trials: Sequence[Trial]) -> list[float]:
        time.sleep(sum(float(words(trial)) for trial in trials))
        return [1.0 for _ in trials]

    limit = TimeLimit(0.3)
    with limit.alarmed():
        found = score_all(given(slow), trials("0.2", "0.2", "0.2"), limit)
        late = score_all(given(slow), trials("0.01", "5"), limit)

    assert [scores["given"].value for scores in (*found, *late)] == [1, 1, 1, 1, None]
    assert "more than 0.3 seconds for one answer" in late[1]["given"].reason


def function_of(text: str) -> Any:
    space: dict[str, Any] = {}
    exec(text, space)
    return space["tool"]


@pytest.mark.parametrize(
    ("text", "batch"),
    [
        ("def tool(trial): ...", 4),
        ("def tool(): ...", 4),
        ("def tool(trials): ...", None),
        ("def tool(trials): ...", 0),
        ("def tool(trials): ...", True),
        ("def tool(scores, *, of=()): ...", 4),
        ("def tool(trials, judge): ...", 4),
        ("def tool(trials):\n  yield 1", 4),
    ],
    ids=["one trial", "nothing", "no size", "size 0", "no number", "derived", "a role", "judged"],
)
def test_a_function_that_cannot_be_batched_is_refused_when_it_is_described(text: str, batch: Any) -> None:
    with pytest.raises(PluginError, match=r"scores? many answers at once"):
        metric(range=(0, 1), version="1", source="test", batch=batch)(function_of(text))


@pytest.mark.parametrize("name", ["trials", "_trials"])
def test_the_first_argument_is_called_trials(name: str) -> None:
    described = metric(range=(0, 1), version="1", source="test", batch=3)(function_of(f"def tool({name}): ..."))

    assert (described.batch, described.judged, described.derived) == (3, False, False)
