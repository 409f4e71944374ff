"""The kept answers of a run, and a new run of answers that are made from them.

The new run is scored as every run is. Each of its answers is about a sample of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmeval.media.media import Media
from mmeval.media.parts import Interleaved
from mmeval.metric.scoring.stored_trials import stored_trial
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial, is_refused
from mmeval.results.stored_run import StoredRun
from mmeval.run.rescore.drawn_trials import places_of
from mmeval.store.answer_draw import AnswerDraw
from mmeval.store.media_store import MediaStore
from mmeval.store.run_folder import RunFolder
from mmeval.store.task_records import TaskRecords, trial_rows

_MADE = "made_answers"
"""The field of a run's record with the names of the parts that are complete."""


@dataclass(frozen=True)
class KeptAnswer:
    """An answer of a run. ``index`` is that of its sample in the data set. A changed
    answer has the ``form`` of its change, if the change has several."""

    task: str
    index: int
    repeat: int
    sample: Sample
    output: Interleaved
    form: str = ""

    @property
    def digest(self) -> str:
        """The digest of the sample and the answer."""
        return Trial(self.sample, self.repeat, output=self.output).digest

    @property
    def media(self) -> tuple[Media, ...]:
        """The media of the answer, or else those of the question."""
        return self.output.media() or self.input_media

    @property
    def input_media(self) -> tuple[Media, ...]:
        """The media of the question."""
        media: list[Media] = []
        for message in self.sample.input:
            media += message.content.media()
        return tuple(media)

    @property
    def media_kinds(self) -> tuple[str, ...]:
        """The kinds of the media that are exchanged with those of another answer."""
        return tuple(media.kind for media in self.media)


@dataclass(frozen=True)
class KeptTrial:
    """A trial of a run, whose answer may be missing. ``index`` is that of its
    sample."""

    task: str
    index: int
    trial: Trial


def kept_trials(run: StoredRun, tasks: Iterable[str]) -> Iterator[KeptTrial]:
    """Yields the trials of some tasks."""
    for task in tasks:
        for row, sample_row, _ in trial_rows(run.folder, task):
            sample = Sample.from_json(sample_row["sample"], run.journal.media.root)
            yield KeptTrial(task, row["i"], stored_trial(row, sample, run.journal))
    run.close()


def kept_answers(
    run: StoredRun, tasks: Sequence[str], draw: AnswerDraw
) -> list[KeptAnswer]:
    """Returns the answers to drawn samples. Failed, refused and empty answers are left
    out, because no judge is asked about them."""
    drawn = draw.of(places_of(run.folder, tasks)).samples
    answers = []
    for kept in kept_trials(run, tasks):
        sample, output = kept.trial.sample, kept.trial.output
        if (kept.task, sample.id) not in drawn:
            continue
        if output is None or output.empty or is_refused(kept.trial):
            continue
        repeat = kept.trial.repeat
        answers.append(KeptAnswer(kept.task, kept.index, repeat, sample, output))
    return answers


def write_run(
    folder: Path,
    answers: Iterable[KeptAnswer],
    record: Mapping[str, Any],
    parts: Collection[str] = ("all",),
) -> None:
    """Writes parts of a run of made answers, unless they are complete.

    ``answers`` are those of the parts. Answers of other parts stay. ``record`` is that
    of the run that the answers are from, with what differs. Raises StorageError.
    """
    complete = RunFolder.read_record(folder).get(_MADE, ())
    if set(parts) <= set(complete):
        return
    media = MediaStore(folder / "media")
    counts: dict[str, int] = {}
    records: dict[str, TaskRecords] = {}
    with closing(RunFolder(folder)) as target:
        for answer in answers:
            of_task = records.setdefault(answer.task, TaskRecords(folder, answer.task))
            _keep(of_task, _stored(answer, media))
            counts[answer.task] = counts.get(answer.task, 0) + 1
        for of_task in records.values():
            of_task.close()
        media.sync()
        target.describe(**_described(record, counts))
        made = sorted({*complete, *parts})
        target.note(finished=True, **{_MADE: made})


def _keep(records: TaskRecords, answer: KeptAnswer) -> None:
    sample = answer.sample
    records.keep_sample(answer.index, sample, sample.to_line())
    row = {"x": [], "output": answer.output.to_json()}
    records.keep_trial(answer.index, answer.repeat, answer.digest, row)


def _stored(answer: KeptAnswer, media: MediaStore) -> KeptAnswer:
    """Returns the answer with its new media in the store."""
    messages = []
    for message in answer.sample.input:
        content = _with_stored_media(message.content, media)
        messages.append(replace(message, content=content))
    return replace(
        answer,
        sample=replace(answer.sample, input=tuple(messages)),
        output=_with_stored_media(answer.output, media),
    )


def _with_stored_media(content: Interleaved, store: MediaStore) -> Interleaved:
    parts = []
    for part in content.parts:
        medium = part.media
        if medium is not None and medium.path is None:
            parts.append(replace(part, media=store.put(medium)))
        else:
            parts.append(part)
    return Interleaved(tuple(parts))


def _described(record: Mapping[str, Any], counts: Mapping[str, int]) -> dict[str, Any]:
    data = {}
    for task, trials in counts.items():
        data[task] = {**record["data"][task], "rows": trials, "trials": trials}
    return {
        "identity": record["identity"],
        "provenance": record["sessions"][-1]["provenance"],
        "tasks": {task: record["tasks"][task] for task in counts},
        "groups": {},
        "data": data,
        "options": record["options"],
        "settings": record["settings"],
        "command": "",
    }
