from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mmeval
from mmeval import plugins
from mmeval.aggregate.scores import Estimate, Scores
from mmeval.errors import AmbiguousNameError, PluginError, UsageError
from mmeval.metric.contract import load_metric, metric
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.readers import read_samples
from tests.support.task_folder import write_rows


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    yield


def half(trial: Trial, *, strict: bool = False) -> float:
    """Half a point."""
    return 0.5


def test_a_registered_metric_is_one_like_any_other_with_the_version_of_its_source_if_none_is_given() -> (
    None
):
    assert not plugins.any_of_script()
    made = mmeval.register_metric("my_half", range=(0, 1), version="2", source="here")(
        half
    )
    assert load_metric("my_half") is made
    assert made.name == "my_half"
    assert made.outputs == ("my_half",)
    assert made.range == (0, 1)
    assert made.version == "2"
    assert (made.switches, "my_half" in plugins.names("mmeval.metrics")) == (
        {"strict": False},
        True,
    )
    assert plugins.any_of_script() and plugins.is_of_script("mmeval.metrics", "my_half")
    described = metric(range=(0, 5), version="7", source="a paper")(half)
    assert mmeval.register_metric("mine")(described).version == "7"

    def other(trial: Trial) -> float:
        return 0.25

    named = (("a", half), ("b", other), ("c", half))
    first, second, third = (
        mmeval.register_metric(name)(function).version for name, function in named
    )
    assert first == third != second


def test_registering_without_a_name_or_a_metric_of_anything_but_a_trial_is_refused() -> (
    None
):
    every: list[Any] = [
        mmeval.register_metric,
        mmeval.register_backend,
        mmeval.register_loader,
    ]
    for register in every:
        with pytest.raises(UsageError, match=r'@mmeval.register_\w+\("half"\)'):
            register(half)
    functions: list[Any] = [
        lambda: 0.5,
        lambda answer, reference: 0.5,
        lambda *, trial=None: 0.5,
    ]
    for function in functions:
        with pytest.raises(PluginError, match="'wrong'"):
            mmeval.register_metric("wrong")(function)


def test_each_decorator_registers_in_its_group_and_returns_it() -> None:
    def plugin() -> None:
        pass

    groups: dict[str, plugins.PluginGroup] = {
        "backend": "mmeval.model_backends",
        "model": "mmeval.model_backends",
        "loader": "mmeval.loaders",
        "aggregation": "mmeval.aggregators",
        "protocol": "mmeval.protocols",
        "prompt": "mmeval.prompts",
    }
    for kind, group in groups.items():
        names = (
            (f"{kind}_of_mine", f"{kind}_too")
            if group == "mmeval.model_backends"
            else (f"{kind}_of_mine",)
        )
        assert getattr(mmeval, f"register_{kind}")(*names)(plugin) is plugin
        assert all(plugins.load(group, name) is plugin for name in names)


def test_a_name_that_a_package_has_too_is_an_error_for_its_user() -> None:
    mmeval.register_metric("exact_match")(half)
    with pytest.raises(AmbiguousNameError, match="by mmeval and script") as caught:
        plugins.load("mmeval.metrics", "exact_match")
    assert caught.value.name == "exact_match"
    assert plugins.load("mmeval.metrics", "script/exact_match").function is half
    assert plugins.load("mmeval.metrics", "mmeval/exact_match").function is not half


def test_the_same_definition_again_replaces_the_earlier_one_and_another_is_refused() -> (
    None
):
    def define(value: float) -> Any:
        @mmeval.register_aggregation("settled")
        def settled(scores: Scores) -> Estimate:
            return Estimate(value)

        return settled

    first, second = define(1.0), define(2.0)
    assert plugins.load("mmeval.aggregators", "settled") is second is not first
    with pytest.raises(UsageError) as caught:
        mmeval.register_aggregation("settled")(lambda scores: Estimate(3.0))
    assert caught.value.name == "settled"


def test_scores_have_weights_and_an_aggregator_that_asks_is_told_the_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(
        tmp_path / "data",
        *({"input": text} for text in ("one", "one two three", "bad")),
    )

    def heavy(trial: Trial) -> Score:
        words = trial.sample.input[0].content.raw.split()
        return Score(len(words) > 1, weight=-1 if words == ["bad"] else len(words))

    def told(scores: Scores, *, profile: str, times: float = 1.0) -> Estimate:
        return Estimate(times * (profile == "official"))

    mmeval.register_metric("heavy")(heavy)
    mmeval.register_metric("other")(lambda trial: 0.0)
    mmeval.register_aggregation("told")(told)
    listed = [
        {"metric": "heavy", "aggregation": "weighted_mean"},
        {"metric": "other", "aggregation": {"name": "told", "times": 0.5}},
    ]
    task = {
        "task": "steps",
        "dataset_path": "data",
        "metric_list": listed,
        "metadata": {"version": 1},
    }
    values = []
    for profile in ("standard", "official"):
        found = mmeval.evaluate(
            model="empty",
            tasks=task,
            score_workers=0,
            bootstrap_iters=0,
            log_samples=True,
            profile=profile,
        )
        values.append([result.value for result in found.results])
        assert [result.unscored for result in found.results] == [1, 0]
    assert values == [[0.75, 0.0], [0.75, 0.5]]
    rows = [
        row["scores"][0]["heavy"]
        for row in read_samples(next(tmp_path.rglob("samples_*.jsonl")))
    ]
    assert [row.get("weight") for row in rows] == [None, 3, None]
