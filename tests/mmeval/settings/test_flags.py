"""Every flag, walked: what it changes, from each source, or that it is refused."""

import operator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmeval.backend.batch_size import BatchSize
from mmeval.cli.run import read_settings
from mmeval.run.options import BackendSpec, RunOptions
from mmeval.settings.flags import BY_NAME, FLAGS, HARMLESS, REFUSED
from mmeval.settings.plan import Invocation, make_plan
from mmeval.task.task import TaskOverrides

WALK: dict[str, tuple[Any, str, Any]] = {
    "model": ("empty", "options.model", BackendSpec("empty", {})),
    "model_args": ("a=1,b=x", "options.model", BackendSpec("reference", {"a": 1, "b": "x"})),
    "tasks": ("one,two", "tasks", ("one", "two")),
    "include_path": ("/more", "include_path", (Path("/more"),)),
    "limit": ("7", "options.limit", 7),
    "offset": ("3", "options.offset", 3),
    "samples": ('{"t": [0, 2]}', "options.samples", {"t": (0, 2)}),
    "sample_shuffle": ("0", "options.sample_shuffle", 0),
    "stratify": ("domain,level", "options.stratify", ("domain", "level")),
    "repeats": ("4", "overrides.repeats", 4),
    "seed": ("9", "options.seed", 9),
    "gen_kwargs": ("temperature=0.5", "overrides.gen_kwargs", {"temperature": 0.5}),
    "system_instruction": ("be brief", "overrides.system_instruction", "be brief"),
    "protocol": ("episode", "overrides.protocol", "episode"),
    "data": ("bundled", "overrides.data", "bundled"),
    "data_dir": ("/data", "overrides.data_dir", Path("/data")),
    "profile": ("official", "overrides.profile", "official"),
    "metric_args": ('{"m": {"strict": true}}', "overrides.metric_args", {"m": {"strict": True}}),
    "skip_metric": ("m,k", "overrides.skip_metric", ("m", "k")),
    "trust_remote_code": ("true", "overrides.trust_remote_code", True),
    "predict_only": ("true", "options.predict_only", True),
    "score_workers": ("3", "options.score_workers", 3),
    "metric_device": ("CUDA:1", "options.metric_device", "cuda:1"),
    "reasoning_tags": ("<a>,</a>", "options.reasoning_tags", ("<a>", "</a>")),
    "max_unscored": ("0.1", "options.max_unscored", 0.1),
    "bootstrap_iters": ("200", "options.bootstrap_iters", 200),
    "strict": ("true", "options.strict", True),
    "output_path": ("/out", "options.output_path", Path("/out")),
    "run_id": ("nightly", "options.run_id", "nightly"),
    "model_tag": ("mine", "options.model_tag", "mine"),
    "fresh": ("true", "options.fresh", True),
    "use_cache": ("/cache", "options.use_cache", Path("/cache")),
    "log_samples": ("true", "log_samples", True),
    "metadata": ('{"note": "x"}', "report.metadata", {"note": "x"}),
    "wandb_args": ("project=p,name=n", "loggers", {"wandb": {"project": "p", "name": "n"}}),
    "trackio_args": ("project=p", "loggers", {"trackio": {"project": "p"}}),
    "logger": ("mine,a=1", "loggers", {"mine": {"a": 1}}),
    "role": ("judge=empty,a=1", "options.roles", {"judge": BackendSpec("empty", {"a": 1})}),
    "judge": ("empty,a=1", "options.roles", {"judge": BackendSpec("empty", {"a": 1})}),
    "judge_args": ("a=1", "options.roles", {"judge": BackendSpec("empty", {"a": 1})}),
    "judge_base_url": ("http://x/v1", "options.roles", {"judge": BackendSpec("empty", {"base_url": "http://x/v1"})}),
    "captioner": ("empty,a=1", "options.roles", {"captioner": BackendSpec("empty", {"a": 1})}),
    "judge_prompts": ("/prompts", "overrides.judge_prompts", Path("/prompts")),
    "max_connections": ("8", "options.max_connections", 8),
    "retry_on_error": ("1", "options.retry_on_error", 1),
    "device": ("cuda:1", "options.model.args", {"device": "cuda:1"}),
    "batch_size": ("16", "options.batch_size", BatchSize(16)),
    "budget_usd": ("2.5", "options.budget_usd", 2.5),
    "budget_tokens": ("1000", "options.budget_tokens", 1000),
    "budget_calls": ("10", "options.budget_calls", 10),
    "model_cost_config": ("/prices.yaml", "options.model_cost_config", Path("/prices.yaml")),
    "dry_run": ("true", "dry_run", True),
    "baseline": ("/runs/m/default", "baseline", Path("/runs/m/default")),
    "write_out": ("true", "write_out", True),
    "report": ("false", "page", False),
}
"""Flag: (as it is written, where its value arrives, the value)."""

ELSEWHERE = {"config", "show_config", "verbosity"}
"""Flags that end before there is a plan; tests of ``run`` and ``settings`` walk them."""

BESIDE = {"judge_args": {"judge": "empty"}, "judge_base_url": {"judge": "empty"}, "device": {"model": "hf"}}
"""What else must be given for a flag to mean something."""


def plan_of(given: dict[str, Any], environ: dict[str, str]) -> Invocation:
    return make_plan(read_settings({"model": "reference", **given}, environ))


def at(plan: Invocation, place: str) -> Any:
    return operator.attrgetter(place)(plan)


@pytest.mark.parametrize("name", sorted(WALK))
def test_each_flag_arrives_from_the_command_line_the_environment_and_a_file(name: str, tmp_path: Path) -> None:
    written, place, value = WALK[name]
    flag, beside, file = BY_NAME[name], BESIDE.get(name, {}), tmp_path / "run.yaml"
    given = [written] if flag.repeatable or flag.nargs == "+" else written
    assert at(plan_of(beside, {}), place) != value
    assert at(plan_of({name: given, **beside}, {}), place) == value
    others = {} if name == "model" else {"model": "reference", **beside}
    assert at(make_plan(read_settings(others, {flag.variable: written})), place) == value
    file.write_text(yaml.safe_dump({"model": "reference", name: written, **beside}))
    assert at(make_plan(read_settings({"config": str(file)}, {})), place) == value


def test_every_field_of_a_run_has_a_flag_with_its_default_and_no_flag_is_left_out() -> None:
    assert set(WALK) | ELSEWHERE == {flag.name for flag in FLAGS}
    assert not {flag.name for flag in FLAGS} & set(REFUSED)
    assert set(HARMLESS) <= set(REFUSED)
    targets = {flag.to for flag in FLAGS}
    of_verbs = {"options.command", "options.settings"}
    assert {f"options.{field.name}" for field in fields(RunOptions)} - of_verbs <= targets
    assert {f"overrides.{field.name}" for field in fields(TaskOverrides)} <= targets
    plan = plan_of({}, {})
    assert replace(plan.options, settings={}) == RunOptions(BackendSpec("reference"), Path("runs"))
    assert plan.overrides == TaskOverrides()
