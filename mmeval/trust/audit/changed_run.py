"""A run of changed answers, which is scored as every run is.

It has the answers of a run once unchanged and once for each change, each as a sample of
its own. Its seed differs from that of the run, so that a judge which is asked about an
unchanged answer replies anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.media.parts import Interleaved
from mmeval.metric.scoring.stored_trials import stored_trial
from mmeval.records.digests import digest
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial, is_refused
from mmeval.results.stored_run import StoredRun
from mmeval.run.rescore.drawn_trials import places_of
from mmeval.store.answer_draw import AnswerDraw
from mmeval.store.media_store import MediaStore
from mmeval.store.run_folder import RunFolder
from mmeval.store.task_records import TaskRecords, trial_rows
from mmeval.trust.audit.changed_answers import AGAIN, CHANGES, KeptAnswer

FOLDER = "audit"
_READY = "answers_are_changed"
_VERSION = 1
"""Raised if a change is made in another way, so that judges are asked anew."""
_NUMBERS = {check: number for number, check in enumerate(CHANGES)}


class ChangedTrial(NamedTuple):
    """A changed trial: its task and its position in the run of changed answers, and the
    place of the plain answer."""

    check: str
    task: str
    sample_index: int
    repeat: int
    place: int


class ChangedRun:
    """The answers of a run, changed for some checks, and the folder for them.

    Equal answers and checks have the same folder, so that an audit can be continued.
    """

    def __init__(
        self, run: StoredRun, answers: Sequence[KeptAnswer], checks: Sequence[str]
    ) -> None:
        self._run = run
        self._changed = list(_changed(answers, (AGAIN, *checks)))
        digests = [_trial(answer).digest for answer in answers]
        places = [[answer.task, answer.index] for answer in answers]
        name = digest([_VERSION, sorted(set(checks)), places, digests])[:12]
        self.folder = run.folder / FOLDER / name

    @property
    def trials(self) -> list[ChangedTrial]:
        """All changed trials."""
        return [trial for trial, _ in self._changed]

    def write(self) -> None:
        """Writes the folder, unless it is complete. Raises StorageError."""
        if not RunFolder.read_record(self.folder).get(_READY):
            _write(self._run, self.folder, self._changed)


def kept_answers(
    run: StoredRun, tasks: Sequence[str], draw: AnswerDraw
) -> list[KeptAnswer]:
    """Returns the answers to drawn samples. Failed, refused and empty answers are left
    out, because no judge is asked about them."""
    drawn = draw.of(places_of(run.folder, tasks)).samples
    answers = []
    for task in tasks:
        for row, sample_row, _ in trial_rows(run.folder, task):
            sample_json = sample_row["sample"]
            if (task, sample_json["id"]) not in drawn:
                continue
            sample = Sample.from_json(sample_json, run.journal.media.root)
            trial = stored_trial(row, sample, run.journal)
            output = trial.output
            if output is None or output.empty or is_refused(trial):
                continue
            answers.append(KeptAnswer(task, row["i"], row["n"], sample, output))
    run.close()
    return answers


def _changed(
    answers: Sequence[KeptAnswer], checks: Sequence[str]
) -> Iterator[tuple[ChangedTrial, KeptAnswer]]:
    for check in dict.fromkeys(checks):
        for place, answer in CHANGES[check](answers).items():
            # each change of a sample is a sample of its own
            index = answer.index * len(CHANGES) + _NUMBERS[check]
            trial = ChangedTrial(check, answer.task, index, answer.repeat, place)
            yield trial, answer


def _write(
    run: StoredRun,
    folder: Path,
    changed: Sequence[tuple[ChangedTrial, KeptAnswer]],
) -> None:
    media = MediaStore(folder / "media")
    counts: dict[str, int] = {}
    records: dict[str, TaskRecords] = {}
    with closing(RunFolder(folder)) as target:
        for trial, answer in changed:
            kept = records.setdefault(trial.task, TaskRecords(folder, trial.task))
            _keep(kept, trial, _stored(answer, media))
            counts[trial.task] = counts.get(trial.task, 0) + 1
        for kept in records.values():
            kept.close()
        media.sync()
        target.describe(**_record(run.record, counts))
        target.note(finished=True, **{_READY: True})


def _keep(records: TaskRecords, changed: ChangedTrial, answer: KeptAnswer) -> None:
    records.keep_sample(changed.sample_index, answer.sample, answer.sample.to_line())
    row = {"x": [], "output": answer.output.to_json()}
    records.keep_trial(changed.sample_index, answer.repeat, _trial(answer).digest, row)


def _trial(answer: KeptAnswer) -> Trial:
    return Trial(answer.sample, answer.repeat, output=answer.output)


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


def _record(record: Mapping[str, Any], counts: Mapping[str, int]) -> dict[str, Any]:
    """Returns the record of the new run, from that of the plain one."""
    identity = record["identity"]
    data = {}
    for task, trials in counts.items():
        data[task] = {**record["data"][task], "rows": trials, "trials": trials}
    return {
        "identity": {**identity, "seed": identity["seed"] + 1},
        "provenance": record["sessions"][-1]["provenance"],
        "tasks": {task: record["tasks"][task] for task in counts},
        "groups": {},
        "data": data,
        "options": record["options"],
        "settings": record["settings"],
        "command": "",
    }
