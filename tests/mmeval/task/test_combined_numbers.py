import math
from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.run.availability import unavailable_findings
from mmeval.task.build import build
from mmeval.task.task import CombinedNumber, Selection, Task, TaskOverrides
from tests.support.task_folder import parsed

TASK = """task: t
metadata: {{version: 1}}
metric_list:
  - metric: exact_match
  - metric: judge_yes_no
  - metric: wer
  - metric: strict_structure
numbers:
{}"""


def built(
    folder: Path,
    *numbers: str,
    skipped: tuple[str, ...] = (),
    roles: frozenset[str] = frozenset(),
) -> Task:
    file = parsed(
        folder, TASK.format("".join(f"  - {{{number}}}\n" for number in numbers))
    )
    return build(file, TaskOverrides(skip_metric=skipped), roles=roles)


def only(
    folder: Path, number: str, *skipped: str, judge: bool = False
) -> CombinedNumber:
    (found,) = built(
        folder, number, skipped=skipped, roles=frozenset({"judge"} if judge else ())
    ).numbers
    return found


@pytest.mark.parametrize(
    ("number", "line", "words"),
    [
        ("number: both, of: [exact_mach]", 9, "exact_match"),
        (
            "number: both, of: [exact_match, strict_structure], missing: skp",
            9,
            "missing",
        ),
        ("number: both, of: [exact_match, exact_match]", 9, "more than once"),
        ("number: both, of: []", 9, "must not be empty"),
        ("number: both, of: [exact_match], mising: skip", 9, "missing"),
        ("number: both, of: [exact_match], combine: median", 9, "combine"),
        ("number: exact_match, of: [strict_structure]", 9, "'exact_match'"),
        (
            "number: both, of: [exact_match, wer]",
            9,
            "higher is better for exact_match, but lower is better for wer",
        ),
    ],
)
def test_what_is_wrong_has_its_line_and_near_names(
    tmp_path: Path, number: str, line: int, words: str
) -> None:
    with pytest.raises(TaskFileError, match=rf":{line}: numbers\[0\].*{words}"):
        built(tmp_path, number)


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError) as error:
        built(
            tmp_path, "number: a, of: [exact_mach]", "number: a, of: [wr, exact_match]"
        )
    lines = str(error.value).splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        [f"{tmp_path}/t.yaml:9", "numbers[0].of[0]"],
        [f"{tmp_path}/t.yaml:10", "numbers[1].of[0]"],
        [f"{tmp_path}/t.yaml:10", "numbers[1].number"],
    ]


def test_it_has_the_range_and_the_direction_of_its_parts(tmp_path: Path) -> None:
    both, worse = built(
        tmp_path,
        "number: a, of: [exact_match, strict_structure]",
        "number: b, of: [wer]",
    ).numbers
    assert (both.range, both.higher_is_better, both.unavailable) == ((0, 1), True, "")
    assert (worse.range, worse.higher_is_better) == ((0, math.inf), False)


def test_without_the_judge_of_a_part_it_is_unavailable_or_partial(
    tmp_path: Path,
) -> None:
    for more in ("", ", missing: inapplicable"):
        unknown = only(tmp_path, f"number: a, of: [exact_match, judge_yes_no]{more}")
        assert [one.subject.role for one in unknown.lacks] == ["judge"]
        assert unknown.without == {}
    partial = only(
        tmp_path, "number: a, of: [exact_match, judge_yes_no], missing: skip"
    )
    assert (partial.unavailable, [*partial.without]) == ("", ["judge_yes_no"])
    alone = only(tmp_path, "number: a, of: [judge_yes_no], missing: skip")
    assert [one.subject.role for one in alone.lacks] == ["judge"]
    assert (
        only(
            tmp_path, "number: a, of: [exact_match, judge_yes_no]", judge=True
        ).unavailable
        == ""
    )


def test_a_run_says_once_which_parts_a_number_lacks(tmp_path: Path) -> None:
    task = built(tmp_path, "number: a, of: [exact_match, judge_yes_no], missing: skip")
    *_, partial = unavailable_findings(Selection((task,)))
    assert (partial.kind, partial.subject.metric) == ("partial", "a")


def test_a_part_that_is_skipped_is_a_missing_one(tmp_path: Path) -> None:
    number = "number: a, of: [exact_match, strict_structure]"
    assert "--skip_metric" in only(tmp_path, number, "exact_match").unavailable
    partial = only(tmp_path, f"{number}, missing: skip", "exact_match")
    assert (partial.unavailable, [*partial.without]) == ("", ["exact_match"])
    assert only(
        tmp_path, f"{number}, missing: skip", "exact_match", "strict_structure"
    ).unavailable
