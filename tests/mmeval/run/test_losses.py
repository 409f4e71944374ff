from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.sampling import Subset
from mmeval.findings.finding import Subject
from mmeval.findings.group import grouped
from mmeval.records.response import ErrorInfo
from mmeval.run.losses import comparability_findings, lost_answers
from mmeval.run.progress import RunTally
from tests.support.outcomes import half, outcome
from tests.support.outcomes import task as made
from tests.support.toy import (
    NO_PICTURE,
    NO_SOUND,
    break_model,
    registered,
    run_toy,
    sample,
    task,
)

METRICS = ("sound_worth", "picture_worth")
SOUND, PICTURE, NEITHER = "sounds 1", "pictures 1", "nothing"


@pytest.fixture(autouse=True)
def _metrics() -> Iterator[None]:
    with registered():
        yield


@pytest.mark.parametrize(
    ("answers", "lost", "notes"),
    [
        ({"a": (NEITHER, SOUND)}, "", []),
        ({"a": (NEITHER, SOUND, PICTURE)}, "", []),
        (
            {"a": (NEITHER,), "b": (SOUND,), "c": (NEITHER,)},
            "",
            [("a, c", "sound_worth", NO_SOUND), ("a, c", "picture_worth", NO_PICTURE)],
        ),
        ({"a": (NEITHER, SOUND)}, SOUND, []),
    ],
    ids=[
        "another number has a value",
        "all have",
        "several tasks",
        "an answer never came",
    ],
)
def test_what_no_answer_holds_is_noted_of_tasks_without_any_number(
    tmp_path: Path, answers: Any, lost: str, notes: Any
) -> None:
    if lost:
        break_model(tmp_path, lost)
    tasks = [
        replace(
            task(
                name,
                [sample(f"{name}{i}", text, kind=text) for i, text in enumerate(texts)],
                metrics=METRICS,
            ),
            breakdown=("kind",),
        )
        for name, texts in answers.items()
    ]
    found = grouped(
        one for one in run_toy(tmp_path, *tasks).findings if one.severity == "note"
    )
    assert [", ".join(one.names("task")) for one in found] == [
        tasks for tasks, _, _ in notes
    ]
    for group, (_, metric, why) in zip(found, notes, strict=True):
        assert (group.names("metric"), why in group.cause) == ((metric,), True)


def test_bundled_samples_and_metrics_that_stand_in_are_not_comparable() -> None:
    bundled = replace(made("a"), config={"data": "bundled"}, comparable=False)
    metric = replace(half, stand_ins={"strict": False})
    stand_in = made("b", comparable=False, metric=metric)
    found = [
        *comparability_findings(outcome(Path(), tasks=(bundled, stand_in, made("c"))))
    ]
    assert [(one.kind, one.subject, one.severity) for one in found] == [
        ("not_comparable", Subject("a"), "note"),
        ("not_comparable", Subject("b", "half"), "note"),
    ]


@pytest.mark.parametrize(
    ("subset", "counts", "words"),
    [
        (Subset(10, 3, ("limit", "shuffle")), (3, 10), ["--limit, --sample_shuffle"]),
        (Subset(None, 3, ("samples",)), (3, 0), ["--samples"]),
        (Subset(20, 3, ("data",)), (3, 20), ["fewer", "the task file expects"]),
    ],
    ids=["flags", "of an unknown number", "fewer data"],
)
def test_a_part_of_the_samples_is_a_finding_with_how_it_was_chosen(
    subset: Subset, counts: tuple[int, int], words: list[str]
) -> None:
    (found,) = comparability_findings(
        outcome(Path(), tasks=(made("a"),), subsets={"a": subset})
    )
    assert (found.kind, found.subject, found.count, found.of) == (
        "subset",
        Subject("a"),
        *counts,
    )
    assert [word for word in words if word not in found.cause] == []


def test_samples_that_were_all_chosen_are_no_subset() -> None:
    whole = {"a": Subset(3, 3, ("limit",))}
    assert [
        *comparability_findings(outcome(Path(), tasks=(made("a"),), subsets=whole))
    ] == []


def test_failures_of_one_kind_are_a_finding_for_each_reason() -> None:
    tally = RunTally()
    for reason in ("first", "second", "second"):
        tally.fail(ErrorInfo("bad_request", reason))
    found = lost_answers(tally, "again")
    assert [(one.count, one.of, one.cause) for one in found] == [
        (2, 3, "second"),
        (1, 3, "first"),
    ]
