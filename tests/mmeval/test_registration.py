from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mmeval
from mmeval import plugins
from mmeval.aggregate.scores import Estimate, Scores
from mmeval.errors import AmbiguousNameError, PluginError, UsageError
from mmeval.metric.contract import load_metric, metric
from mmeval.records.trial import Trial


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    yield


def half(trial: Trial, *, strict: bool = False) -> float:
    """Half a point."""
    return 0.5


def test_a_registered_metric_is_one_like_any_other() -> None:
    made = mmeval.register_metric("my_half", range=(0, 1), version="2", source="here")(half)

    assert load_metric("my_half") is made
    assert (made.name, made.outputs, made.range, made.version, made.switches) == (
        *("my_half", ("my_half",), (0, 1), "2"),
        {"strict": False},
    )
    assert "my_half" in plugins.names("mmeval.metrics")


def test_a_metric_without_a_version_has_that_of_its_source() -> None:
    def other(trial: Trial) -> float:
        return 0.25

    versions = [mmeval.register_metric(name)(function).version for name, function in (("a", half), ("b", other))]
    assert versions[0] != versions[1]
    assert versions[0] == mmeval.register_metric("c")(half).version


def test_registering_without_a_name_is_told_the_call() -> None:
    register: Any = mmeval.register_metric
    with pytest.raises(UsageError, match=r'write @mmeval.register_metric\("half"\)'):
        register(half)


def test_registering_a_backend_without_a_name_is_told_the_call() -> None:
    register: Any = mmeval.register_backend
    with pytest.raises(UsageError, match=r'write @mmeval.register_backend\("half"\)'):
        register(half)


@pytest.mark.parametrize(
    "function",
    [lambda: 0.5, lambda answer, reference: 0.5, lambda *, trial=None: 0.5],
    ids=["none", "others", "switch"],
)
def test_a_metric_of_anything_but_a_trial_is_refused(function: Any) -> None:
    with pytest.raises(PluginError, match="the metric 'wrong': its first argument must be 'trial'"):
        mmeval.register_metric("wrong")(function)


def test_a_described_metric_keeps_its_description() -> None:
    described = metric(range=(0, 5), version="7", source="a paper")(half)

    assert mmeval.register_metric("mine")(described).version == "7"


@pytest.mark.parametrize(
    ("register", "group"),
    [
        (mmeval.register_backend, "mmeval.model_backends"),
        (mmeval.register_model, "mmeval.model_backends"),
        (mmeval.register_loader, "mmeval.loaders"),
        (mmeval.register_aggregation, "mmeval.aggregators"),
        (mmeval.register_protocol, "mmeval.protocols"),
        (mmeval.register_prompt, "mmeval.prompts"),
    ],
)
def test_each_decorator_registers_in_its_group_and_gives_back_what_it_got(
    register: Any, group: plugins.PluginGroup
) -> None:
    def plugin() -> None:
        pass

    assert register("of_mine")(plugin) is plugin
    assert plugins.load(group, "of_mine") is plugin


def test_a_backend_may_have_several_names() -> None:
    class Both:
        pass

    mmeval.register_model("one", "two")(Both)

    assert plugins.load("mmeval.model_backends", "one") is plugins.load("mmeval.model_backends", "two") is Both


def test_a_name_that_a_package_has_too_is_an_error_for_its_user() -> None:
    mmeval.register_metric("exact_match")(half)

    with pytest.raises(AmbiguousNameError, match=r"'exact_match' .* is registered by mmeval and script; write mmeval/"):
        plugins.load("mmeval.metrics", "exact_match")
    assert plugins.load("mmeval.metrics", "script/exact_match").function is half
    assert plugins.load("mmeval.metrics", "mmeval/exact_match").function is not half


def test_the_same_definition_again_replaces_the_earlier_one() -> None:
    def define(value: float) -> Any:
        @mmeval.register_aggregation("settled")
        def settled(scores: Scores) -> Estimate:
            return Estimate(value)

        return settled

    first, second = define(1.0), define(2.0)
    assert plugins.load("mmeval.aggregators", "settled") is second is not first


def test_two_definitions_of_one_name_are_refused() -> None:
    mmeval.register_loader("rows")(lambda source: None)

    with pytest.raises(UsageError, match=r"'rows' \(mmeval.loaders\) is registered by .* rename one"):
        mmeval.register_loader("rows")(half)


SCRIPT = """
import mmeval
from mmeval.aggregate.scores import Estimate
from mmeval.content.parts import Interleaved
from mmeval.backend.capabilities import Capabilities
from mmeval.records.response import Response

@mmeval.register_metric("words", range=(0, 10))
def words(trial):
    import multiprocessing
    assert {forked} is (multiprocessing.parent_process() is not None), "scored in the wrong process"
    if "die" in trial.output.text:
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
    return len(trial.output.text.split())

@mmeval.register_aggregation("largest")
def largest(scores):
    return Estimate(max(scores.values))

@mmeval.register_model("counting")
class Counting:
    capabilities = Capabilities.of(("text",), ("text",))
    identity, provenance = {{"backend": "counting"}}, {{}}
    async def generate(self, request):
        return Response(Interleaved.from_text(request.messages[-1].content.text))
    async def close(self):
        pass

task = {{
    "task": "counted",
    "dataset_path": "data",
    "metric_list": [{{"metric": "words", "aggregation": "largest"}}],
    "metadata": {{"version": 1}},
}}
{before}
found = mmeval.evaluate(model="counting", tasks=task, retry_on_error=0, bootstrap_iters=0)
print([result.value for result in found.results], [result.unscored for result in found.results])
"""
"""A script without a main guard."""


def ran(folder: Path, *texts: str, forked: bool = True, before: str = "") -> str:
    (folder / "data").mkdir()
    (folder / "data" / "test.jsonl").write_text("".join(f'{{"input": "{text}"}}\n' for text in texts))
    (folder / "script.py").write_text(SCRIPT.format(forked=forked, before=before))
    done = subprocess.run([sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_what_a_script_registers_works_in_scoring_processes(tmp_path: Path) -> None:
    assert ran(tmp_path, "one", "one two three", "one two") == "[3.0] [0]"


def test_a_metric_of_a_script_that_kills_its_process_costs_one_score(tmp_path: Path) -> None:
    assert ran(tmp_path, "one", "to die", "one two") == "[2.0] [1]"


def test_where_no_process_can_be_forked_the_script_itself_scores(tmp_path: Path) -> None:
    thread = "import threading, time; threading.Thread(target=time.sleep, args=(30,), daemon=True).start()"

    assert ran(tmp_path, "one", "one two", forked=False, before=thread) == "[2.0] [0]"
