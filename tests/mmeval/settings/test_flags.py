"""Every flag has a field of a run, and every field a flag.

Effects of flags: ``tests/stories/test_flag_effects.py``.
"""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from mmeval.cli.run import read_settings
from mmeval.run.options import BackendSpec, RunOptions
from mmeval.settings.flags import FLAGS, HARMLESS, REFUSED
from mmeval.settings.plan import RunPlan, make_plan
from mmeval.task.task import TaskOverrides


def plan_of(flags: dict[str, Any], environ: dict[str, str]) -> RunPlan:
    return make_plan(read_settings({"model": "reference", **flags}, environ))


def test_every_field_of_a_run_has_a_flag_with_its_default_and_no_flag_is_left_out() -> (
    None
):
    assert not {flag.name for flag in FLAGS} & set(REFUSED)
    assert set(HARMLESS) <= set(REFUSED)
    targets = {flag.to for flag in FLAGS}
    of_verbs = {"options.command", "options.settings"}
    assert {
        f"options.{field.name}" for field in fields(RunOptions)
    } - of_verbs <= targets
    # the run's roles and --prompts state the prompts of its agents
    of_roles = {"overrides.agent_prompts"}
    assert {
        f"overrides.{field.name}" for field in fields(TaskOverrides)
    } - of_roles <= targets
    plan = plan_of({}, {})
    assert replace(plan.options, settings={}) == RunOptions(
        BackendSpec("reference"), Path("runs")
    )
    assert plan.overrides == TaskOverrides()
