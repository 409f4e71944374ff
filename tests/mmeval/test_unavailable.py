from __future__ import annotations

from dataclasses import replace

from mmeval.metricmodel import lacking_message
from mmeval.task import Task
from mmeval.unavailable import Lacking, lacking_in
from tests.support.toy import task


def without(name: str, reason: str) -> Task:
    toy = task(name)
    return replace(toy, metrics=(replace(toy.metrics[0], unavailable=reason),))


def weights(name: str) -> str:
    return lacking_message({"name": "o/m"}, "config.json", name)


def test_tasks_that_lack_the_same_are_told_together_with_one_command() -> None:
    found = list(lacking_in([without("a", weights("a")), without("b", "no judge"), without("c", weights("c"))]))

    assert [one.tasks for one in found] == [("a", "c"), ("b",)]
    assert str(found[0]).startswith("a, c: the metric exact_match is unavailable: its model o/m is not here")
    assert str(found[0]).endswith("; run: mmeval prepare a c --weights")


def test_several_metrics_are_spoken_of_as_several() -> None:
    both = Lacking(("a",), ("x", "y"), "it asks the role 'gemini' (as its judge), which this run has not")

    assert str(both).endswith(" are unavailable: they ask the role 'gemini' (as their judge), which this run has not")


def test_one_task_is_told_as_it_is() -> None:
    (found,) = lacking_in([without("a", "no judge"), task("b")])

    assert str(found) == "a: the metric exact_match is unavailable: no judge"
