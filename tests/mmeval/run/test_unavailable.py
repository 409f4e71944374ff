from __future__ import annotations

from dataclasses import replace

from mmeval.metric.model import lacking_message
from mmeval.run.availability import Lacking, lacking_in, partial_in
from mmeval.task.task import Task
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


def partial(name: str, **pieces: str) -> Task:
    toy = task(name)
    return replace(toy, metrics=(replace(toy.metrics[0], without=pieces),))


def test_what_a_number_goes_without_is_told_by_why() -> None:
    found = list(partial_in([partial("a", x="it is left out", y="it is left out", z="no weights")]))

    assert [str(one) for one in found] == [
        "a: the metric exact_match is partial, without x, y: they are left out",
        "a: the metric exact_match is partial, without z: no weights",
    ]


def test_why_a_piece_is_unavailable_is_told_of_the_piece_alone() -> None:
    whole = task("a")
    lost = without("a", "no judge").metrics[0]
    made = replace(lost, unavailable="", without=dict.fromkeys(lost.bound.metric.outputs, "no judge"))

    (found,) = partial_in([replace(whole, metrics=(lost, made))])

    assert str(found) == "a: the metric exact_match is partial, without exact_match: it is unavailable"


def test_tasks_that_go_without_the_same_are_told_together() -> None:
    (found,) = partial_in([partial("a", z="no weights"), task("c"), partial("b", z="no weights")])

    assert str(found) == "a, b: the metric exact_match is partial, without z: no weights"


def test_pieces_that_were_skipped_are_spoken_of_as_several() -> None:
    said = "it is left out by --skip_metric; mmeval score RUN --metrics m adds it"

    assert str(Lacking(("a",), ("m", "n"), said, ("x", "y"))) == (
        "a: the metrics m, n are partial, without x, y: they are left out by --skip_metric; mmeval score RUN --metrics "
        "m adds them"
    )
