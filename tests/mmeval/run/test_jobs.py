from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.findings.finding import Finding, Subject
from mmeval.media.media import Media
from mmeval.media.parts import media_part
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.records.sample import Sample, message
from mmeval.run.jobs import INSPECTED_SAMPLES, JobQueue
from mmeval.run.options import BackendSpec, RunOptions
from mmeval.store.media_store import MediaStore
from mmeval.system.json_lines import from_line
from mmeval.task.task import ExpectedSize, Task, TaskMetric
from tests.support.toy import Rows, picture, sample, samples, task


def plan(*tasks: Task, folder: Path = Path("unused"), **options: Any) -> JobQueue:
    made = RunOptions(model=BackendSpec("reference"), output_path=folder, **options)
    return JobQueue(tasks, made, MediaStore(folder / "media"))


def ids(of: JobQueue) -> list[str]:
    return [job.sample.id for job in of]


def levels(count: int) -> list[Sample]:
    return [sample(f"s{i}", level="hard" if i % 2 else "easy") for i in range(count)]


def torn(id: str = "torn", **labels: Any) -> Sample:
    return Sample(id, (), metadata=labels, fault="row 2: torn")


HARD: dict[str, Any] = {"filter": {"level": "hard"}}


def test_every_sample_of_every_task_comes_once_a_repeat_in_order() -> None:
    made = plan(task("a", 2, repeats=2), task("b", 1))
    assert [
        (job.task.name, job.sample.id, job.repeat, job.index, job.position)
        for job in made
    ] == [
        ("a", "s0", 0, 0, 0),
        ("a", "s0", 1, 0, 0),
        ("a", "s1", 0, 1, 0),
        ("a", "s1", 1, 1, 0),
        ("b", "s0", 0, 0, 1),  # two tasks may have the same ids
    ]
    assert made.total() == 5


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"limit": 2}, [0, 1]),
        ({"limit": 99}, [0, 1, 2, 3, 4, 5, 6]),
        ({"limit": 0.4}, [0, 1, 2]),
        ({"limit": 1.0}, [0]),
        ({"limit": 3, "offset": 5}, [5, 6]),
        ({"offset": 9}, []),
        ({"samples": {"toy": (6, 2)}, "limit": 1, "offset": 1}, [2, 6]),
    ],
    ids=str,
)
def test_limit_offset_and_named_samples_choose(
    options: dict[str, Any], left: list[int]
) -> None:
    made = plan(task(rows=7, repeats=2), **options)
    assert (ids(made)[::2], made.total()) == ([f"s{i}" for i in left], 2 * len(left))
    wanted = made.chosen["toy"]  # it knows which trials belong to it
    assert [
        (index, repeat)
        for index in range(8)
        for repeat in range(3)
        if wanted(index, repeat)
    ] == [(index, repeat) for index in left for repeat in range(2)]


def test_a_choice_without_effect_or_of_no_sample_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        plan(task(), samples={"toy": (0,)}, stratify=("level",))
    assert caught.value.name == "--stratify"
    for index in (3, -1):
        with pytest.raises(UsageError, match=f"index {index} of toy .* 3 samples"):
            next(iter(plan(task(rows=3), samples={"toy": (0, index)})))


def test_media_that_a_loader_holds_in_memory_are_kept_with_the_run(
    tmp_path: Path,
) -> None:
    loose = Sample(
        "s",
        (message("user", picture(3)),),
        (message("user", media_part(picture(4))).content,),
    )
    (job,) = plan(task(rows=[loose]), folder=tmp_path)
    kept = Sample.from_json(from_line(job.sample_line), tmp_path / "media")
    media = [*kept.input[0].content.media(), *kept.references[0].media()]
    assert [medium.read() for medium in media] == [picture(3).data, picture(4).data]


def test_a_sample_that_json_cannot_hold_is_a_bad_one_alone() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    jobs = list(
        plan(
            task(
                rows=[
                    sample("a"),
                    sample("set", labels={1, 2}),
                    sample("deep", labels=deep),
                    sample("b"),
                ]
            )
        )
    )
    assert [(job.sample.id, "JSON" in job.sample.fault) for job in jobs] == [
        ("a", False),
        ("set", True),
        ("deep", True),
        ("b", False),
    ]
    assert [
        Sample.from_json(from_line(job.sample_line), Path()) == job.sample
        for job in jobs
    ] == [True] * 4


@pytest.mark.parametrize(
    ("rows", "options", "more", "words"),
    [
        (levels(6), {"offset": 9}, {}, "none of the 6 .*--offset 9"),
        (levels(6), {"samples": {"toy": ()}}, {}, r"--samples \[\]"),
        (levels(6), {}, {"filter": {"levle": "hard"}}, "{'levle': 'hard'}.*'levle'"),
        (levels(6), {"offset": 3}, HARD, "{'level': 'hard'} or --offset 3"),
        ([], {}, {}, "toy: .*empty"),
        ([torn("x"), torn("y")], {}, {}, "toy: sample 'x': row 2"),
    ],
    ids=[
        "offset",
        "samples",
        "filter on no label",
        "filter and offset",
        "no rows",
        "none can be asked",
    ],
)
def test_a_choice_that_leaves_no_sample_is_refused(
    rows: Any, options: Any, more: Any, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        plan(task(rows=rows, **more), **options).check()
    plan(task(rows=levels(6), **HARD), offset=2).check()
    plan(task("bad", [torn("x")]), task("sound", 1)).check()


@pytest.mark.parametrize(
    ("rows", "more", "options", "left"),
    [
        ([*levels(1), torn(), levels(2)[1]], {}, {"limit": 2}, ["s0", "torn"]),
        (
            [*levels(1), levels(2)[1], torn()],
            {},
            {"samples": {"toy": (2, 1)}},
            ["s1", "torn"],
        ),
        (
            [*levels(1), torn(), levels(2)[1]],
            {},
            {"limit": 3, "stratify": ("level",)},
            ["s0", "torn", "s1"],
        ),
        (
            [*levels(2), torn("unknown"), torn("easy", level="easy")],
            HARD,
            {},
            ["s1", "unknown"],
        ),
        (
            [sample("a"), torn("a"), torn("b"), sample("b", "another")],
            {},
            {},
            ["a", "a (sample 1)", "b", "b"],
        ),
    ],
    ids=["limit", "named", "drawn", "without labels", "with another's id"],
)
def test_a_sample_that_cannot_be_asked_is_chosen_too(
    rows: Any, more: Any, options: Any, left: list[str]
) -> None:
    assert ids(plan(task(rows=rows, **more), **options)) == left


@pytest.mark.parametrize("fault", ["", "row 1: torn"], ids=["sound", "bad"])
def test_a_sample_whose_medium_cannot_be_read_is_one_that_cannot_be_asked(
    fault: str, tmp_path: Path
) -> None:
    content = message("user", media_part(Media(path=tmp_path / "gone.png"), "image"))
    rows = [
        Sample("s", (content,), metadata={"level": "hard"}, fault=fault),
        sample("t"),
    ]
    bad, sound = plan(task(rows=rows))
    assert fault in bad.sample.fault and (fault or "gone.png: ") in bad.sample.fault
    assert Sample.from_json(from_line(bad.sample_line), tmp_path) == bad.sample
    assert (bad.sample.metadata, sound.sample.fault) == ({"level": "hard"}, "")


@pytest.mark.parametrize(
    "options", [{"limit": 1, "offset": 1}, {"samples": {"toy": (1,)}}], ids=str
)
def test_no_row_is_read_beyond_the_last_one_that_is_wanted(
    options: dict[str, Any],
) -> None:
    class Broken(Rows):
        def __iter__(self) -> Iterator[Sample]:
            yield from samples(2)
            raise ValueError("row 2")

    rows = Broken(samples(5))
    assert ids(plan(replace(task(), dataset=lambda: rows), **options))[-1] == "s1"


def doubts(of: Task, *, scoring: bool = True) -> list[Finding]:
    return list(plan(of).doubts(scoring=scoring))


def test_the_first_twenty_samples_that_can_be_asked_are_inspected() -> None:
    of = plan(replace(task("t", [torn(), *levels(30)]), breakdown=("level",)))
    assert len(of.first(of.tasks[0])) == INSPECTED_SAMPLES - 1
    assert list(of.doubts(scoring=True)) == []


def test_the_first_samples_that_are_looked_at_are_chosen_ones() -> None:
    found = plan(
        task("a", levels(30)), task("b", [*levels(2), torn()], repeats=2), offset=1
    ).ahead()
    assert [(job.position, job.sample.id) for job in found] == [
        *((0, f"s{i}") for i in range(1, 1 + INSPECTED_SAMPLES)),
        (1, "s1"),
        (1, "torn"),
    ]


def test_samples_without_a_label_that_others_have_are_counted() -> None:
    rows = levels(3)
    rows[1] = replace(rows[1], metadata={"levle": "easy"})
    (doubt,) = doubts(replace(task("t", rows), breakdown=("level",)))
    assert (doubt.kind, doubt.subject) == ("bad_sample", Subject("t", sample="s1"))
    assert (doubt.count, doubt.of) == (1, 3)
    assert '"levle"' in doubt.cause


def test_a_label_that_the_first_samples_lack_is_a_fault_of_the_task_file() -> None:
    of = replace(
        task("t", levels(30)), breakdown=("levle", "level"), cluster_key="book"
    )
    first, second = doubts(of)
    assert (first.kind, first.subject) == ("task_file", Subject("t"))
    assert (first.count, first.of) == (20, 20)
    assert '"level"' in first.cause
    assert "cluster_key" in second.cause
    assert doubts(of, scoring=False) == []


def test_data_with_more_rows_than_the_task_file_expects_are_other_data() -> None:
    [found] = doubts(replace(task("t", levels(5)), expected=ExpectedSize(rows=4)))
    assert (found.kind, found.count) == ("other_definition", 5)


@pytest.mark.parametrize(
    ("rubrics", "count"), [([None], 1), ([None, ["met?"]], 0)], ids=["none", "one"]
)
def test_a_metric_that_can_score_none_of_the_first_samples_is_doubted(
    rubrics: list[Any], count: int
) -> None:
    rows = [sample(f"s{i}", rubric=rubric) for i, rubric in enumerate(rubrics)]
    metric = TaskMetric(bind(load_metric("rubric_judge")))
    found = doubts(replace(task("t", rows), metrics=(metric,)))
    subjects = [one.subject for one in found]
    assert subjects == [Subject("t", "rubric_judge")] * count
