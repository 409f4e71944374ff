from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.contract import Dataset
from mmeval.errors import MissingDataError, MissingError, NotFetchedError, UsageError
from mmeval.findings.render import RemedyTarget
from mmeval.metric.bound import missing_role
from mmeval.records.sample import Sample, user
from mmeval.results.numbers import NO_DATA
from mmeval.run.availability import report_unavailable, unavailable_findings, with_data
from mmeval.task.derived_entries import skipped_piece
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
    tasks: Any, groups: Any, left_out: dict[str, str]
) -> None:
    chosen = with_data(Selection(tasks, groups), strict=False)
    assert [one.name for one in chosen.tasks] == [
        one.name for one in tasks if one.name not in left_out
    ]
    assert [one.name for one in chosen.left_out] == [*left_out]
    assert all(left_out[one.name] in one.finding.cause for one in chosen.left_out)


def test_data_that_are_required_are_an_error() -> None:
    for tasks, strict, error in (
        ((task("a", 1), without_data("b")), True, "no rows of b"),
        ((task("a", 1), without_data("own")), False, "no rows of own"),
        (
            (without_data("a"), without_data("b"), without_data("c")),
            False,
            r"a  no rows of a\n",
        ),
    ):
        with pytest.raises(MissingDataError, match=error):
            with_data(Selection(tasks, (GROUP,)), strict=strict)


def test_the_remedy_for_a_group_without_data_is_the_command_for_all_of_it() -> None:
    def absent() -> Dataset:
        raise NotFetchedError("absent", name="me/absent")

    tasks = [replace(task(name, 1), dataset=absent) for name in GROUP.members]
    with pytest.raises(MissingDataError) as caught:
        with_data(
            Selection(tuple(tasks), (GROUP,)), strict=False, place=RemedyTarget("g")
        )
    _, finding, remedy = str(caught.value).splitlines()
    assert "me/absent in 3 tasks" in finding
    assert remedy.strip() == "mmeval prepare g"


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
    assert ("missing data  gone\n" in done.err, later.code) == (True, 0), done.err
    assert ["1 of 2 tasks" in out for out in (done.out, later.out)] == [True, True]
    assert [*results(tmp_path / "runs")["mmeval"]["left_out"]] == ["gone"]
    assert NO_DATA in done.out and NO_DATA in later.out
    rows("gone")
    done = mmeval(*command)
    assert (
        done.code,
        "answers kept: 1" in done.err,
        "1 of 2" in done.out,
        NO_DATA in done.out,
    ) == (
        0,
        True,
        False,
        False,
    )


def needing(name: str, *roles: str) -> Task:
    toy = task(name)
    lacks = tuple(missing_role("exact_match", role) for role in roles)
    return replace(toy, metrics=(replace(toy.metrics[0], lacks=lacks),))


TWO = Selection((needing("a", "judge"), needing("b", "judge", "painter")))


def test_what_metrics_of_all_tasks_lack_is_found_with_the_task() -> None:
    found = [(one.subject.task, one.subject.role) for one in unavailable_findings(TWO)]
    assert found == [("a", "judge"), ("b", "judge"), ("b", "painter")]


def test_one_record_of_the_log_warns_of_all_that_is_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    report_unavailable(TWO, strict=False, place=RemedyTarget("a b"))
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().splitlines()[1:] == [
        "missing role  exact_match in 2 tasks  the run has no judge",
        "              --judge openai,model=NAME",
        "missing role  exact_match in b  no backend for the role painter",
        "              --role painter=openai,model=NAME",
    ]


def test_strict_makes_what_is_missing_an_error() -> None:
    with pytest.raises(MissingError, match="painter"):
        report_unavailable(TWO, strict=True, place=RemedyTarget())


def test_a_piece_that_the_user_has_skipped_is_not_an_error_when_strict(
    caplog: pytest.LogCaptureFixture,
) -> None:
    toy = task("a")
    partial = replace(toy.metrics[0], without={"x": skipped_piece("x", "exact_match")})
    selection = Selection((replace(toy, metrics=(partial,)),))
    report_unavailable(selection, strict=True, place=RemedyTarget("a", "runs/m"))
    assert "mmeval score runs/m --metrics exact_match" in caplog.text
