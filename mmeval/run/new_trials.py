"""The source and the progress of trials in a run that calls the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from mmeval import plugins
from mmeval.broker.broker import Broker
from mmeval.broker.replay import ReplayState
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.render import RemedyTarget
from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.program.calls import MODEL
from mmeval.run.availability import log_findings
from mmeval.run.costs.prices import Prices
from mmeval.run.generation import Generation
from mmeval.run.jobs import JobQueue
from mmeval.run.kept.key import media_folders, outcome_key
from mmeval.run.losses import data_faults, lost_answers, unasked_findings
from mmeval.run.options import RunCounts, RunOptions
from mmeval.run.outcome import score_folders
from mmeval.run.preparation import (
    BEFORE,
    check_folder,
    check_merged,
    model_name,
    other_folders,
    prepare_run,
    run_identity,
    run_path,
)
from mmeval.run.progress import Progress, RunTally, opening
from mmeval.run.source import Conclusion, OpenRun, TrialSource
from mmeval.run.suspension import Suspension, score_command
from mmeval.run.task_run import TaskRun, task_run
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import trial_key
from mmeval.store.response_cache import ResponseCache
from mmeval.store.run_folder import (
    ASKED_AGAIN,
    RunFolder,
    check_others,
    continue_command,
    provenance,
    set_aside,
)
from mmeval.store.shard import as_progressions, shards_of
from mmeval.store.task_records import recorded_trials, tally
from mmeval.task.task import Selection, Task

MOST_COUNTED = 200
"""Number of trials up to which all trials of a new run are inspected before it."""


class NewTrials(TrialSource):
    """The source of the trials of a run that calls the model.

    Raises UsageError or MissingError if the run cannot start.
    """

    makes_trials = True

    def __init__(
        self,
        selection: Selection,
        options: RunOptions,
        progress: Progress,
        place: RemedyTarget,
        media: MediaStore,
    ) -> None:
        self._selection = selection
        self._options = options
        self._progress = progress
        self._place = place
        self._path = run_path(options)
        self.backends, self._jobs, findings = prepare_run(selection, options, media)
        if options.chooses_samples:  # else the results state it
            findings = (*findings, *self._jobs.fewer())
        self._data_findings = findings
        self._identity = run_identity(self.backends, options)
        self.roles = self.backends.besides_model
        self.data = self._jobs.data()
        self.most_trials = self._jobs.total()
        self.others = other_folders(options)
        self.batch_size = options.batch_size

    def key(self, prices: Prices) -> str:
        options = self._options
        is_whole_run = options.shard is None and not shards_of(self._path)
        if not is_whole_run or options.fresh or not options.settings:
            return ""
        data = {}
        for task in self._selection:
            folders = media_folders(self._jobs.first(task))
            data[task.name] = {**self.data[task.name], "media": folders}
        return outcome_key(
            options=options.settings,
            identity=self._identity,
            selection=self._selection,
            data=data,
            backends=self.backends,
            prices=prices,
        )

    def reuse(self, counts: RunCounts) -> None:
        log_findings(BEFORE, self._data_findings, self._place)
        self._progress.note(opening(kept=counts.kept, new=0, since=counts.since))

    def claim(self) -> RunFolder:
        check_others(self.others, self._identity)
        if not self._options.fresh:
            check_merged(self._options, RunFolder.read_record(self._path))
        elif (earlier := set_aside(self._path)) is not None:
            self._progress.note(f"starting over; the earlier run is kept in {earlier}")
        return RunFolder(self._path)

    def open(self, folder: RunFolder, journal: Journal) -> Broker:
        options = self._options
        own_answers = len(journal) - journal.of_others
        check_folder(options, folder.record, self._identity, own_answers)
        findings = list(self._data_findings)
        for task in folder.changed_data(self.data):
            cause = (
                "the data have changed since this run started; unchanged samples keep "
                "their answers"
            )
            findings.append(Finding("other_definition", Subject(task), cause=cause))
        log_findings(BEFORE, findings, self._place)
        origin: dict[str, Any] = provenance()
        origin["metric_device"] = options.metric_device
        for role, backend in self.backends.named.items():
            origin[role] = dict(backend.provenance)
        recorded_options: dict[str, Any] = {
            "model": options.model.name,
            "model_name": model_name(options),
            "limit": options.limit,
        }
        if options.shard is not None:
            recorded_options["shard"] = str(options.shard)
        selection = self._selection
        folder.describe(
            identity=self._identity,
            provenance=origin,
            tasks={task.name: dict(task.config) for task in selection},
            groups={group.name: asdict(group) for group in selection.groups},
            left_out={task.name: task.finding.to_json() for task in selection.left_out},
            data=self.data,
            options=recorded_options,
            settings=options.settings,
            command=options.command,
        )
        cache = None
        if options.use_cache is not None:
            cache = ResponseCache(options.use_cache)
        return Broker(
            journal,
            seed=options.seed,
            nonce=folder.record["nonce"],
            cache=cache,
            reasoning_tags=options.reasoning_tags,
        )

    def task_run(self, task: Task, plan: ScoringPlan) -> TaskRun:
        return task_run(
            self._path,
            task,
            plan,
            self.backends.named,
            self.backends.params,
            data=self.data[task.name]["fingerprint"],
            scoring=not self._options.predict_only,
        )

    def begin(self, run: OpenRun) -> NewTrialsRun:
        # One slot for each call in flight is enough. One thread handles all prompts
        # and answers, so further slots would only wait.
        model = run.broker.roles[MODEL].role
        generation = Generation(
            run.tasks,
            run.broker,
            run.scorer,
            run.progress,
            slots=lambda: model.width,
            judge_patience=self._options.judge_patience,
        )
        before = _standing_before(run, self._jobs, generation)
        run.progress.start(before.total(), before["kept"])
        return NewTrialsRun(
            run,
            self._selection,
            self._options,
            self._jobs,
            work=generation,
            before=before,
        )


def _standing_before(
    run: OpenRun, jobs: JobQueue, generation: Generation
) -> Counter[ReplayState]:
    """Counts trials by their state at the start of this process; reports the counts.

    Every trial is inspected if the run is resumed or small. Otherwise only the first
    samples are inspected, since reading all data would delay the first call.
    """
    journal = run.broker.journal
    earlier_sessions = len(run.folder.record["sessions"]) - 1
    is_resumed = len(journal) > 0 or earlier_sessions > 0
    is_counted = is_resumed or jobs.total() <= MOST_COUNTED
    first_samples: Counter[ReplayState] = Counter()
    before: Counter[ReplayState] = Counter({"open": jobs.total()})
    if is_counted:
        before = generation.kept_before(jobs.readable())
    elif jobs.counted:
        first_samples = generation.kept_before(jobs.ahead())
    run.progress.note(
        opening(
            kept=before["kept"],
            new=before["open"],
            since=journal.since,
            # tasks may share requests, which are sent once
            exact=jobs.counted and (is_resumed or len(jobs.tasks) == 1),
            unaskable=before["unaskable"],
            some_unaskable=first_samples["unaskable"] > 0,
            none_known=first_samples["unaskable"] > 0 and not first_samples["open"],
        )
    )
    return before


class NewTrialsRun:
    """Runs and scores the trials of a run.

    ``before`` contains the number of trials by their state when this process started.
    """

    def __init__(
        self,
        run: OpenRun,
        selection: Selection,
        options: RunOptions,
        jobs: JobQueue,
        *,
        work: Generation,
        before: Counter[ReplayState],
    ) -> None:
        self.work = work
        self._run = run
        self._selection = selection
        self._options = options
        self._jobs = jobs
        self._before = before

    @property
    def tally(self) -> RunTally:
        return self.work.tally

    @property
    def suspension(self) -> Suspension:
        return self.work.suspension

    async def run(self) -> None:
        is_settled = self.work.settled == self._before.total()
        # without trials to make or score, the data need not be read again
        has_work = not is_settled or bool(self._jobs.faults)
        await self.work.run(self._jobs.readable() if has_work else iter(()))

    def so_far(self) -> str:
        kept = self._before["kept"]
        # some kept trials may not have been reached yet
        made = kept + self.tally.made - self.tally.kept
        return f"{made:,} of {self._before.total():,} trials are made"

    def conclude(self) -> Conclusion:
        """Concludes the run. Raises the error of the data if no trial could be run."""
        jobs, faults, tally = self._jobs, self._jobs.faults, self.tally
        options, folder = self._options, self._run.folder
        if faults and not tally.made:
            raise next(iter(faults.values())).error
        if not faults:
            notes = {**self._shard_note(), **self._asked_again()}
            folder.note(finished=True, **notes)
        again = ""
        if not plugins.any_of_script():  # other processes do not have these plugins
            recorded = options.roles if options.settings else ()
            again = score_command(folder.path, self._selection, options.roles, recorded)
        answer_notes = list(tally.answer_notes.findings())
        answered = tally.kept + tally.new
        has_metrics = any(task.metrics for task in self._selection)
        if answered and has_metrics and options.predict_only:
            not_scored = Finding(
                "unscored",
                count=answered,
                of=tally.made,
                cause="--predict_only: the answers are not scored",
                remedy="mmeval score {RUN}",
                severity="note",
            )
            answer_notes.append(not_scored)
        return Conclusion(
            chosen=jobs.chosen,
            again=again,
            losses=(
                *data_faults(faults),
                *lost_answers(tally, continue_command(options.command)),
                *unasked_findings(tally),
            ),
            answer_notes=tuple(answer_notes),
            subsets=jobs.subsets(),
            unfinished=jobs.unfinished(),
        )

    def _asked_again(self) -> dict[str, Any]:
        """Records that the calls of damaged journal lines were sent again.

        The repeated calls are known only once the run has all its trials, since a
        damaged line does not state its call.
        """
        damaged = self._run.broker.journal.damaged
        record = self._run.folder.record
        if not damaged or not self._has_all(record):
            return {}
        digests = {line.digest for line in damaged}
        digests.update(record.get(ASKED_AGAIN, ()))
        return {ASKED_AGAIN: sorted(digests)}

    def _has_all(self, record: Mapping[str, Any]) -> bool:
        """Returns True if this command covers all trials in the run folder."""
        own_tasks = {task.name for task in self._selection}
        if self._options.shard is not None or not own_tasks.issuperset(record["tasks"]):
            return False
        for run in self._run.tasks:
            run.records.flush()
            chosen = self._jobs.chosen[run.task.name]
            for row in recorded_trials(self._run.folder.path, run.task.name):
                if not chosen(row["i"], row["n"]):  # such as further repeats
                    return False
        return True

    def _shard_note(self) -> dict[str, Any]:
        """Returns the notes of a shard that the results of the whole run need."""
        shard, run = self._options.shard, self._run
        if shard is None:
            return {}
        trials, chosen = {}, {}
        for task in run.tasks:
            name = task.task.name
            taken, repeats = self._jobs.chosen[name].taken, task.task.repeats
            chosen[name] = as_progressions(sorted(taken))
            shard_samples = frozenset(shard.share_of(taken))
            task.records.flush()
            latest = {}
            for row in recorded_trials(run.folder.path, name):
                if row["i"] in shard_samples and row["n"] < repeats:
                    latest[trial_key(row["i"], row["n"])] = row["d"]
            trials[name] = tally(latest)
        segments = run.folder.journal.glob("*.jsonl")
        subsets = self._jobs.subsets()
        folders = score_folders(run.tasks)
        note = {
            "trials": trials,
            "journal": {file.name: file.stat().st_size for file in segments},
            "chosen": chosen,
            "subsets": {name: subset.to_json() for name, subset in subsets.items()},
            "score_sets": {name: folder.name for name, folder in folders.items()},
            "metric_device": run.metric_device,
        }
        return {"shard": note}
