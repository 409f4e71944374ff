from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mmeval.errors import PluginError
from mmeval.media.parts import Interleaved
from mmeval.metric import apply
from mmeval.metric.apply import score_all, score_one
from mmeval.metric.bound import BoundMetric, bind
from mmeval.metric.contract import metric
from mmeval.records.sample import Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.system.time_limit import TimeLimit

Function = Callable[[Sequence[Trial]], Any]
OF_CUDA = "CUDA out of memory. Tried to allocate 2.00 GiB"
OF_THE_PROCESSOR = (
    "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."
)


@pytest.fixture(autouse=True)
def _no_size_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "_FITTED", {})


def trials(*texts: str) -> list[Trial]:
    return [
        Trial(Sample(f"s{i}", ()), output=Interleaved.from_text(text))
        for i, text in enumerate(texts)
    ]


def words(trial: Trial) -> str:
    return trial.output.words if trial.output else ""


class Lengths:
    """A batched metric: the length of each answer. It notes the sizes of its
    batches."""

    def __init__(
        self, *, fits: int = 99, batch: int = 4, message: str = OF_CUDA
    ) -> None:
        self.sizes: list[int] = []

        def lengths(trials: Sequence[Trial]) -> list[float]:
            self.sizes.append(len(trials))
            if any("bad" in words(trial) for trial in trials):
                raise ValueError("no such luck")
            if len(trials) > fits:
                raise RuntimeError(message)
            return [float(len(words(trial))) for trial in trials]

        self.bound = bind(
            metric(range=(0, 9), version="1", source="test", batch=batch)(lengths)
        )

    def scores(self, *texts: str) -> list[Score]:
        return [scores["lengths"] for scores in score_all(self.bound, trials(*texts))]

    def values(self, *texts: str) -> list[float | None]:
        return [score.value for score in self.scores(*texts)]


def given(function: Function) -> BoundMetric:
    def named(trials: Sequence[Trial]) -> Any:
        return function(trials)

    return bind(
        metric(range=(0, 1), version="1", source="test", name="given", batch=9)(named)
    )


def test_answers_are_scored_in_batches_and_in_order_and_a_bad_one_costs_only_itself() -> (
    None
):
    lengths, some = Lengths(), Lengths()
    assert lengths.values("a", "bb", "ccc", "dd", "e", "ffff") == [1, 2, 3, 2, 1, 4]
    assert score_one(lengths.bound, trials("abc")[0])["lengths"].value == 3
    assert lengths.sizes == [4, 2, 1]
    (good, bad, also) = some.scores("a", "bad", "ccc")
    assert (good.value, also.value, some.sizes) == (1, 3, [3, 1, 1, 1])
    assert bad.reason.startswith("ValueError: no such luck (test_")
    one = metric(range=(0, 9), version="1", source="test", name="one")(
        lambda trial: len(words(trial))
    )
    assert [
        scores["one"].value for scores in score_all(bind(one), trials("a", "bb"))
    ] == [1, 2]


def test_a_batch_for_which_memory_is_short_is_halved_and_the_size_is_remembered() -> (
    None
):
    lengths = Lengths(fits=2, batch=8)
    assert lengths.values(*["a"] * 9) == [1.0] * 9
    assert lengths.values(*["a"] * 4) == [1.0] * 4
    assert lengths.sizes == [8, 4, 2, 2, 2, 2, 1, 2, 2]


@pytest.mark.parametrize("message", [OF_CUDA, OF_THE_PROCESSOR])
def test_one_answer_for_which_memory_is_short_is_unscored_and_may_be_tried_again(
    message: str,
) -> None:
    found = Lengths(fits=0, batch=2, message=message).scores("a", "b")
    assert [score.cause for score in found] == ["lost"] * 2
    assert found[0].reason.startswith("MemoryError") and message in found[0].reason


@pytest.mark.parametrize(
    ("result", "word"),
    [
        ([1.0], "1 scores"),
        ([1.0] * 3, "3 scores"),
        ("ab", "a str"),
        ({0: 1.0, 1: 1.0}, "a dict"),
    ],
)
def test_another_number_of_scores_than_of_answers_is_the_plugins_fault(
    result: Any, word: str
) -> None:
    calls: list[int] = []

    def wrong(trials: Sequence[Trial]) -> Any:
        calls.append(len(trials))
        return result

    for scores in score_all(given(wrong), trials("a", "b")):
        assert (
            scores["given"].reason.startswith("PluginError: ")
            and word in scores["given"].reason
        )
    assert calls == [2], "it is not tried answer by answer"


def test_a_value_that_is_none_or_outside_the_range_concerns_its_answer_alone() -> None:
    found = score_all(
        given(lambda trials: iter([1.0, 7.0, "x", float("nan"), Score(0.5)])),
        trials(*"abcde"),
    )
    assert [scores["given"].value for scores in found] == [1.0, None, None, None, 0.5]


def test_a_batch_has_the_time_of_its_answers_and_one_that_hangs_is_scored_alone() -> (
    None
):
    allowed: list[float] = []

    class Noting(TimeLimit):
        """A limit that is over at once for an answer that would hang."""

        def begin(self, trials: int = 1) -> None:
            allowed.append(self.seconds * trials)

        def end(self) -> None:
            allowed.append(0)

    def slow(trials: Sequence[Trial]) -> list[float]:
        if any("hang" in words(trial) for trial in trials):
            raise TimeoutError
        return [1.0 for _ in trials]

    found = score_all(given(slow), trials("a", "hang", "b"), Noting(0.5))
    assert [scores["given"].value for scores in found] == [1, None, 1]
    assert found[1]["given"].cause == "lost"
    assert allowed == [1.5, 0, 0.5, 0, 0.5, 0, 0.5, 0]


@pytest.mark.parametrize(
    ("text", "batch"),
    [
        ("def tool(trial): ...", 4),
        ("def tool(): ...", 4),
        ("def tool(*, trials=()): ...", 4),
        ("def tool(trials): ...", None),
        ("def tool(trials): ...", 0),
        ("def tool(trials): ...", True),
        ("def tool(scores, *, of=()): ...", 4),
        ("def tool(trials, judge): ...", 4),
        ("def tool(trials):\n  yield 1", 4),
    ],
)
def test_a_function_that_cannot_be_batched_is_refused_when_it_is_described(
    text: str, batch: Any
) -> None:
    space: dict[str, Any] = {}
    exec(f"{text}\ndef right(_trials): ...", space)
    with pytest.raises(PluginError, match="batch="):
        metric(range=(0, 1), version="1", source="test", batch=batch)(space["tool"])
    described = metric(range=(0, 1), version="1", source="test", batch=1)(
        space["right"]
    )
    assert (described.batch, described.judged, described.derived) == (1, False, False)
