"""What the writers of all layouts with one place for an answer share, shown on a layout
of plain lines."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from mmeval.errors import UsageError
from mmeval.interchange import (
    AnsweredRun,
    AnsweredTask,
    ExportFolder,
    ScoredTrial,
    stem_of,
)
from mmeval.media import Interleaved
from mmeval.records import ErrorInfo, Sample, Trial
from tests.support.interchange import task_of

FAILED = ErrorInfo("timeout", "no reply")
UNASKED = ErrorInfo("unsupported", "it takes no audio")
DAMAGED = Trial(
    Sample("7", (), fault="no JSON"), error=ErrorInfo("bad_sample", "no JSON")
)


class Lines(ExportFolder):
    """One file with a line for each place, in the order in which they come."""

    benchmark, entry, unanswered = "Lines", "line", "its line is empty"
    notes, nouns = {"words": "counted"}, {"words": "words"}

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.lines: dict[str, str] = {}
        self.came_again: list[str] = []

    def takes(self, sample: Sample) -> bool:
        return sample.id.isdigit()

    def add(self, scored_trial: ScoredTrial) -> None:
        self.mmeval_fields(scored_trial.trial)
        said = (
            "" if scored_trial.trial.output is None else scored_trial.trial.output.text
        )
        self.lines[scored_trial.trial.sample.id] = said
        self.counts["words"] += len(said.split())

    def again(self, scored_trial: ScoredTrial) -> None:
        self.came_again.append(scored_trial.trial.sample.id)

    def finish(self) -> Sequence[str]:
        (self.path / "lines.txt").write_text(
            "".join(f"{name} {said}\n" for name, said in self.lines.items())
        )
        return ()


def task(name: str, *trials: Trial) -> AnsweredTask:
    return task_of(name, trials)


def trial(name: str, said: str | ErrorInfo) -> Trial:
    sample = Sample(name, ())
    if isinstance(said, ErrorInfo):
        return Trial(sample, error=said)
    return Trial(sample, output=Interleaved.from_text(said))


def test_a_task_with_one_foreign_sample_is_left_out_whole(tmp_path: Path) -> None:
    mixed = task("mixed", trial("1", "a"), trial("x", "b"))
    done = Lines(tmp_path).fill(AnsweredRun("m", (mixed, task("own", trial("2", "c")))))
    assert (done.answers, [gap.split()[-1] for gap in done.gaps]) == (1, ["mixed"])
    assert (tmp_path / "lines.txt").read_text() == "2 c\n"


@pytest.mark.parametrize(
    "tasks", [(task("quiz", trial("x", "a")),), (task("own", DAMAGED),)]
)
def test_a_run_without_a_place_is_refused(
    tasks: tuple[AnsweredTask, ...], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="does not fit this format"):
        Lines(tmp_path).fill(AnsweredRun("m", tasks))
    assert not (tmp_path / "lines.txt").exists()


def test_tasks_that_ask_the_same_share_an_answer_of_which_one_may_have_failed(
    tmp_path: Path,
) -> None:
    tasks = (
        task("one", trial("1", "a"), trial("2", FAILED)),
        task("other", trial("1", FAILED), trial("2", "b")),
    )
    lines = Lines(tmp_path)
    done = lines.fill(AnsweredRun("m", (*tasks, task("third", trial("1", "a")))))
    assert (done.answers, done.gaps, (tmp_path / "lines.txt").read_text()) == (
        2,
        (),
        "1 a\n2 b\n",
    )
    assert lines.came_again == ["1"]


def test_different_answers_in_one_place_are_refused(tmp_path: Path) -> None:
    tasks = task("one", trial("1", "a")), task("other", trial("1", "b"))
    with pytest.raises(UsageError, match=r"one and other .* 1, repeat 0"):
        Lines(tmp_path).fill(AnsweredRun("m", tasks))


def test_what_failed_was_not_asked_or_is_damaged_is_counted_once_each(
    tmp_path: Path,
) -> None:
    tasks = (
        task("one", trial("1", FAILED), trial("2", UNASKED), DAMAGED),
        task("other", trial("1", FAILED), DAMAGED),
    )
    done = Lines(tmp_path).fill(AnsweredRun("m", tasks))
    assert [gap.rpartition(";")[0] for gap in done.gaps] == [
        "answers: 1; the model failed",
        "answers: 1; the model could not be asked",
        "answers: 1; the sample is damaged and was not asked",
    ]


def test_a_note_is_of_what_it_counts(tmp_path: Path) -> None:
    assert Lines(tmp_path).fill(
        AnsweredRun("m", (task("own", trial("1", "a b")),))
    ).notes == ("words: 2; counted",)


@pytest.mark.parametrize("name", ["../../x", "é", "x" * 300, "a b"])
def test_a_stem_is_a_plain_file_name_of_its_own(name: str) -> None:
    stem = stem_of(name, 0)
    assert stem.replace("_", "").isalnum() and len(stem) < 60
    assert len({stem, stem_of(name, 1), stem_of(f"{name}.", 0), stem_of("a_b", 0)}) == 4
