"""Asks a judge about kept answers of a run, unchanged and changed.

The judge is asked as ``mmeval score`` asks it: with the same prompts, journal, budget
and retries. It is not asked again for verdicts that are kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval.errors import UsageError
from mmeval.records.digests import digest
from mmeval.records.trial import Trial
from mmeval.results.compare import metrics_of
from mmeval.results.stored_run import StoredTask
from mmeval.run.options import RunOutcome
from mmeval.store.spending import CallTotals
from mmeval.system.folders import write_atomic
from mmeval.trust.audit.audit import Audit
from mmeval.trust.audit.calls import (
    DRIFT,
    LENGTH,
    LOOKING,
    RATED,
    SELF,
    TEXT_SIDE,
    Call,
)
from mmeval.trust.audit.certificate import Certificate, write_certificate
from mmeval.trust.audit.changed_answers import AGAIN, CHANGES
from mmeval.trust.audit.changed_run import ChangedRun, ChangedTrial
from mmeval.trust.audit.criteria import media_criteria
from mmeval.trust.audit.questions import Asked, JudgedTask, Questions, new_calls
from mmeval.trust.audit.rated_calls import (
    Label,
    ScoredAnswer,
    first_two_ratings,
    length_calls,
    self_calls,
)
from mmeval.trust.audit.verdicts import NO_VERDICT, Place, Verdict, verdicts_in
from mmeval.trust.correction.rated_trials import Range
from mmeval.trust.kept_answers import KeptAnswer, kept_answers
from mmeval.trust.kept_verdicts import (
    RunJudges,
    definition_in,
    judges_in,
    score_sets_of,
)
from mmeval.trust.new_judge import AskedJudge, ask_about_answers
from mmeval.trust.records import Rating
from mmeval.trust.run_scores import trial_name

CALLS = "calls.jsonl"
"""The file of the verdicts of the last audit, in the form that ``--from`` reads."""
NO_ORDER = "the metric shows the judge no pair whose order can be turned; use --from"
NOT_RATED = "no answer of the run has a rating that is a number"
NO_FAMILY = "name the label of answers of the judge's own family with --own"
SAME_VERSION = "all verdicts are of one day and one version of the judge"
_DIGITS = 16


@dataclass
class AuditedRun:
    """A run whose judge is audited.

    ``limits`` is the range of the judge's scores. ``ratings`` are those of people, and
    ``own`` is the label of answers of the judge's own family.
    """

    judges: RunJudges
    judge: AskedJudge
    checks: Sequence[str]
    limits: Range
    report: Callable[[RunOutcome], None]
    ratings: Sequence[Rating] = ()
    own: Label | None = None
    exit_code: int = field(default=0, init=False)
    _definitions: dict[str, Any] = field(default_factory=dict, init=False)
    """How the judge was asked, by task: its model, its prompts and its switches."""

    def __post_init__(self) -> None:
        tasks = [task.name for task in self.judges.tasks]
        self._answers = kept_answers(self.judges.run, tasks, self.judge.draw)
        if not self._answers:
            raise UsageError(f"{self.judges.run.folder} has no answer to audit with")
        changes = [check for check in self.checks if check in CHANGES]
        self._asks_again = bool(changes) or DRIFT in self.checks
        changes = [check for check in changes if check != AGAIN]
        self._changed = ChangedRun(self.judges.run, self._answers, changes)

    @property
    def answers(self) -> int:
        """The number of answers."""
        return len(self._answers)

    def calls_to_make(self) -> dict[str, int]:
        """Returns the number of calls that ``ask`` would make, by check. The plain
        verdicts are named ``first``."""
        first = self._kept_verdicts(self.judges.run.folder)
        made = self._kept_verdicts(self._changed.folder)
        plain = []
        for answer, questions in zip(self._answers, self._plain_questions, strict=True):
            is_settled = first.get(_place(answer), NO_VERDICT).is_settled
            plain.append(Asked("first", questions, is_settled))
        changed = []
        questions_of = self._changed_questions if self._asks_again else {}
        for trial, questions in questions_of.items():
            is_settled = made.get(_position(trial), NO_VERDICT).is_settled
            changed.append(Asked(trial.check, questions, is_settled))
        # another seed is used for changed answers, so that these share no call with
        # the plain ones
        counts = new_calls(plain) + new_calls(changed)
        shown = dict.fromkeys(("first", AGAIN, *self.checks))
        return {check: counts[check] for check in shown}

    def spending(self, calls: int) -> CallTotals:
        """Returns the calls with their tokens, as many a call as any judge of the run
        needed."""
        known = CallTotals()
        trials = []
        for answer in self._answers:
            trials.append(_trial_name(answer))
        for judge in self.judges.judges():
            known += self.judges.spent(judge, trials)
        share = calls / known.answered if known.answered else 0.0
        return CallTotals(
            answered=calls,
            input_tokens=round(known.input_tokens * share),
            output_tokens=round(known.output_tokens * share),
        )

    def ask(self) -> list[Call]:
        """Asks the judge, and returns its verdicts, on a scale from 0 to 1.

        Raises the errors of ``rescore``.
        """
        sets = self.judge.ask(self.judges)
        self.exit_code = self.judge.exit_code
        first = self._verdicts(self.judges.run.folder, sets)
        self._definitions = self._asked_with(sets)

        changed: Mapping[Place, Verdict] = {}
        if self._asks_again:
            changed = self._ask_about_changes()
        calls = [*self._calls(first, changed), *self._rated_calls(first)]
        lines = [
            f"{json.dumps(call.to_json(), ensure_ascii=False)}\n" for call in calls
        ]
        self._changed.folder.mkdir(parents=True, exist_ok=True)
        write_atomic(self._changed.folder / CALLS, "".join(lines).encode())
        return calls

    def reasons(self) -> Mapping[str, str]:
        """Returns why a check has no trial, by check, after ``ask``."""
        return {
            "order": NO_ORDER,
            LENGTH: NOT_RATED,
            SELF: NOT_RATED if self.own else NO_FAMILY,
            DRIFT: SAME_VERSION,
        }

    def _ask_about_changes(self) -> dict[Place, Verdict]:
        self._changed.write()
        options = self.judge.options_of(self.judges)
        metrics = dict.fromkeys(map(self.judges.metric, self._tasks))
        of_changed = replace(
            options,
            folder=self._changed.folder,
            metrics=tuple(metrics),
            draw=None,
            indices=self._changed.indices,
        )
        outcome = ask_about_answers(of_changed, self.report)
        self.exit_code = self.exit_code or outcome.exit_code
        return self._verdicts(self._changed.folder, outcome.score_sets)

    def certify(self, result: Audit) -> Path:
        """Writes the certificate of the judge, after ``ask``, and returns the page.

        Raises StorageError.
        """
        samples = {}
        for answer in self._answers:
            samples[answer.task, answer.sample.id] = answer.sample.digest
        named = [[*name, samples[name]] for name in sorted(samples)]
        certificate = Certificate(
            judge=self.judge.name,
            metric=self.judges.number,
            tasks=tuple(self._tasks),
            samples=len(samples),
            answers=self.answers,
            digest=digest([self._definitions, named])[:_DIGITS],
            audit=result,
        )
        return write_certificate(certificate, self.judges.run.folder)

    @property
    def _tasks(self) -> list[str]:
        return [task.name for task in self.judges.tasks]

    def _calls(
        self, first: Mapping[Place, Verdict], changed: Mapping[Place, Verdict]
    ) -> Iterator[Call]:
        again: dict[int, Verdict] = {}
        for trial in self._changed.trials:
            if trial.check == AGAIN:
                again[trial.place] = changed.get(_position(trial), NO_VERDICT)
        if DRIFT in self.checks:
            yield from self._drift_calls(first, again)
        for trial in self._changed.trials:
            if trial.check not in self.checks or not self._is_noticeable(trial):
                continue
            answer = self._answers[trial.place]
            plain = first.get(_place(answer), NO_VERDICT)
            later = again.get(trial.place, NO_VERDICT)
            verdict = changed.get(_position(trial), NO_VERDICT)
            side = ""
            names = self._media_criteria(answer)
            if trial.check in LOOKING and names is not None:
                plain, later = plain.about(names), later.about(names)
                verdict = verdict.about(names)
                side = "" if names else TEXT_SIDE
            yield Call(
                check=trial.check,
                trial=_trial_name(answer),
                cluster=self._cluster(answer, plain),
                first=self._share(plain),
                again=self._share(later),
                changed=self._share(verdict),
                is_unsure=verdict.is_unsure,
                side=side,
                form=trial.form,
            )

    def _media_criteria(self, answer: KeptAnswer) -> frozenset[str] | None:
        """Returns the criteria of an answer's rubric that are not about text alone, or
        None without a rubric."""
        metric = self.judges.metric(answer.task)
        described = metrics_of(self.judges.run.ours, answer.task)[metric]
        label = described.get("switches", {}).get("criteria")
        return media_criteria(answer.sample.metadata.get(label)) if label else None

    def _drift_calls(
        self, first: Mapping[Place, Verdict], again: Mapping[int, Verdict]
    ) -> Iterator[Call]:
        """Yields the verdicts on answers that were judged on another day, or by another
        version of the judge, than the second time."""
        for place, later in again.items():
            answer = self._answers[place]
            earlier = first.get(_place(answer), NO_VERDICT)
            if earlier.versions and later.versions - earlier.versions:
                yield Call(
                    DRIFT,
                    trial=_trial_name(answer),
                    cluster=self._cluster(answer, earlier),
                    first=self._share(earlier),
                    changed=self._share(later),
                )

    def _cluster(self, answer: KeptAnswer, verdict: Verdict) -> str:
        return f"{answer.task}/{verdict.cluster or answer.sample.id}"

    def _rated_calls(self, first: Mapping[Place, Verdict]) -> Iterator[Call]:
        """Yields the verdicts on answers that people rated."""
        if not RATED.intersection(self.checks):
            return
        names = {self.judges.number, *map(self.judges.metric, self._tasks)}
        rated = first_two_ratings(self.ratings, self.judges.run, names)

        scored = []
        for answer in self._answers:
            verdict = first.get(_place(answer), NO_VERDICT)
            cluster = self._cluster(answer, verdict)
            scored.append(ScoredAnswer(answer, self._share(verdict), cluster))
        if LENGTH in self.checks:
            yield from length_calls(scored, rated)
        if SELF in self.checks and self.own is not None:
            yield from self_calls(scored, rated, self.own)

    def _is_noticeable(self, trial: ChangedTrial) -> bool:
        """Returns False if the judge is asked the same about the changed answer as
        about the plain one, such as by a criterion about its text."""
        if trial.check == AGAIN:
            return True
        return self._changed_questions[trial] != self._plain_questions[trial.place]

    def _questions(self, answer: KeptAnswer) -> Questions:
        """Returns the calls about an answer."""
        trial = Trial(answer.sample, answer.repeat, output=answer.output)
        return self._judged_tasks[answer.task].questions(trial)

    @cached_property
    def _plain_questions(self) -> list[Questions]:
        return [self._questions(answer) for answer in self._answers]

    @cached_property
    def _changed_questions(self) -> dict[ChangedTrial, Questions]:
        questions = {}
        for trial, answer in self._changed.answers:
            questions[trial] = self._questions(answer)
        return questions

    @cached_property
    def _judged_tasks(self) -> dict[str, JudgedTask]:
        roles = self.judge.roles(self.judges)
        tasks = self.judge.tasks(self.judges)
        return {task.name: JudgedTask(task, roles) for task in tasks}

    def _asked_with(self, sets: Mapping[str, Path]) -> dict[str, Any]:
        definitions = {}
        for task, score_set in sets.items():
            plan = StoredTask(task, {}, self.judges.run.folder, score_set).plan
            metric = self.judges.metric(task)
            entries = [row for row in plan["metrics"] if row["metric"] == metric]
            definitions[task] = [entries, plan.get("role_params")]
        return definitions

    def _share(self, verdict: Verdict) -> float | None:
        if verdict.value is None:
            return None
        low, high = self.limits
        if not low <= verdict.value <= high:
            raise UsageError(
                f"the judge gave {verdict.value:g}, which is not in the range {low:g} "
                f"to {high:g}; state the range of its scores with --range"
            )
        return (verdict.value - low) / (high - low)

    def _verdicts(
        self, folder: Path, score_sets: Mapping[str, Path]
    ) -> dict[Place, Verdict]:
        return verdicts_in(folder, score_sets, self.judges)

    def _kept_verdicts(self, folder: Path) -> dict[Place, Verdict]:
        """Returns the judge's verdicts in a run folder by the prompts of this audit."""
        definitions = self.judge.definitions(self.judges)
        sets = {}
        for task in self._tasks:
            metric = self.judges.metric(task)
            for stored in score_sets_of(StoredTask(task, {}, folder, None)):
                # by digests, as a kept definition has lists in place of tuples
                of_set = digest(definition_in(stored.plan, metric))
                is_alike = of_set == digest(definitions[task])
                is_of_judge = self.judge.name in judges_in(stored.plan, metric)
                if stored.score_set and is_alike and is_of_judge:
                    sets[task] = stored.score_set
        return self._verdicts(folder, sets)


def _trial_name(answer: KeptAnswer) -> str:
    return trial_name(answer.task, answer.sample.id, answer.repeat)


def _place(answer: KeptAnswer) -> Place:
    return answer.task, answer.index, answer.repeat


def _position(trial: ChangedTrial) -> Place:
    return trial.task, trial.sample_index, trial.repeat
