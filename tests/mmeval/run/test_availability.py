from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.dataset.contract import Dataset
from mmeval.errors import MissingDataError, UsageError
from mmeval.metric.model import missing_model_message
from mmeval.records.sample import Sample, user
from mmeval.run.availability import UnavailableMetrics, partial_in, unavailable_in, with_data
from mmeval.task.task import Group, Selection, Task
from tests.support.cli import Ended, mmeval, results, run_folder
from tests.support.task_pair import write_pair
from tests.support.toy import task

GROUP = Group("g", "G", ("a", "b"))


class Listed:
    """A data set of these samples."""

    fingerprint = "listed"

    def __init__(self, samples: list[Sample]) -> None:
        self._samples = samples

    def __len__(self) -> int:
        return len(self._samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._samples)


def without_data(name: str) -> Task:
    def missing() -> Dataset:
        raise MissingDataError(f"no rows of {name}")

    return replace(task(name, 1), dataset=missing)


def test_a_member_of_a_group_whose_data_are_missing_is_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    chosen = with_data(Selection((task("a", 1), without_data("b")), (GROUP,)), strict=False)
    assert [one.name for one in chosen.tasks] == ["a"]
    assert [(one.name, one.why) for one in chosen.left_out] == [("b", "no rows of b")]
    assert caplog.record_tuples == [
        ("mmeval.run.availability", logging.WARNING, "b is left out, its data are not here: no rows of b.")
    ]


def test_several_that_are_left_out_are_said_together_with_the_reason_of_the_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wide = Group("g", "G", ("a", "b", "c"))
    chosen = with_data(Selection((task("a", 1), without_data("b"), without_data("c")), (wide,)), strict=False)
    assert [one.why for one in chosen.left_out] == ["no rows of b", "no rows of c"]
    assert caplog.messages == ["2 tasks are left out, their data are not here: b, c. The first: no rows of b."]


def test_a_member_of_an_inner_group_is_left_out_as_well() -> None:
    outer = Group("o", "O", ("g",))
    chosen = with_data(Selection((task("a", 1), without_data("b")), (outer, GROUP)), strict=False)
    assert [one.name for one in chosen.left_out] == ["b"]


def labelled(name: str, *levels: str) -> Task:
    """A task of the samples of level 3, on data that have others."""
    samples = [Sample(level, (user("?"),), metadata={"level": level}) for level in levels]
    return replace(task(name, 1), filter={"level": ["3", "three"]}, dataset=lambda: Listed(samples))


def test_a_member_whose_filter_keeps_nothing_of_the_data_is_left_out() -> None:
    chosen = with_data(Selection((labelled("a", "1", "3"), labelled("b", "1", "2")), (GROUP,)), strict=False)
    assert [one.name for one in chosen.tasks] == ["a"]
    assert [(one.name, one.why) for one in chosen.left_out] == [
        ("b", "there is no sample of level 3 or three among the 2")
    ]


def test_a_filter_by_a_label_that_no_sample_has_is_a_mistake_and_nothing_missing() -> None:
    unlabelled = replace(labelled("b", "1"), filter={"lvel": "3"})
    chosen = with_data(Selection((labelled("a", "3"), unlabelled), (GROUP,)), strict=False)
    assert [one.name for one in chosen.tasks] == ["a", "b"]


def test_a_task_that_is_named_by_itself_is_not_looked_through() -> None:
    chosen = with_data(Selection((labelled("a", "3"), task("b", 1), labelled("c", "1")), (GROUP,)), strict=False)
    assert [one.name for one in chosen.tasks] == ["a", "b", "c"]


def test_strict_requires_the_data_of_every_task() -> None:
    with pytest.raises(MissingDataError, match="no rows of b"):
        with_data(Selection((task("a", 1), without_data("b")), (GROUP,)), strict=True)


def test_a_task_that_is_named_by_itself_is_required() -> None:
    with pytest.raises(MissingDataError, match="no rows of c"):
        with_data(Selection((task("a", 1), without_data("c")), (GROUP,)), strict=False)


def test_a_group_of_which_nothing_is_left_is_an_error() -> None:
    chosen = Selection((without_data("a"), without_data("b")), (GROUP,))
    with pytest.raises(MissingDataError, match=r"no task is left: a: no rows of a \(and 1 other task likewise\)"):
        with_data(chosen, strict=False)


def test_data_that_are_wrong_are_no_missing_data() -> None:
    def broken() -> Dataset:
        raise UsageError("row 3 is no JSON")

    with pytest.raises(UsageError, match="row 3"):
        with_data(Selection((task("a", 1), replace(task("b", 1), dataset=broken)), (GROUP,)), strict=False)


def test_data_are_opened_once() -> None:
    opened = []
    one = task("a", 1)

    def dataset() -> Dataset:
        opened.append("a")
        return one.dataset()

    chosen = with_data(Selection((replace(one, dataset=dataset), task("b", 1)), (GROUP,)), strict=False)
    assert [len(task.dataset()) for task in chosen for _ in range(2)] == [1, 1, 1, 1]
    assert opened == ["a"]


# --- from outside ----------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A group of two tasks, one of which has data."""
    for name in ("here", "gone"):
        (tmp_path / f"{name}_data").mkdir()
    (tmp_path / "here_data" / "test.jsonl").write_text('{"input": "1 + 1", "reference": "2"}\n')
    return write_pair(tmp_path, "here", "gone")


def run(folder: Path, tasks: str, *flags: str) -> Ended:
    return mmeval(
        "--tasks", tasks, "--include_path", folder, "--model", "reference", "--output_path", folder / "runs", *flags
    )


def noted(table: str) -> list[str]:
    """The rows of a table that say that something is left out."""
    return [line for line in table.splitlines() if "left out" in line]


def test_a_run_without_a_member_says_so_in_its_tables_and_results_and_ends_with_0(folder: Path) -> None:
    done = run(folder, "both")
    assert done.code == 0, done.err
    assert [warning.partition(":")[0] for warning in done.warnings] == ["gone is left out, its data are not here"]
    assert [line.split("|")[1].strip() for line in noted(done.out)] == ["both", "- gone", "both"]
    assert "1 of 2 tasks left out" in done.out
    assert "no rows of the split" in results(folder / "runs")["mmeval"]["left_out"]["gone"]


@pytest.mark.parametrize("verb", [("score",), ("report", "--format", "markdown")], ids=["score", "report"])
def test_what_is_made_of_the_run_later_says_so_too(folder: Path, verb: tuple[str, ...]) -> None:
    run(folder, "both")
    done = mmeval(verb[0], run_folder(folder / "runs", "reference"), *verb[1:])
    assert done.code == 0, done.err
    assert any("1 of 2 tasks left out" in line for line in noted(done.out))


@pytest.mark.parametrize(("tasks", "flags"), [("both", ["--strict"]), ("here,gone", []), ("gone", [])], ids=str)
def test_what_is_required_ends_with_4_before_anything_is_asked(folder: Path, tasks: str, flags: list[str]) -> None:
    done = run(folder, tasks, *flags)
    assert done.code == 4
    assert "no rows of the split" in done.error
    assert not (folder / "runs").exists()


def test_a_dry_run_looks_at_what_would_be_asked(folder: Path) -> None:
    done = run(folder, "both", "--dry_run")
    assert done.code == 0, done.err
    assert "gone is left out" in done.warnings[0]
    assert "|here" in done.out


def test_once_its_data_are_here_the_same_command_asks_the_task_as_well(folder: Path) -> None:
    run(folder, "both")
    (folder / "gone_data" / "test.jsonl").write_text('{"input": "2 + 2", "reference": "4"}\n')
    done = run(folder, "both")
    assert done.code == 0, done.err
    assert "kept 1 answer" in done.err
    assert not noted(done.out)


def without(name: str, reason: str) -> Task:
    toy = task(name)
    return replace(toy, metrics=(replace(toy.metrics[0], unavailable=reason),))


def weights(name: str) -> str:
    return missing_model_message({"name": "o/m"}, "config.json", name)


def test_tasks_that_lack_the_same_are_told_together_with_one_command() -> None:
    found = list(unavailable_in([without("a", weights("a")), without("b", "no judge"), without("c", weights("c"))]))
    assert [one.tasks for one in found] == [("a", "c"), ("b",)]
    assert str(found[0]).startswith("a, c: the metric exact_match is unavailable: its model o/m is not here")
    assert str(found[0]).endswith("; run: mmeval prepare a c --weights")


def test_several_metrics_are_spoken_of_as_several() -> None:
    both = UnavailableMetrics(("a",), ("x", "y"), "it asks the role 'gemini' (as its judge), which this run has not")
    assert str(both).endswith(" are unavailable: they ask the role 'gemini' (as their judge), which this run has not")


def test_one_task_is_told_as_it_is() -> None:
    (found,) = unavailable_in([without("a", "no judge"), task("b")])
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
    assert str(UnavailableMetrics(("a",), ("m", "n"), said, ("x", "y"))) == (
        "a: the metrics m, n are partial, without x, y: they are left out by --skip_metric; mmeval score RUN --metrics "
        "m adds them"
    )
