"""The verdicts of a judge that a run folder keeps, as rows.

A run that was scored by several judges has a score set for each. A set belongs to a
judge if its definition names the judge's model as a role of the metric.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmeval.aggregate.scores import Scores
from mmeval.backend.contract import model_name_of
from mmeval.errors import UsageError, did_you_mean
from mmeval.metric.scoring.stored_trials import stored_trial
from mmeval.metric.scoring.verdict_log import FILE as VERDICTS
from mmeval.records.digests import digest
from mmeval.records.sample import Sample
from mmeval.results.compare import metrics_of, name_of
from mmeval.results.stored_run import StoredRun, StoredTask
from mmeval.results.task_results import fill
from mmeval.store.answer_draw import DrawnSamples, SampleName, kept_draw
from mmeval.store.paths import trial_key
from mmeval.store.spending import CallTotals
from mmeval.store.task_records import recorded_trials
from mmeval.system.json_lines import read_rows
from mmeval.system.wording import file_name, listed
from mmeval.trust.records import Draw, ScoreRow
from mmeval.trust.run_scores import trial_name

_ALL = Draw(how="all")
_UNKNOWN = Draw()


@dataclass(frozen=True)
class RunJudges:
    """The verdicts of a run by the judges of one number.

    ``name`` is the name of the run in rows.
    """

    run: StoredRun
    name: str
    number: str

    @property
    def tasks(self) -> list[StoredTask]:
        """The tasks that have the number."""
        tasks = []
        for name, config in self.run.record.get("tasks", {}).items():
            if self.metric(name):
                tasks.append(StoredTask(name, config, self.run.folder, None))
        return tasks

    def metric(self, task: str) -> str:
        """Returns the metric that computes the number of a task, or an empty string."""
        return name_of(self.run.ours, task, self.number)

    def judges(self) -> list[str]:
        """Returns the judges that have verdicts."""
        judges: set[str] = set()
        for task in self.tasks:
            for score_set in score_sets_of(task):
                judges |= judges_in(score_set.plan, self.metric(task.name))
        return sorted(judges)

    def score_sets(self, judge: str) -> dict[str, Path]:
        """Returns the score set of a judge, by task.

        If a task has several, the result is the one with the most verdicts; of two with
        equally many, the newer one.
        """
        folders: dict[str, Path] = {}
        for task in self.tasks:
            metric = self.metric(task.name)
            ranked: list[tuple[int, float, Path]] = []
            for score_set in score_sets_of(task):
                folder = score_set.score_set
                if folder is not None and judge in judges_in(score_set.plan, metric):
                    count = sum(1 for _ in score_set.score_rows())
                    ranked.append((count, folder.stat().st_mtime, folder))
            if ranked:
                folders[task.name] = max(ranked)[-1]
        return folders

    def definition(self, task: str, score_set: Path) -> Mapping[str, Any]:
        """Returns how a score set defines the metric, without its judge."""
        stored = StoredTask(task, {}, self.run.folder, score_set)
        return definition_in(stored.plan, self.metric(task))

    def verdicts(self, judge: str, score_sets: Mapping[str, Path]) -> list[ScoreRow]:
        """Returns the verdicts in some score sets. Trials to which the metric does not
        apply are left out."""
        rows: list[ScoreRow] = []
        for task in self.tasks:
            if task.name in score_sets:
                stored = replace(task, score_set=score_sets[task.name])
                rows += self._verdicts(judge, stored)
        return rows

    def spent(self, judge: str, trials: Collection[str]) -> CallTotals:
        """Returns the calls and tokens that a judge needed for some trials."""
        calls = tokens_in = tokens_out = 0
        for task, score_set in self.score_sets(judge).items():
            stored = StoredTask(task, {}, self.run.folder, score_set)
            keys: set[int] = set()
            for row in stored.score_rows():
                if trial_name(task, row["s"], row["n"]) in trials:
                    keys.add(trial_key(row["i"], row["n"]))
            for _, row in read_rows(score_set / VERDICTS):
                is_of_metric = row["metric"] == self.metric(task)
                if is_of_metric and trial_key(row["i"], row["n"]) in keys:
                    calls += 1
                    tokens_in += row["usage"][0]
                    tokens_out += row["usage"][1]
        return CallTotals(
            answered=calls, input_tokens=tokens_in, output_tokens=tokens_out
        )

    def _verdicts(self, judge: str, task: StoredTask) -> Iterator[ScoreRow]:
        definition = definition_in(task.plan, self.metric(task.name))
        samples = {row["i"]: row["d"] for row in task.sample_rows()}
        column = Scores()
        kept = list(task.score_rows())
        fill({self.number: column}, kept)
        for row, score in zip(kept, column, strict=True):
            if score.status == "inapplicable":
                continue
            yield ScoreRow(
                trial=trial_name(task.name, score.sample, score.repeat),
                metric=judge,
                value=score.value,
                sample=f"{task.name}/{score.sample}",
                cluster=f"{task.name}/{score.cluster}",
                task=task.name,
                run=self.name,
                digest=row["d"],
                question=question(definition, samples.get(row["i"], "")),
            )

    def answers(
        self, judge: str, definitions: Mapping[str, Mapping[str, Any]]
    ) -> list[ScoreRow]:
        """Returns a row without a verdict for each answer that the run has now.

        ``definitions`` say how ``judge`` is asked, by task.
        """
        rows: list[ScoreRow] = []
        for task in self.tasks:
            if task.name not in definitions:
                continue
            samples = {row["i"]: row for row in task.sample_rows()}
            latest: dict[int, Mapping[str, Any]] = {}
            for recorded in recorded_trials(self.run.folder, task.name):
                latest[trial_key(recorded["i"], recorded["n"])] = recorded
            for row in latest.values():
                if row["i"] not in samples:
                    continue
                sample_row = samples[row["i"]]
                sample = str(sample_row["sample"]["id"])
                asked = question(definitions[task.name], sample_row["d"])
                rows.append(
                    ScoreRow(
                        trial=trial_name(task.name, sample, row["n"]),
                        metric=judge,
                        value=None,
                        sample=f"{task.name}/{sample}",
                        task=task.name,
                        run=self.name,
                        digest=self._digest(row, sample_row["sample"]),
                        question=asked,
                    )
                )
        self.run.close()
        return rows

    def _digest(self, row: Mapping[str, Any], sample_row: Mapping[str, Any]) -> str:
        """Returns the recorded digest of a trial, or another one if it is not that of
        the answer in the journal.

        Only trials of one call are compared. The digest of any other covers failed
        calls, which are not kept.
        """
        recorded = str(row["d"])
        is_plain = len(row["x"]) == 1 and not row.keys() & {"output", "failed", "error"}
        if not is_plain:
            return recorded
        journal = self.run.journal
        sample = Sample.from_json(sample_row, journal.media.root)
        trial = stored_trial(row, sample, journal)
        if trial.error is not None or trial.digest == recorded:
            return recorded
        return digest([recorded, trial.digest])


def question(definition: Mapping[str, Any], sample_digest: str) -> str:
    """Returns a digest of what a judge is asked about a sample's answers."""
    return digest([definition, sample_digest])


def definition_in(plan: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """Returns how a score set's plan defines a metric, without its judge."""
    for entry in plan.get("metrics", ()):
        if entry["metric"] == metric:
            definition = {key: entry[key] for key in entry if key != "roles"}
            definition["task_version"] = plan["task_version"]
            return definition
    return {}


def judged_number(runs: Collection[StoredRun], wanted: str) -> str:
    """Returns the number that a judge gives in all runs.

    ``wanted`` chooses one of several. Raises UsageError if it is unclear.
    """
    numbers: dict[str, None] = {}
    for run in runs:
        for task in run.record.get("tasks", {}):
            for name, metric in metrics_of(run.ours, task).items():
                outputs = metric.get("outputs") or (name,)
                if metric.get("judged"):
                    main = [name] if name in outputs else outputs[:1]
                    chosen = [wanted] if wanted in outputs else main
                    numbers.update(dict.fromkeys(chosen))
    known = list(numbers)
    if wanted in numbers:
        return wanted
    if wanted:
        raise UsageError(
            f"no judge gives {wanted!r}{did_you_mean(wanted, known)}; the judged "
            f"metrics are: {listed(known, 10) or 'none'}",
            name=wanted,
            known=known,
        )
    if not known:
        raise UsageError("no metric of these runs has a judge and results")
    if len(known) > 1:
        raise UsageError(
            f"several metrics have a judge: {listed(known, 10)}; choose one of them "
            "with --metric"
        )
    return known[0]


def drawn_rows(
    rows: Collection[ScoreRow],
    answers: Collection[ScoreRow],
    score_sets: Mapping[str, Path],
) -> list[ScoreRow]:
    """Returns the verdicts of kept score sets, with the draw that each set states.

    A set without a draw covers all answers, or its draw is unknown. Raises UsageError
    if drawn samples have no verdict yet.
    """
    drawn: list[ScoreRow] = []
    for task, score_set in score_sets.items():
        of_task = [row for row in rows if row.task == task]
        samples_with_row = {row.sample for row in of_task}
        samples = {row.sample for row in answers if row.task == task}
        draw = kept_draw(score_set)
        if samples <= samples_with_row:
            drawn += [replace(row, draw=_ALL) for row in of_task]
        elif draw is None:
            drawn += [replace(row, draw=_UNKNOWN) for row in of_task]
        else:
            chosen = {f"{task}/{sample}" for sample in draw.samples}
            missing = len(chosen - samples_with_row)
            if missing:
                raise UsageError(
                    f"{missing:,} of {len(chosen):,} drawn samples of {task} have no "
                    "verdict yet; add --sample N, which asks for them"
                )
            how = Draw("random", draw.probability, seed=draw.seed)
            for row in of_task:
                if row.sample in chosen:
                    drawn.append(replace(row, draw=how))
    return drawn


def rows_of_draw(rows: Collection[ScoreRow], draw: DrawnSamples) -> list[ScoreRow]:
    """Returns the verdicts on drawn samples. Other verdicts are left out."""
    how = Draw("random", draw.probability, seed=draw.seed)
    drawn = []
    for row in rows:
        if sample_name(row) in draw.samples:
            drawn.append(replace(row, draw=how))
    return drawn


def sample_name(row: ScoreRow) -> SampleName:
    """Returns the names of a row's task and sample."""
    return row.task, row.sample.removeprefix(f"{row.task}/")


def score_sets_of(task: StoredTask) -> Iterator[StoredTask]:
    """Yields a task once for each of its score sets."""
    for folder in sorted((task.folder / "scores" / file_name(task.name)).glob("*/")):
        yield replace(task, score_set=folder)


def judges_in(plan: Mapping[str, Any], metric: str) -> set[str]:
    """Returns the judges that a score set's plan names for a metric."""
    judges: set[str] = set()
    for entry in plan.get("metrics", ()):
        if entry["metric"] == metric:
            identities = entry.get("roles", {}).values()
            judges.update(model_name_of(identity) for identity in identities)
    return judges
