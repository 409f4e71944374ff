"""Scores a run folder again, with other metrics, switches or judges."""

from __future__ import annotations

import logging
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from mmeval.backend.agent.casting import with_called_roles
from mmeval.backend.batch_size import AUTO
from mmeval.broker.broker import Broker
from mmeval.dataset.sampling import Subset
from mmeval.errors import MissingError, UsageError, sentence
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.render import RemedyTarget
from mmeval.metric.scoring.scorer import left_to_models
from mmeval.metric.scoring.stored_trials import stored_exchanges, stored_trial
from mmeval.metric.scoring.trial_rows import ScoringPlan, trial_line
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.results.stored_run import run_record
from mmeval.run.availability import log_findings, report_unavailable, task_words
from mmeval.run.backends import Backends, roles_of
from mmeval.run.costs.prices import Prices
from mmeval.run.interrupt import Stoppable
from mmeval.run.judging import Judging
from mmeval.run.kept.key import outcome_key
from mmeval.run.losses import lost_answers, unasked_findings
from mmeval.run.options import (
    BackendSpec,
    RescoreOptions,
    RunCounts,
    RunOutcome,
    UnfinishedTask,
)
from mmeval.run.preparation import BEFORE, check_backends
from mmeval.run.progress import Progress, RunTally
from mmeval.run.rescore.drawn_trials import OfSamples, draw_trials
from mmeval.run.rescore.selection import (
    check_any_available,
    left_aside,
    stored_selection,
)
from mmeval.run.runner import Runner
from mmeval.run.source import Conclusion, OpenRun, TrialSource
from mmeval.run.suspension import Suspension, role_words, score_command
from mmeval.run.task_run import TaskRun, task_run
from mmeval.store.journal import Journal
from mmeval.store.paths import TrialFilter, every_trial
from mmeval.store.run_folder import RunFolder, last_command
from mmeval.system.json_lines import to_line
from mmeval.system.secrets import HIDDEN, hidden_names
from mmeval.task.task import Selection, Task

log = logging.getLogger(__name__)


def rescore(options: RescoreOptions, *, progress: Progress) -> RunOutcome:
    """Scores the trials of a run folder that its score sets do not cover.

    Raises MissingDataError if there is no run, MissingError if no requested metric can
    be computed or if a judge of the run is missing, and Interrupted if the user stops
    it.
    """
    record = run_record(options.folder)
    roles = frozenset((*options.roles_of_run, *options.roles))
    selection = stored_selection(
        record, options.overrides, roles, metrics=options.metrics
    )
    if options.metrics:
        check_any_available(selection, options.metrics)
    words = task_words(record.get("settings", {}), selection)
    place = RemedyTarget(words, shlex.quote(str(options.folder)))
    report_unavailable(selection, strict=options.strict, place=place)
    model = record["options"]["model_name"]
    runner = Runner(options.folder, model, selection, options, progress)
    return runner.run(lambda _media: RecordedTrials(selection, options, record))


class RecordedTrials(TrialSource):
    """The source of a run that scores recorded trials.

    ``record`` is the content of the run's ``run.json``.

    Raises UsageError or MissingError if the run cannot start.
    """

    makes_trials = False
    most_trials = None
    batch_size = AUTO
    others = ()

    def __init__(
        self, selection: Selection, options: RescoreOptions, record: Mapping[str, Any]
    ) -> None:
        self._selection = selection
        self._options = options
        self._record = record
        self.data = record["data"]
        self.backends = role_backends(selection, options)
        self.roles = self.backends.besides_model
        self._report_roles_of_run()
        self.backends.check_engine(options.engine)
        findings = check_backends(self.backends, selection.tasks)
        findings += selection.findings
        log_findings(
            BEFORE, findings, RemedyTarget(run=shlex.quote(str(options.folder)))
        )

    def _report_roles_of_run(self) -> None:
        """Logs the roles that this command does not name, such as the run's judge."""
        words: list[str] = []
        for role, spec in self.roles.items():
            if role not in self._options.roles:
                words.append(role_words(role, spec))
        if words:
            log.info(
                "roles as in the run: %s; --role NAME=BACKEND chooses another",
                " ".join(words),
            )

    def key(self, prices: Prices) -> str:
        options = {
            field.name: getattr(self._options, field.name)
            for field in fields(self._options)
            if field.name not in ("roles", "roles_of_run", "folder")
        }
        return outcome_key(
            options=options,
            identity=self._record["identity"],
            selection=self._selection,
            data=self.data,
            backends=self.backends,
            prices=prices,
        )

    def reuse(self, counts: RunCounts) -> None:
        """Reports nothing, as the command does if all trials are scored."""

    def claim(self) -> RunFolder:
        return RunFolder(self._options.folder)

    def open(self, _folder: RunFolder, journal: Journal) -> Broker:
        identity = self._record["identity"]
        tags = identity["reasoning_tags"]
        return Broker(
            journal,
            seed=identity["seed"],
            nonce=self._record.get("nonce", ""),
            reasoning_tags=None if tags is None else tuple(tags),
        )

    def task_run(self, task: Task, plan: ScoringPlan) -> TaskRun:
        return task_run(
            self._options.folder,
            task,
            plan,
            self.backends.named,
            self.backends.params,
            data=self.data[task.name]["fingerprint"],
        )

    def begin(self, run: OpenRun) -> RecordedTrialsRun:
        return RecordedTrialsRun(run, self._selection, self._options, self._record)


class RecordedTrialsRun:
    """Scores the recorded trials that the score sets do not cover."""

    def __init__(
        self,
        run: OpenRun,
        selection: Selection,
        options: RescoreOptions,
        record: Mapping[str, Any],
    ) -> None:
        assert run.scorer is not None
        self.tally = RunTally()
        self._run = run
        self._scorer = run.scorer
        self._selection = selection
        self._options = options
        self._record = record
        self._judging = Judging(
            run.broker,
            run.tasks,
            run.progress.judged,
            last=True,
            patience=options.judge_patience,
        )
        self._is_stopped = False
        self._recorded: Counter[str] = Counter()
        """The number of recorded trials, by task."""
        self._recorded_samples: Counter[str] = Counter()
        self._samples = {task.name: set[int]() for task in selection}
        """The indices of samples with recorded trials, by task."""
        self._drawn: dict[str, TrialFilter] = {}
        for name, indices in options.indices.items():
            self._drawn[name] = OfSamples(frozenset(indices))
        if options.draw is not None:
            self._drawn |= draw_trials(options.draw, options.folder, run.tasks)

    @property
    def work(self) -> Stoppable:
        return self

    @property
    def suspension(self) -> Suspension:
        return self._judging.suspension

    @property
    def in_flight(self) -> int:
        return self._run.broker.in_flight

    def stop(self) -> None:
        self._is_stopped = True
        self._judging.stop()
        self._run.broker.stop()

    async def leave(self) -> None:
        await self._run.broker.leave()

    async def run(self) -> None:
        progress = self._run.progress
        to_judge = 0
        for task in self._run.tasks:
            to_judge += task.left_to_judge(self._chosen(task.task.name))
        if to_judge:
            progress.note(f"trials to judge: {to_judge:,}")
            progress.judging(to_judge)
        for position, task in enumerate(self._run.tasks):
            for row, sample_row in task.records.trials():
                if self._is_stopped:
                    break
                await self._trial(position, task, row, sample_row)
        await self._judging.drain()
        waiting = 0 if self._is_stopped else self._scorer.left_to_models
        if waiting:
            progress.note(left_to_models(waiting))
        await self._scorer.drain()

    async def _trial(
        self,
        position: int,
        task: TaskRun,
        row: Mapping[str, Any],
        sample_row: Mapping[str, Any],
    ) -> None:
        index, repeat, digest = row["i"], row["n"], row["d"]
        self._recorded[task.task.name] += 1
        self._recorded_samples[task.task.name] += repeat == 0
        if not self._chosen(task.task.name)(index, repeat):
            return
        journal = self._run.broker.journal
        sample = Sample.from_json(sample_row, journal.media.root)
        trial = stored_trial(row, sample, journal)
        self._count(task.task.name, index, repeat, trial)
        if task.scores is None or task.scores.covers(index, repeat, digest):
            return
        line = trial_line(
            trial,
            to_line(sample_row),
            index=index,
            digest=digest,
            responses=[response for _, response in stored_exchanges(row, journal)],
        )
        await self._scorer.add(position, line)
        await self._judging.add(task, index, trial, digest)

    def _count(
        self,
        task: str,
        index: int,
        repeat: int,
        trial: Trial,
    ) -> None:
        tally, error = self.tally, trial.error
        self._samples[task].add(index)
        tally.recall(error, trial.left_out)
        if error is None:
            tally.answer_notes.add(trial.exchanges)
        elif error.kind == "bad_sample":
            tally.bad.add(task, replace(trial.sample, fault=error.message))
        if repeat == 0:
            tally.bad.inspect(task, trial.sample)

    def so_far(self) -> str:
        scored = answered = 0
        for task in self._run.tasks:
            if task.scores is not None:
                scored += task.scores.scored()
            answered += sum("error" not in row for row, _ in task.records.trials())
        return f"{scored:,} of {answered:,} trials are scored"

    def conclude(self) -> Conclusion:
        record, tally = self._record, self.tally
        unfinished = self._unfinished()
        losses: list[Finding] = []
        if unfinished or not record["finished"]:
            losses.extend(unfinished_run(record, self._recorded.total()))
        losses.extend(lost_answers(tally, last_command(record)))
        losses.extend(unasked_findings(tally))
        skipped = left_aside(record, self._selection)
        options = self._options
        again = score_command(options.folder, self._selection.tasks, options.roles)
        if options.draw is not None:
            again = f"{again} --sample {options.draw.count}"
        return Conclusion(
            chosen={task: self._chosen(task) for task in self._samples},
            again=again,
            losses=tuple(losses),
            answer_notes=(*tally.answer_notes.findings(), *_skipped(skipped)),
            subsets=self._subsets(),
            unfinished=unfinished,
            left_aside=skipped,
        )

    def _chosen(self, task: str) -> TrialFilter:
        """Returns the filter of the trials to score."""
        return self._drawn.get(task, every_trial)

    def _subsets(self) -> dict[str, Subset]:
        """Returns the subset of samples that are scored, by task.

        A task of which all samples are scored is left out.
        """
        subsets = {}
        for task, samples in self._samples.items():
            in_folder = {"of": self._recorded_samples[task], "how": ()}
            chosen = self._record["data"][task].get("subset", in_folder)
            how = tuple(chosen["how"])
            if task in self._drawn:
                how = (*how, "sample")
            if how:
                subsets[task] = Subset(chosen["of"], len(samples), how)
        return subsets

    def _unfinished(self) -> dict[str, UnfinishedTask]:
        """Returns the progress of each task with missing trials."""
        unfinished = {}
        for task in self._samples:
            recorded, expected = (
                self._recorded[task],
                self._record["data"][task].get("trials"),
            )
            # a finished run has made all trials, but records may be damaged later
            is_known_whole = expected is None and self._record["finished"]
            if not is_known_whole and (expected is None or recorded < expected):
                unfinished[task] = UnfinishedTask(recorded, expected)
        return unfinished


def unfinished_run(record: Mapping[str, Any], made: int) -> Iterator[Finding]:
    """Yields findings for a run that has not made all its trials.

    The findings state what stopped the run, or contain the command that continues it.
    ``record`` is the content of the run's ``run.json``.
    """
    stopped = record.get("stopped", ())
    yield from map(Finding.from_json, stopped)
    if not stopped:
        yield Finding(
            "subset",
            count=made,
            cause="the run is not finished; only trials made so far are scored",
            remedy=last_command(record),
            severity="error",
        )


def _skipped(skipped: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """Yields a finding for each metric of the run that this scoring leaves out."""
    for task, metrics in skipped.items():
        for metric in metrics:
            yield Finding(
                "subset",
                Subject(task, metric),
                cause="left out of this scoring; its scores are kept",
                remedy="mmeval score {RUN}",
                severity="note",
            )


def role_backends(selection: Selection, options: RescoreOptions) -> Backends:
    """Creates the backends that metrics call, and those that agents among them call.

    Raises MissingError or UsageError if a backend cannot be created. The message
    contains the whole command.
    """
    available = {**options.roles_of_run, **options.roles}
    judges = [
        role
        for task in selection
        for metric in task.metrics
        for role in metric.bound.called_roles(available)
    ]
    called = with_called_roles(judges, lambda role: roles_of(available, role))
    run_specs = {
        role: spec
        for role, spec in options.roles_of_run.items()
        if role in called and role not in options.roles
    }
    specs = {**run_specs, **options.roles}
    command = _command(options, selection, specs)
    for role, spec in run_specs.items():
        for name in hidden_names(spec.args):
            raise MissingError(
                f"{name} of this run's {role} is a secret and was not stored. Write it "
                f"in place of {HIDDEN}, or choose another {role}: {command}"
            )
    try:
        return Backends(specs, options.answer_limits)
    except (MissingError, UsageError) as error:
        if not run_specs:
            raise
        error_type = MissingError if isinstance(error, MissingError) else UsageError
        roles = ", ".join(run_specs)
        raise error_type(
            f"{sentence(error)} The run used this {roles}. Fix it or choose another, "
            f"then run: {command}"
        ) from None


def _command(
    options: RescoreOptions, selection: Selection, specs: Mapping[str, BackendSpec]
) -> str:
    words = [score_command(options.folder, selection.tasks, specs)]
    if options.metrics:
        words.append(f"--metrics {','.join(options.metrics)}")
    if options.overrides.profile:
        words.append(f"--profile {options.overrides.profile}")
    if options.overrides.refusals:
        words.append(f"--refusals {options.overrides.refusals}")
    return " ".join(words)
