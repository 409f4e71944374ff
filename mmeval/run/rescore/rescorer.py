"""Scoring a run folder again: other metrics, switches or judges, no new answers."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmeval.backend.agent.casting import with_asked
from mmeval.broker.broker import Broker
from mmeval.dataset.sampling import Subset
from mmeval.errors import MissingError, UsageError, sentence
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.render import Place
from mmeval.metric.scoring.scorer import left_to_models
from mmeval.metric.scoring.stored_trials import stored_exchanges, stored_trial
from mmeval.metric.scoring.trial_rows import trial_line
from mmeval.records.sample import Sample
from mmeval.results.stored_run import run_record
from mmeval.run.availability import log_findings, report_lacking, task_words
from mmeval.run.backends import Backends, roles_of
from mmeval.run.judging import Judging
from mmeval.run.losses import lost_answers, not_asked
from mmeval.run.options import RescoreOptions, RunOutcome, Unfinished
from mmeval.run.progress import Progress, RunTally
from mmeval.run.rescore.selection import (
    check_any_available,
    left_aside,
    stored_selection,
)
from mmeval.run.runner import BEFORE, Runner, check_backends
from mmeval.run.suspension import score_command
from mmeval.run.task_run import TaskRun
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import Wanted, every_trial
from mmeval.store.run_folder import RunFolder, last_command
from mmeval.system.json_lines import to_line
from mmeval.system.secrets import HIDDEN, hidden_names
from mmeval.task.task import Selection

log = logging.getLogger(__name__)


def rescore(options: RescoreOptions, *, progress: Progress) -> RunOutcome:
    """Score every trial of a run folder that its score sets do not cover yet.

    Raises MissingDataError where there is no run, MissingError where nothing that is
    asked for by name can be computed or a judge of the run cannot be asked again as it
    was, Interrupted when the user stops it.
    """
    record = run_record(options.folder)
    roles = frozenset((*options.roles_of_run, *options.roles))
    selection = stored_selection(
        record, options.overrides, roles, metrics=options.metrics
    )
    if options.metrics:
        check_any_available(selection, options.metrics)
    words = task_words(record.get("settings", {}), selection)
    place = Place(words, shlex.quote(str(options.folder)))
    report_lacking(selection, strict=options.strict, place=place)
    return _StoredTrials(selection, options, record, progress).run()


class _StoredTrials(Runner):
    """The trials that a run folder has recorded."""

    options: RescoreOptions
    _judging: Judging

    def __init__(
        self,
        selection: Selection,
        options: RescoreOptions,
        record: Mapping[str, Any],
        progress: Progress,
    ) -> None:
        super().__init__(
            options.folder,
            record["options"]["model_name"],
            selection,
            options,
            progress,
        )
        self._record, self.data = record, record["data"]
        self._stopping = False
        self._asked = [set[int]() for _ in selection]
        self._made = [0 for _ in selection]

    def prepare(self, _media: MediaStore) -> Backends:
        backends = role_backends(self.selection, self.options)
        backends.check_engine(self.options.engine)
        findings = check_backends(backends, self.selection.tasks)
        log_findings(BEFORE, findings, Place(run=shlex.quote(str(self.path))))
        return backends

    def open(self, _folder: RunFolder, journal: Journal) -> Broker:
        identity = self._record["identity"]
        tags = identity["reasoning_tags"]
        return Broker(
            journal,
            seed=identity["seed"],
            nonce=self._record.get("nonce", ""),
            reasoning_tags=None if tags is None else tuple(tags),
        )

    def begin(self) -> Coroutine[Any, Any, None]:
        self._judging = Judging(self.broker, self.runs, self.progress.judged, last=True)
        self.work = self
        self.tally = RunTally()
        self.suspension = self._judging.suspension
        return self._score()

    @property
    def in_flight(self) -> int:
        return self.broker.in_flight

    def stop(self) -> None:
        self._stopping = True
        self._judging.stop()
        self.broker.stop()

    async def leave(self) -> None:
        await self.broker.leave()

    async def _score(self) -> None:
        assert self.scorer is not None
        to_judge = sum(run.left_to_judge() for run in self.runs)
        if to_judge:
            self.progress.note(f"trials to judge: {to_judge:,}")
            self.progress.judging(to_judge)
        for position, run in enumerate(self.runs):
            for row, sample_row in run.records.trials():
                if self._stopping:
                    break
                await self._trial(position, run, row, sample_row)
        await self._judging.drain()
        if self.scorer.left_to_models and not self._stopping:
            self.progress.note(left_to_models(self.scorer.left_to_models))
        await self.scorer.drain()

    async def _trial(
        self,
        position: int,
        run: TaskRun,
        row: Mapping[str, Any],
        sample_row: Mapping[str, Any],
    ) -> None:
        assert self.scorer is not None
        journal = self.broker.journal
        sample = Sample.from_json(sample_row, journal.media.root)
        trial = stored_trial(row, sample, journal)
        self._made[position] += 1
        self._asked[position].add(row["i"])
        self.tally.recall(trial.error, trial.left_out)
        if trial.error is not None and trial.error.kind == "bad_sample":
            faulty = replace(trial.sample, fault=trial.error.message)
            self.tally.bad.add(run.task.name, faulty)
        if row["n"] == 0:
            self.tally.bad.inspect(run.task.name, trial.sample)
        if trial.error is None:
            self.tally.remarks.add(trial.exchanges)
        if run.scores is None or run.scores.covers(row["i"], row["n"], row["d"]):
            return
        responses = [line for _, line in stored_exchanges(row, journal)]
        line = trial_line(
            trial,
            to_line(sample_row),
            index=row["i"],
            digest=row["d"],
            responses=responses,
        )
        await self.scorer.add(position, line)
        await self._judging.add(run, row["i"], trial, row["d"])

    def so_far(self) -> str:
        scored = answered = 0
        for run in self.runs:
            if run.scores is not None:
                scored += run.scores.scored()
            for row, _ in run.records.trials():
                answered += "error" not in row
        return f"{scored:,} of {answered:,} trials are scored"

    def end(self, _folder: RunFolder) -> None:
        pass

    def chosen(self) -> Sequence[Wanted]:
        return [every_trial] * len(self.runs)

    def again(self) -> str:
        return score_command(self.path, self.selection.tasks, self.options.roles)

    def completed(self, outcome: RunOutcome) -> RunOutcome:
        aside = left_aside(self._record, self.selection)
        is_finished = self._record["finished"]
        subsets = {}
        unfinished = {}
        for run, asked, made in zip(self.runs, self._asked, self._made, strict=True):
            name, data = run.task.name, self.data[run.task.name]
            subset = data.get("subset")
            if subset is not None:
                subsets[name] = Subset(subset["of"], len(asked), tuple(subset["how"]))
            trials = data.get("trials")
            # all trials of a finished run were made, but records may be damaged since
            is_short = not is_finished if trials is None else made < trials
            if is_short:
                unfinished[name] = Unfinished(made, trials)
        findings: list[Finding] = []
        if unfinished or not is_finished:
            findings += unfinished_run(self._record, sum(self._made))
        findings += lost_answers(self.tally, last_command(self._record))
        findings += not_asked(self.tally)
        findings += outcome.findings
        findings += self.tally.remarks.findings()
        for task, metrics in aside.items():
            for metric in metrics:
                skipped = Finding(
                    "subset",
                    Subject(task, metric),
                    cause="this scoring was not asked for it; what is scored is kept",
                    remedy="mmeval score {RUN}",
                    severity="note",
                )
                findings.append(skipped)
        return replace(
            outcome,
            subsets=subsets,
            left_aside=aside,
            unfinished=unfinished,
            findings=tuple(findings),
        )


def unfinished_run(record: Mapping[str, Any], made: int) -> Iterator[Finding]:
    """That a run has made only some of its trials: what has stopped it, or the command
    that goes on. ``record`` is the run's."""
    stopped = record.get("stopped", ())
    yield from map(Finding.from_json, stopped)
    if not stopped:
        yield Finding(
            "subset",
            count=made,
            cause="the run is not finished; these are the trials that it made",
            remedy=last_command(record),
            severity="error",
        )


def role_backends(selection: Selection, options: RescoreOptions) -> Backends:
    """The backends that the metrics ask, and those that agents among them ask.

    Raises MissingError or UsageError with the whole command where one cannot be made.
    """
    present = {**options.roles_of_run, **options.roles}
    judges: list[str] = []
    for task in selection:
        for metric in task.metrics:
            judges += metric.bound.asked_roles(present)
    asked = with_asked(judges, lambda role: roles_of(present, role))
    own = {}
    for role, spec in options.roles_of_run.items():
        if role in asked and role not in options.roles:
            own[role] = spec
    specs = {**own, **options.roles}
    words = [score_command(options.folder, selection.tasks, specs)]
    if options.metrics:
        words.append(f"--metrics {','.join(options.metrics)}")
    if options.overrides.profile:
        words.append(f"--profile {options.overrides.profile}")
    if options.overrides.refusals:
        words.append(f"--refusals {options.overrides.refusals}")
    command = " ".join(words)
    for role, spec in own.items():
        for name in hidden_names(spec.args):
            raise MissingError(
                f"{name} of the {role} that this run was made with is a secret, which "
                "is not kept; write it for "
                f"{HIDDEN}, or name another {role}: {command}"
            )
    try:
        return Backends(specs, options.answer_limits)
    except (MissingError, UsageError) as error:
        if not own:
            raise
        kind = MissingError if isinstance(error, MissingError) else UsageError
        roles = ", ".join(own)
        raise kind(
            f"{sentence(error)} This run was made with this {roles}; once that is "
            f"mended, or with another: {command}"
        ) from None
