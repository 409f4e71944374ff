from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.contract import Dataset
from mmeval.errors import MissingDataError, UsageError
from mmeval.metric.bound import Need
from mmeval.metric.model import missing_model_message
from mmeval.records.sample import Sample, user
from mmeval.report.numbers import NO_DATA
from mmeval.run.availability import (
    UnavailableMetrics,
    partial_in,
    remedies,
    say_unavailable,
    unavailable_in,
    with_data,
)
from mmeval.task.task import Group, Selection, Task
from tests.support.cli import mmeval, results, run_folder
from tests.support.task_folder import write_pair
from tests.support.toy import Rows, task

GROUP = Group("g", "G", ("a", "b", "c"))


def without_data(name: str) -> Task:
    def missing() -> Dataset:
        raise MissingDataError(f"no rows of {name}")

    return replace(task(name, 1), dataset=missing)


def labelled(name: str, *levels: str, label: str = "level") -> Task:
    """A task of the samples of level 3, on data that have others."""
    rows = Rows(
        [Sample(level, (user("?"),), metadata={"level": level}) for level in levels]
    )
    return replace(task(name, 1), filter={label: ["3", "three"]}, dataset=lambda: rows)


@pytest.mark.parametrize(
    ("tasks", "groups", "left_out"),
    [
        ((task("a", 1), without_data("b")), (GROUP,), {"b": "no rows of b"}),
        (
            (task("a", 1), without_data("b"), without_data("c")),
            (Group("o", "O", ("g",)), GROUP),
            {"b": "no rows of b", "c": "no rows of c"},
        ),
        (
            (labelled("a", "1", "3"), labelled("b", "1", "2")),
            (GROUP,),
            {"b": "3 or three"},
        ),
        ((labelled("a", "3"), labelled("b", "1", label="lvel")), (GROUP,), {}),
        ((labelled("a", "3"), task("b", 1), labelled("own", "1")), (GROUP,), {}),
    ],
    ids=[
        "a member",
        "two, of another group",
        "no sample of a filter",
        "a mistaken label",
        "named by itself",
    ],
)
def test_members_without_data_are_left_out(
    tasks: Any, groups: Any, left_out: dict[str, str], caplog: Any
) -> None:
    chosen = with_data(Selection(tasks, groups), strict=False)
    assert [one.name for one in chosen.tasks] == [
        one.name for one in tasks if one.name not in left_out
    ]
    assert [one.name for one in chosen.left_out] == [*left_out]
    assert all(left_out[one.name] in one.why for one in chosen.left_out)
    starts = {0: [], 1: ["b "], 2: ["2 "]}[len(left_out)]
    assert [message[:2] for message in caplog.messages] == starts


def test_data_that_are_required_are_an_error() -> None:
    for tasks, strict, error in (
        ((task("a", 1), without_data("b")), True, "no rows of b"),
        ((task("a", 1), without_data("own")), False, "no rows of own"),
        (
            (without_data("a"), without_data("b"), without_data("c")),
            False,
            r"no rows of a .* 2 ",
        ),
    ):
        with pytest.raises(MissingDataError, match=error):
            with_data(Selection(tasks, (GROUP,)), strict=strict)


def test_what_is_wrong_with_data_is_no_missing_data() -> None:
    def dataset() -> Dataset:
        raise UsageError("row 3")

    selection = Selection(
        (replace(task("a", 1), dataset=dataset), task("b", 1)), (GROUP,)
    )
    with pytest.raises(UsageError, match="row 3"):
        with_data(selection, strict=False)


def test_a_run_without_a_member_notes_it_until_the_data_are_here(
    tmp_path: Path,
) -> None:
    def rows(name: str) -> None:
        (tmp_path / f"{name}_data" / "test.jsonl").write_text(
            '{"input": "1 + 1", "reference": "2"}\n'
        )

    for name in ("here", "gone"):
        (tmp_path / f"{name}_data").mkdir()
    rows("here")
    words = (
        "--tasks",
        "both",
        "--include_path",
        write_pair(tmp_path, "here", "gone"),
        "--score_workers",
        "0",
    )
    command = (
        *words,
        "--model",
        "reference",
        "--output_path",
        tmp_path / "runs",
        "--table",
        "full",
    )
    done = mmeval(*command)
    later = mmeval(
        "score", run_folder(tmp_path / "runs", "reference"), "--table", "full"
    )
    assert ([warning.partition(" ")[0] for warning in done.warnings], later.code) == (
        ["gone"],
        0,
    )
    assert ["1 of 2 tasks" in out for out in (done.out, later.out)] == [True, True]
    assert [*results(tmp_path / "runs")["mmeval"]["left_out"]] == ["gone"]
    assert NO_DATA in done.out and NO_DATA in later.out
    rows("gone")
    done = mmeval(*command)
    assert (
        done.code,
        "kept 1 answer" in done.err,
        "1 of 2" in done.out,
        NO_DATA in done.out,
    ) == (
        0,
        True,
        False,
        False,
    )


def lacking(name: str, **more: Any) -> Task:
    toy = task(name)
    return replace(toy, metrics=(replace(toy.metrics[0], **more),))


def weights(name: str) -> str:
    return missing_model_message({"name": "o/m"}, "config.json", name)


def test_metrics_that_lack_the_same_are_one_entry_with_one_command() -> None:
    reasons = {"a": weights("a"), "b": "no judge", "c": weights("c"), "d": ""}
    found = list(
        unavailable_in(
            [lacking(name, unavailable=reason) for name, reason in reasons.items()]
        )
    )
    assert [(one.tasks, one.metrics) for one in found] == [
        (("a", "c"), ("exact_match",)),
        (("b",), ("exact_match",)),
    ]
    assert str(found[0]).startswith("a, c: the metric exact_match ")
    assert str(found[0]).endswith("; run: mmeval prepare a c --weights")
    assert found[1].reason == "no judge"


def test_what_a_number_goes_without_is_grouped_by_why() -> None:
    pieces = {"x": "it is left out", "y": "it is left out", "z": "no weights"}
    alone = {"z": "no weights"}
    tasks = [lacking("a", without=pieces), task("c"), lacking("b", without=alone)]
    assert list(partial_in(tasks)) == [
        (("a",), ("exact_match",), "it is left out", ("x", "y")),
        (("a", "b"), ("exact_match",), "no weights", ("z",)),
    ]


def test_why_a_piece_is_unavailable_is_the_reason_of_the_piece_alone() -> None:
    assert str(UnavailableMetrics(("a",), ("x", "y"), "it asks")).endswith(
        " unavailable: they ask"
    )
    both = (
        "av is not installed, and it asks the role 'judge'; a flag adds it; a judge "
        "adds it"
    )
    said = str(UnavailableMetrics(("a",), ("x", "y"), both))
    assert said.endswith(
        "and they ask the role 'judge'; a flag adds them; a judge adds them"
    )
    assert str(UnavailableMetrics(("a",), ("m",), "it is", ("x",))).endswith(
        "without x: it is"
    )
    assert str(UnavailableMetrics(("a",), ("m",), "it is", ("x", "y"))).endswith(
        "without x, y: they are"
    )
    whole = lacking("a", unavailable="no judge")
    (lost,) = whole.metrics
    made = replace(
        lost,
        unavailable="",
        without=dict.fromkeys(lost.bound.metric.outputs, "no judge"),
    )
    (found,) = partial_in([replace(whole, metrics=(lost, made))])
    assert (found.pieces, found.reason) == (("exact_match",), "it is unavailable")


def needing(name: str, *needs: tuple[Any, str]) -> Task:
    return lacking(
        name, unavailable="something", needs=tuple(Need(*need) for need in needs)
    )


def test_each_thing_that_metrics_need_is_one_remedy_with_their_count() -> None:
    judge = ("role", "judge")
    packages = (("extra", "video"), ("extra", "ocr"), ("package", "thing"))
    tasks = (
        needing("a", judge, ("role", "painter")),
        needing("b", judge, *packages),
        needing("c", ("model", "m")),
    )
    found = [*remedies(Selection(tasks, ()), "a b")]
    assert [len(one.needing) for one in found] == [
        1
    ] * 5  # one metric, whatever number of tasks lists it
    flags = [one.how_to.partition("openai")[0] for one in found[:2]]
    assert flags == ["--judge ", "--role painter="]
    assert ["[ocr,video]" in found[2].how_to, found[3].how_to, found[4].how_to] == [
        True,
        "pip install thing",
        "mmeval doctor a b",
    ]


def test_one_line_warns_of_all_that_cannot_be_computed_and_debug_has_each(
    caplog: pytest.LogCaptureFixture,
) -> None:
    two = Selection(
        (
            needing("a", ("role", "judge")),
            lacking("b", unavailable="other", needs=(Need("model", "m"),)),
        ),
        (),
    )
    with caplog.at_level("DEBUG", "mmeval"):
        say_unavailable(two, strict=False, tasks="a b")
    assert [record.levelname for record in caplog.records] == [
        "WARNING",
        "DEBUG",
        "DEBUG",
    ]
    assert "mmeval doctor a b" in caplog.messages[0]
