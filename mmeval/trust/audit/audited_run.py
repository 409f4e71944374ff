"""Asks a judge about kept answers of a run, unchanged and changed.

The judge is asked as ``mmeval score`` asks it: with the same prompts, journal, budget
and retries. What it said before is not asked again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import UsageError
from mmeval.records.digests import digest
from mmeval.records.trial import Trial
from mmeval.results.stored_run import StoredTask
from mmeval.run.options import RunOutcome
from mmeval.store.spending import CallTotals
from mmeval.system.folders import write_atomic
from mmeval.trust.audit.audit import Audit
from mmeval.trust.audit.calls import Call
from mmeval.trust.audit.certificate import Certificate, write_certificate
from mmeval.trust.audit.changed_answers import AGAIN
from mmeval.trust.audit.changed_run import ChangedRun, ChangedTrial
from mmeval.trust.audit.questions import JudgedTask, Questions
from mmeval.trust.correction.rated_trials import Range
from mmeval.trust.kept_answers import KeptAnswer, kept_answers
from mmeval.trust.kept_verdicts import RunJudges, judges_in, score_sets_of
from mmeval.trust.new_judge import AskedJudge, ask_about_answers
from mmeval.trust.run_scores import trial_name

CALLS = "calls.jsonl"
"""The file with what a judge said, in the form that ``audit --from`` reads."""
_DIGITS = 16
_Place = tuple[str, int, int]
"""A trial in a run folder: its task, the index of its sample, and the repeat."""


class _Verdict(NamedTuple):
    """A score on the scale of the metric, or None. ``is_unsure`` is True if the judge
    cannot tell."""

    value: float | None
    cluster: str = ""
    is_unsure: bool = False


_NO_VERDICT = _Verdict(None)


class _Asked(NamedTuple):
    """The calls about an answer. ``is_settled`` is True if they were made."""

    check: str
    questions: Questions
    is_settled: bool


@dataclass
class AuditedRun:
    """A run whose judge is audited, with the checks that ask the judge again.

    ``limits`` is the range of the judge's scores.
    """

    judges: RunJudges
    judge: AskedJudge
    checks: Sequence[str]
    limits: Range
    report: Callable[[RunOutcome], None]
    exit_code: int = field(default=0, init=False)
    _definitions: dict[str, Any] = field(default_factory=dict, init=False)
    """How the judge was asked, by task: its model, its prompts and its switches."""

    def __post_init__(self) -> None:
        tasks = [task.name for task in self.judges.tasks]
        self._answers = kept_answers(self.judges.run, tasks, self.judge.draw)
        if not self._answers:
            raise UsageError(f"{self.judges.run.folder} has no answer to audit with")
        asked = [check for check in self.checks if check != AGAIN]
        self._changed = ChangedRun(self.judges.run, self._answers, asked)

    @property
    def answers(self) -> int:
        """The number of answers."""
        return len(self._answers)

    def calls_to_make(self) -> dict[str, int]:
        """Returns the number of calls that ``ask`` would make, by check. The plain
        verdicts are named ``first``."""
        sets = self.judges.score_sets(self.judge.name)
        first = self._verdicts(self.judges.run.folder, sets)
        made = self._verdicts(self._changed.folder, self._changed_sets())
        plain = []
        for answer in self._answers:
            is_settled = _is_settled(first.get(_place(answer)))
            plain.append(_Asked("first", self._questions(answer), is_settled))
        changed = []
        for trial, questions in self._changed_questions.items():
            is_settled = _is_settled(made.get(_position(trial)))
            changed.append(_Asked(trial.check, questions, is_settled))
        # another seed is used for changed answers, so that these share no call with
        # the plain ones
        counts = _new_calls(plain) + _new_calls(changed)
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
        """Asks the judge, and returns what it said, on a scale from 0 to 1.

        Raises the errors of ``rescore``.
        """
        sets = self.judge.ask(self.judges)
        self.exit_code = self.judge.exit_code
        first = self._verdicts(self.judges.run.folder, sets)
        self._definitions = self._asked_with(sets)

        self._changed.write()
        options = self.judge.options_of(self.judges)
        metrics = dict.fromkeys(map(self.judges.metric, self._tasks))
        of_changed = replace(
            options,
            folder=self._changed.folder,
            metrics=tuple(metrics),
            draw=None,
        )
        outcome = ask_about_answers(of_changed, self.report)
        self.exit_code = self.exit_code or outcome.exit_code
        changed = self._verdicts(self._changed.folder, outcome.score_sets)
        calls = list(self._calls(first, changed))
        lines = [
            f"{json.dumps(call.to_json(), ensure_ascii=False)}\n" for call in calls
        ]
        write_atomic(self._changed.folder / CALLS, "".join(lines).encode())
        return calls

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
        self, first: Mapping[_Place, _Verdict], changed: Mapping[_Place, _Verdict]
    ) -> Iterator[Call]:
        again: dict[int, _Verdict] = {}
        for trial in self._changed.trials:
            if trial.check == AGAIN:
                again[trial.place] = changed.get(_position(trial), _NO_VERDICT)
        for trial in self._changed.trials:
            if trial.check not in self.checks or not self._is_noticeable(trial):
                continue
            answer = self._answers[trial.place]
            plain = first.get(_place(answer), _NO_VERDICT)
            verdict = changed.get(_position(trial), _NO_VERDICT)
            yield Call(
                check=trial.check,
                trial=_trial_name(answer),
                cluster=f"{answer.task}/{plain.cluster or answer.sample.id}",
                first=self._share(plain),
                again=self._share(again.get(trial.place, _NO_VERDICT)),
                changed=self._share(verdict),
                is_unsure=verdict.is_unsure,
                form=trial.form,
            )

    def _is_noticeable(self, trial: ChangedTrial) -> bool:
        """Returns False if the judge is asked the same about the changed answer as
        about the plain one, such as by a criterion about its text."""
        if trial.check == AGAIN:
            return True
        plain = self._questions(self._answers[trial.place])
        return self._changed_questions[trial] != plain

    def _questions(self, answer: KeptAnswer) -> Questions:
        """Returns the calls about an answer."""
        trial = Trial(answer.sample, answer.repeat, output=answer.output)
        return self._judged_tasks[answer.task].questions(trial)

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

    def _share(self, verdict: _Verdict) -> float | None:
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
        self, folder: Path, sets: Mapping[str, Path]
    ) -> dict[_Place, _Verdict]:
        verdicts = {}
        for task, score_set in sets.items():
            stored = StoredTask(task, {}, folder, score_set)
            for row in stored.score_rows():
                score = row["scores"].get(self.judges.number, {})
                is_scored = score.get("status") == "scored"
                verdicts[task, row["i"], row["n"]] = _Verdict(
                    score["value"] if is_scored else None,
                    row.get("cluster", ""),
                    score.get("cause") == "unsure",
                )
        return verdicts

    def _changed_sets(self) -> dict[str, Path]:
        """Returns the judge's score sets of changed answers, by task."""
        sets = {}
        for task in self._tasks:
            stored = StoredTask(task, {}, self._changed.folder, None)
            for score_set in score_sets_of(stored):
                of_metric = judges_in(score_set.plan, self.judges.metric(task))
                if score_set.score_set and self.judge.name in of_metric:
                    sets[task] = score_set.score_set
        return sets


def _trial_name(answer: KeptAnswer) -> str:
    return trial_name(answer.task, answer.sample.id, answer.repeat)


def _place(answer: KeptAnswer) -> _Place:
    return answer.task, answer.index, answer.repeat


def _position(trial: ChangedTrial) -> _Place:
    return trial.task, trial.sample_index, trial.repeat


def _is_settled(verdict: _Verdict | None) -> bool:
    if verdict is None:
        return False
    return verdict.is_unsure or verdict.value is not None


def _new_calls(asked: Sequence[_Asked]) -> Counter[str]:
    """Returns the number of calls that are still to be made, by check."""
    known: set[object] = set()
    for row in asked:
        if row.is_settled:
            known |= row.questions
    counts: Counter[str] = Counter()
    for row in asked:
        counts[row.check] += len(row.questions - known)
        known |= row.questions
    return counts
