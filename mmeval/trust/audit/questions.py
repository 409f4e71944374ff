"""The calls that judging an answer takes, found without sending any.

A judge is asked equal questions once, so that two answers which look the same to the
metric share a call.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from mmeval.media.parts import Interleaved
from mmeval.metric.apply import score_judged
from mmeval.metric.bound import BoundMetric
from mmeval.program.calls import Call, Reply, Role, run_program
from mmeval.program.role_variants import BY_KIND, role_for
from mmeval.records.response import Response
from mmeval.records.trial import Trial
from mmeval.run.task_run import judged_metrics
from mmeval.task.task import Task

Question = tuple[str, str, int]
"""A call: its role, the digest of the request, and the number of equal calls before."""
Questions = frozenset[Question]


class Asked(NamedTuple):
    """The calls about an answer, for a check. ``is_settled`` is True if they were
    made."""

    check: str
    questions: Questions
    is_settled: bool


def new_calls(asked: Sequence[Asked]) -> Counter[str]:
    """Returns the number of calls that are still to be made, by check."""
    known: set[Question] = set()
    for row in asked:
        if row.is_settled:
            known |= row.questions
    counts: Counter[str] = Counter()
    for row in asked:
        counts[row.check] += len(row.questions - known)
        known |= row.questions
    return counts


class JudgedTask:
    """The judged metrics of a task, with the names of all roles."""

    def __init__(self, task: Task, roles: Collection[str]) -> None:
        self._task = task
        self._roles = roles
        self._metrics = judged_metrics(task)

    def questions(self, trial: Trial) -> Questions:
        """Returns the calls about a trial. If a question depends on the reply to an
        earlier one, they are the most that are possible."""
        questions: set[Question] = set()
        for metric in self._metrics:
            questions |= _questions(metric, trial, self._role)
        return frozenset(questions)

    def _role(self, name: str) -> Role:
        return role_for(name, self._task.roles, self._roles)


def _questions(
    metric: BoundMetric, trial: Trial, role: Callable[[str], Role]
) -> set[Question]:
    questions: set[Question] = set()
    occurrences: Counter[tuple[str, str]] = Counter()

    def reply(call: Call, path: str) -> Reply:
        name = (call.role, call.request.digest)
        questions.add((*name, occurrences[name]))
        occurrences[name] += 1
        words = call.example
        if call.role.partition(".")[0] in BY_KIND:
            # descriptions of two media differ, as replies with grades need not
            words = call.request.digest
        return Reply(Response(output=Interleaved.from_text(words)), path)

    # a plugin's metric may raise anything; the answer is then unscored
    with contextlib.suppress(Exception, SystemExit):
        run_program(score_judged(metric, trial, role), reply)
    return questions
