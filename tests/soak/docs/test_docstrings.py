"""The examples of docstrings hold: those in Python, and those of metrics, which are
commands and lines of task files."""

import doctest
import importlib
import inspect
import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from mmeval import plugins
from mmeval.metric import Metric, load_metric
from mmeval.metric.facts import IN_A_TASK, facts_of
from tests.support.cli import mmeval

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = {
    "mmeval": "mmeval",
    "metrics": "mmeval.metrics",
    "tasks": "mmeval.tasks",
    "model_backends": "mmeval.model_backends",
}


def modules_with_examples() -> list[str]:
    found = []
    for folder, package in PACKAGES.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            if ">>> " in file.read_text():
                steps = file.relative_to(ROOT / folder).with_suffix("").parts
                found.append(".".join((package, *steps)).removesuffix(".__init__"))
    return found


@pytest.mark.parametrize("module", modules_with_examples())
def test_the_examples_of_docstrings_hold(module: str) -> None:
    done = doctest.testmod(importlib.import_module(module))
    assert (done.failed, done.attempted > 0) == (0, True)


METRICS = sorted(
    {load_metric(entry.name).name for entry in plugins.entries("mmeval.metrics")}
)


def described(name: str) -> str:
    docstring = inspect.getdoc(load_metric(name).function) or ""
    return " ".join(docstring.split())


def commands() -> list[tuple[str, float]]:
    """The commands in docstrings of metrics, each with the value that it gives."""
    found: list[tuple[str, float]] = []
    for name in METRICS:
        pattern = r"``mmeval (try metric .*?)`` gives ([\d.]+)\."
        for command, value in re.findall(pattern, described(name)):
            found.append((command, float(value)))
    return found


def lines_in_tasks(metric: Metric) -> list[str]:
    """The lines of a task that the description of a metric shows."""
    lines = re.findall(rf"{IN_A_TASK}: ``(.*?)``", described(metric.name))
    return lines or [facts_of(metric)[IN_A_TASK]]


@pytest.mark.parametrize(("command", "value"), commands())
def test_the_command_of_a_metric_gives_its_value(
    command: str, value: float, tmp_path: Path
) -> None:
    done = mmeval(*shlex.split(command), "--json", cwd=tmp_path)
    assert json.loads(done.out)["value"] == pytest.approx(value)


@pytest.mark.parametrize("name", METRICS)
def test_the_line_of_a_metric_in_a_task_has_switches_that_exist(name: str) -> None:
    metric = load_metric(name)
    for line in lines_in_tasks(metric):
        (entry,) = yaml.safe_load(line)["metric_list"]
        assert entry.pop("metric") == name
        entry.pop("higher_is_better", None)
        assert entry.keys() <= metric.switches.keys()
        faults = [metric.switch_fault(key, value) for key, value in entry.items()]
        assert not any(faults)


@pytest.mark.parametrize("name", METRICS)
def test_a_description_states_the_range_and_the_direction(name: str) -> None:
    text = described(name).lower()
    assert re.search(r"\brange\b|numbers? from|are from|the score is 1 at", text)
    assert re.search(r"(higher|lower) is better|direction depend", text)
