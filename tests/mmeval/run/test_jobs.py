from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.content.media import Media
from mmeval.content.parts import media_part
from mmeval.errors import UsageError
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.records.sample import Sample, message
from mmeval.run.availability import OpenedData
from mmeval.run.jobs import JobQueue
from mmeval.run.options import BackendSpec, RunOptions
from mmeval.store.media_store import MediaStore
from mmeval.system.json_lines import from_line
from mmeval.task.data import TaskData
from mmeval.task.task import Expected, Task, TaskMetric
from tests.support.toy import Rows, picture, sample, samples, task


def plan(*tasks: Task, folder: Path = Path("unused"), **options: Any) -> JobQueue:
    made = RunOptions(model=BackendSpec("reference"), output_path=folder, **options)
    return JobQueue(tasks, made, MediaStore(folder / "media"))


def chosen(of: JobQueue) -> list[tuple[str, str, int]]:
    return [(job.task.name, job.sample.id, job.repeat) for job in of]


def ids(of: JobQueue) -> list[str]:
    return [job.sample.id for job in of]


def levels(count: int) -> list[Sample]:
    return [sample(f"s{i}", level="hard" if i % 2 else "easy") for i in range(count)]


def test_every_sample_of_every_task_comes_once_a_repeat_in_order() -> None:
    made = plan(task("a", 2, repeats=2), task("b", 1))
    assert chosen(made) == [("a", "s0", 0), ("a", "s0", 1), ("a", "s1", 0), ("a", "s1", 1), ("b", "s0", 0)]
    assert made.total() == 5


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"limit": 2}, ["s0", "s1"]),
        ({"limit": 99}, [f"s{i}" for i in range(7)]),
        ({"limit": 0.4}, ["s0", "s1", "s2"]),
        ({"limit": 1.0}, ["s0"]),
        ({"offset": 5}, ["s5", "s6"]),
        ({"limit": 3, "offset": 5}, ["s5", "s6"]),
        ({"offset": 9}, []),
        ({"samples": {"toy": (6, 0)}}, ["s0", "s6"]),
        ({"samples": {"toy": (6, 2)}, "limit": 1, "offset": 1}, ["s2", "s6"]),
    ],
    ids=str,
)
def test_limit_offset_and_named_samples_choose(options: dict[str, Any], left: list[str]) -> None:
    made = plan(task(rows=7), **options)
    assert ids(made) == left
    assert made.total() == len(left)


@pytest.mark.parametrize(
    ("options", "left"),
    [({}, ["s1", "s3", "s5"]), ({"limit": 2}, ["s1", "s3"]), ({"offset": 1}, ["s3", "s5"])],
    ids=str,
)
def test_a_filter_chooses_before_limit_and_offset(options: dict[str, Any], left: list[str]) -> None:
    made = plan(task(rows=levels(6), filter={"level": "hard"}), **options)
    assert ids(made) == left
    assert made.total() >= len(left)


@pytest.mark.parametrize("filter", [{"level": ["hard", "harder"]}, {"level": "hard"}], ids=str)
def test_a_filter_takes_a_value_or_one_of_several(filter: dict[str, Any]) -> None:
    assert ids(plan(task(rows=levels(2), filter=filter))) == ["s1"]


def test_the_plan_knows_which_trials_belong_to_it() -> None:
    made = plan(task(rows=4, repeats=2), offset=1, limit=2)
    list(made)
    wanted = made.chosen[0]
    assert [index for index in range(4) if wanted(index, 1)] == [1, 2]
    assert not wanted(1, 2)


@pytest.mark.parametrize("index", [3, -1])
def test_an_index_that_does_not_exist_is_refused_before_anything_is_asked(index: int) -> None:
    made = plan(task(rows=3), samples={"toy": (0, index)})
    with pytest.raises(UsageError, match=f"toy has 3 samples, so there is no index {index}"):
        next(iter(made))


def test_samples_of_a_task_that_is_not_run_are_refused() -> None:
    with pytest.raises(UsageError, match="--samples names tasks that are not run: other"):
        plan(task(), samples={"other": (0,)})


def test_a_job_carries_its_sample_as_a_line() -> None:
    (job,) = plan(task(rows=[sample(level="hard")]))
    assert Sample.from_json(from_line(job.sample_line), Path()) == job.sample


def test_media_that_a_loader_holds_in_memory_are_kept_with_the_run(tmp_path: Path) -> None:
    loose = Sample("s", (message("user", picture(3)),), (message("user", media_part(picture(4))).content,))
    (job,) = plan(task(rows=[loose]), folder=tmp_path)
    kept = Sample.from_json(from_line(job.sample_line), tmp_path / "media")
    media = [*kept.input[0].content.media(), *kept.references[0].media()]
    assert [medium.read() for medium in media] == [picture(3).data, picture(4).data]


@pytest.mark.parametrize(
    ("options", "more", "said"),
    [
        ({"offset": 9}, {}, "no sample is left of the 6 in its data set; change --offset 9"),
        ({"samples": {"toy": ()}}, {}, "change --samples []"),
        ({}, {"filter": {"level": "none"}}, "change the filter {'level': 'none'}"),
        ({}, {"filter": {"levle": "hard"}}, "change the filter {'levle': 'hard'} (no sample has the label 'levle')"),
        ({"offset": 3}, {"filter": {"level": "hard"}}, "change the filter {'level': 'hard'} or --offset 3"),
    ],
    ids=["offset", "samples", "filter", "filter on no label", "filter and offset"],
)
def test_a_choice_that_leaves_no_sample_is_refused(options: dict[str, Any], more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        plan(task(rows=levels(6), **more), **options).check()


def test_a_choice_that_leaves_a_sample_is_good() -> None:
    plan(task(rows=levels(6), filter={"level": "hard"}), offset=2).check()


def test_a_data_set_without_samples_is_refused() -> None:
    with pytest.raises(UsageError, match="toy: its data set is empty: there is not a single row in it"):
        plan(task(rows=0)).check()


def test_a_second_sample_of_the_same_id_is_refused_before_it_is_asked() -> None:
    twins = [sample("twin"), sample("other"), sample("twin", "another question")]
    made = iter(plan(task(rows=twins, repeats=2)))
    assert [next(made).sample.id for _ in range(4)] == ["twin", "twin", "other", "other"]
    with pytest.raises(UsageError, match="toy: sample 2 has the id 'twin' of an earlier one; ids must be unique"):
        next(made)


def torn(id: str = "torn", fault: str = "test.jsonl: row 2: torn", **labels: Any) -> Sample:
    return Sample(id, (), metadata=labels, fault=fault)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"limit": 2}, ["s0", "torn"]),
        ({"samples": {"toy": (2, 1)}}, ["torn", "s1"]),
        ({"limit": 3, "stratify": ("level",)}, ["s0", "torn", "s1"]),
    ],
    ids=str,
)
def test_a_sample_that_cannot_be_asked_is_chosen_like_any_other(options: dict[str, Any], left: list[str]) -> None:
    easy, hard = levels(2)
    assert ids(plan(task(rows=[easy, torn(), hard]), **options)) == left


def test_one_that_lacks_labels_belongs_to_whatever_a_filter_keeps() -> None:
    rows = [*levels(2), torn("unknown"), torn("easy", level="easy")]
    assert ids(plan(task(rows=rows, filter={"level": "hard"}))) == ["s1", "unknown"]


def test_one_that_has_the_id_of_an_earlier_sample_gets_a_name_of_its_own() -> None:
    rows = [sample("a"), torn("a"), torn("b"), sample("b", "another question")]
    assert ids(plan(task(rows=rows))) == ["a", "a (sample 1)", "b", "b"]


@pytest.mark.parametrize("fault", ["", "row 1: its picture is missing"], ids=["sound", "bad"])
def test_a_sample_whose_medium_cannot_be_read_is_one_that_cannot_be_asked(fault: str, tmp_path: Path) -> None:
    medium = Media(path=tmp_path / "gone.png")
    rows = [
        Sample("s", (message("user", media_part(medium, "image")),), metadata={"level": "hard"}, fault=fault),
        sample("t"),
    ]
    bad, sound = plan(task(rows=rows))
    assert fault in bad.sample.fault and (fault or "gone.png: the media file has gone") in bad.sample.fault
    assert Sample.from_json(from_line(bad.sample_line), tmp_path) == bad.sample
    assert (bad.sample.metadata, sound.sample.fault) == ({"level": "hard"}, "")


def test_where_no_sample_of_any_task_can_be_asked_nothing_is_begun() -> None:
    bad, sound = task("a", [torn("x"), torn("y")]), task("b", 1)
    plan(bad, sound).check()
    with pytest.raises(UsageError, match=r"not a single sample can be asked; the first is a: sample 'x': test.jsonl: "):
        plan(bad).check()


def test_those_among_the_first_samples_are_told_before_anything_is_asked() -> None:
    of = plan(replace(task("t", [torn(), *levels(30)]), breakdown=("level",)))
    (said,) = of.doubts(scoring=True)
    assert said.startswith("t: 1 of the first 20 samples cannot be asked: sample 'torn': test.jsonl: row 2: torn; ")
    assert "mmeval validate t looks at all of them" in said


def test_two_tasks_may_have_the_same_ids() -> None:
    assert ids(plan(task("a", 1), task("b", 1))) == ["s0", "s0"]


def test_a_sample_that_json_cannot_hold_is_named() -> None:
    made = plan(task(rows=[sample("fine"), sample("odd", labels={1, 2})]))
    with pytest.raises(UsageError, match=r"toy: sample 1 \('odd'\) holds what JSON cannot .*; mend its loader"):
        list(made)


@pytest.mark.parametrize("options", [{"limit": 2}, {"limit": 1, "offset": 1}, {"samples": {"toy": (1,)}}], ids=str)
def test_no_row_is_read_beyond_the_last_one_that_is_wanted(options: dict[str, Any]) -> None:
    class Broken(Rows):
        def __iter__(self) -> Iterator[Sample]:
            yield from samples(2)
            raise ValueError("row 2 is broken")

    rows = Broken(samples(5))
    made = plan(replace(task(), dataset=lambda: rows), **options)
    assert ids(made)[-1] == "s1"


def test_samples_without_a_label_that_others_have_are_doubted() -> None:
    rows = levels(3)
    rows[1] = replace(rows[1], metadata={"levle": "easy"})
    one, two = (
        [*plan(replace(task("t", found), breakdown=("level",))).doubts(scoring=True)]
        for found in (rows, [*rows, replace(rows[1], id="other")])
    )
    instead = 'the label \'level\', and {} in no slice by it; it has "levle": did you mean "level"?'
    assert one == [f"t: sample {rows[1].id!r} lacks {instead.format('is')}"]
    assert two == [f"t: 2 of the first 4 samples lack {instead.format('are')}"]


def test_the_way_to_look_at_data_that_lack_rows_has_the_folder_that_was_given(tmp_path: Path) -> None:
    data = TaskData("t", lambda source: Rows(levels(3)), data_dir=tmp_path)
    lacking = task("t", levels(3))
    there, given, opened = (
        [*plan(replace(lacking, dataset=dataset, expected=Expected(rows=4))).doubts(scoring=True)]
        for dataset in (lacking.dataset, data, OpenedData(data, data()))
    )
    assert (there[0].count("(mmeval prepare t looks"), len(given)) == (1, 1)
    assert f"(mmeval prepare t --data_dir {tmp_path} looks at all of them)" in given[0]
    assert opened == given


def test_a_label_that_the_first_samples_lack_is_doubted_before_anything_is_asked() -> None:
    misspelt = replace(task("t", levels(30)), breakdown=("levle", "level"), cluster_key="book")
    of = plan(misspelt)
    assert list(of.doubts(scoring=True)) == [
        "t: breakdown names the label 'levle', which the first 20 samples lack; did you mean \"level\"?",
        "t: cluster_key names the label 'book', which the first 20 samples lack",
    ]
    assert list(of.doubts(scoring=False)) == []
    assert len(ids(of)) == 30


@pytest.mark.parametrize(("rubrics", "doubts"), [([None], 1), ([None, ["met?"]], 0)], ids=["none", "one"])
def test_a_metric_that_can_score_none_of_the_first_samples_is_doubted(rubrics: list[Any], doubts: int) -> None:
    rows = [sample(f"s{i}", rubric=rubric) for i, rubric in enumerate(rubrics)]
    judged = replace(task("t", rows), metrics=(TaskMetric(bind(load_metric("rubric_judge"))),))
    said = list(plan(judged).doubts(scoring=True))
    assert len(said) == doubts
    assert all("t: no answer to the first sample can be scored by rubric_judge: the row" in one for one in said)
