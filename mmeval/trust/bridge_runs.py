"""Carries numbers of runs over to a new judge, from the verdicts in their folders.

The old judge is never asked. The new judge is asked about the same random sample of
kept answers in each run, or its kept verdicts are used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mmeval.errors import UsageError, did_you_mean
from mmeval.run.rescore.drawn_trials import places_of
from mmeval.store.answer_draw import AnswerDraw, DrawnSamples
from mmeval.system.wording import listed
from mmeval.trust.bridge import (
    FEWEST_VERDICTS,
    OLD_MISSING,
    OTHER_QUESTIONS,
    Bridge,
    bridge,
)
from mmeval.trust.kept_verdicts import (
    RunJudges,
    drawn_rows,
    rows_of_draw,
    sample_name,
)
from mmeval.trust.records import ScoreRow


class NewJudge(Protocol):
    """A judge that can be asked about the answers of a run."""

    draw: AnswerDraw

    def definitions(self, run: RunJudges) -> Mapping[str, Mapping[str, Any]]:
        """Returns how the judge is asked, by task."""

    def ask(self, run: RunJudges) -> Mapping[str, Path]:
        """Asks about the drawn answers that have no verdict yet.

        Returns the judge's score set, by task.
        """


@dataclass(frozen=True)
class _Run:
    """A run with the rows of the old judge, and with rows for all its answers."""

    judges: RunJudges
    old: Sequence[ScoreRow]
    answers: Sequence[ScoreRow]
    new_sets: Mapping[str, Path]
    """The score sets of the new judge, if it is not asked."""

    def drawn(self, draw: AnswerDraw) -> DrawnSamples:
        tasks = list({row.task: None for row in self.answers})
        return draw.of(places_of(self.judges.run.folder, tasks))

    def with_verdicts(self, verdicts: Collection[ScoreRow]) -> list[ScoreRow]:
        """Returns the rows of both judges. Answers without a verdict keep their empty
        rows, because a changed answer is refused even if it was not drawn."""
        judged = {row.trial for row in verdicts}
        others = [row for row in self.answers if row.trial not in judged]
        return [*self.old, *verdicts, *others]


def bridge_runs(
    judges: Sequence[RunJudges],
    old: str,
    new: str,
    *,
    new_judge: NewJudge | None,
    assume_random: bool = False,
) -> Bridge:
    """Returns the numbers of runs in the new judge's scale.

    Without ``new_judge``, kept verdicts of ``new`` are used. What would be refused is
    refused before the judge is asked. Raises UsageError if verdicts are missing.
    """
    runs = [_run(of_run, old, new, new_judge) for of_run in judges]
    unlike = _unlike_questions(runs)
    if unlike:
        return Bridge(refused=OTHER_QUESTIONS, samples=unlike)

    unasked: list[ScoreRow] = []
    for run in runs:
        unasked += run.with_verdicts(())
    before = bridge(unasked, old, new)
    if before.refused:
        return before

    why = {of_run.run: of_run.why for of_run in before.runs}
    rows: list[ScoreRow] = []
    for run in runs:
        verdicts: list[ScoreRow] = []
        if why[run.judges.name] != OLD_MISSING:
            verdicts = _verdicts(run, new, new_judge)
        rows += run.with_verdicts(verdicts)
    return bridge(rows, old, new, assume_random=assume_random)


def drawn_answers(
    judges: Sequence[RunJudges], old: str, new: str, new_judge: NewJudge
) -> dict[str, set[str]]:
    """Returns the trials that the new judge would have to judge, by run, without those
    that it has judged already."""
    trials: dict[str, set[str]] = {}
    for of_run in judges:
        run = _run(of_run, old, new, new_judge)
        drawn = run.drawn(new_judge.draw)
        judged = set()
        for row in of_run.verdicts(new, of_run.score_sets(new)):
            if row.value is not None:
                judged.add(row.trial)
        to_judge = set()
        for row in run.answers:
            if sample_name(row) in drawn.samples and row.trial not in judged:
                to_judge.add(row.trial)
        trials[of_run.name] = to_judge
    return trials


def _run(judges: RunJudges, old: str, new: str, new_judge: NewJudge | None) -> _Run:
    old_sets = judges.score_sets(old)
    if not old_sets:
        raise _no_verdict(judges, old)
    new_sets: Mapping[str, Path] = {}
    if new_judge is None:
        new_sets = judges.score_sets(new)
        if not new_sets:
            raise _no_verdict(judges, new, "; add --sample N, which asks it")
        definitions = {}
        for task, score_set in new_sets.items():
            definitions[task] = judges.definition(task, score_set)
    else:
        definitions = dict(new_judge.definitions(judges))
    return _Run(
        judges,
        judges.verdicts(old, old_sets),
        judges.answers(new, definitions),
        new_sets,
    )


def _no_verdict(judges: RunJudges, judge: str, advice: str = "") -> UsageError:
    known = judges.judges()
    hint = did_you_mean(judge, known)
    its_judges = " Its judges are" if hint else "; its judges are"
    return UsageError(
        f"{judges.run.folder} has no verdict of {judge!r}{hint}{its_judges}: "
        f"{listed(known, 10) or 'none'}{advice}",
        name=judge,
        known=known,
    )


def _verdicts(run: _Run, new: str, new_judge: NewJudge | None) -> list[ScoreRow]:
    """Returns the new judge's verdicts on drawn answers, after asking for them."""
    if new_judge is None:
        kept = run.judges.verdicts(new, run.new_sets)
        return drawn_rows(kept, run.answers, run.new_sets)
    drawn = run.drawn(new_judge.draw)
    count = sum(sample_name(row) in drawn.samples for row in run.answers)
    if count < FEWEST_VERDICTS:  # nothing could be said, so nothing is paid
        return []
    score_sets = new_judge.ask(run.judges)
    return rows_of_draw(run.judges.verdicts(new, score_sets), drawn)


def _unlike_questions(runs: Sequence[_Run]) -> tuple[str, ...]:
    """Returns the samples about which runs were asked different questions."""
    questions: dict[str, str] = {}
    unlike: dict[str, None] = {}
    for run in runs:
        for row in run.old:
            if questions.setdefault(row.trial, row.question) != row.question:
                unlike[row.sample] = None
    return tuple(unlike)
