"""The new judge of a bridge, which is asked as ``mmeval score`` asks a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mmeval.report.progress_bar import for_stderr
from mmeval.run.options import RescoreOptions, RunOutcome
from mmeval.run.rescore.rescorer import rescore
from mmeval.run.rescore.selection import stored_selection
from mmeval.run.task_run import score_definition
from mmeval.store.answer_draw import AnswerDraw
from mmeval.task.task import Task
from mmeval.trust.kept_verdicts import RunJudges, definition_in


@dataclass
class AskedJudge:
    """A judge that is asked about drawn answers of runs.

    ``options_of`` returns how a run is scored by this judge. ``report`` is called with
    the outcome of each scoring. ``exit_code`` is that of the first run that could not
    be scored completely.
    """

    name: str
    draw: AnswerDraw
    options_of: Callable[[RunJudges], RescoreOptions]
    report: Callable[[RunOutcome], None]
    exit_code: int = field(default=0, init=False)

    def definitions(self, run: RunJudges) -> Mapping[str, Mapping[str, Any]]:
        """Returns how the judge is asked, by task. No backend is created."""
        definitions = {}
        for task in self.tasks(run):
            plan = score_definition(task, {})
            definitions[task.name] = definition_in(plan, run.metric(task.name))
        return definitions

    def tasks(self, run: RunJudges) -> list[Task]:
        """Returns the tasks as they are scored. No backend is created."""
        options = self._options(run)
        selection = stored_selection(
            run.run.record,
            options.overrides,
            self.roles(run),
            metrics=options.metrics,
        )
        wanted = {task.name for task in run.tasks}
        return [task for task in selection if task.name in wanted]

    def roles(self, run: RunJudges) -> frozenset[str]:
        """Returns the names of the roles that are known when a run is scored."""
        options = self._options(run)
        return frozenset((*options.roles_of_run, *options.roles))

    def ask(self, run: RunJudges) -> Mapping[str, Path]:
        """Asks about drawn answers without a verdict, and returns the score sets.

        Raises the errors of ``rescore``.
        """
        outcome = ask_about_answers(self._options(run), self.report)
        self.exit_code = self.exit_code or outcome.exit_code
        return outcome.score_sets

    def _options(self, run: RunJudges) -> RescoreOptions:
        metrics = dict.fromkeys(run.metric(task.name) for task in run.tasks)
        return replace(self.options_of(run), metrics=tuple(metrics), draw=self.draw)


def ask_about_answers(
    options: RescoreOptions, report: Callable[[RunOutcome], None]
) -> RunOutcome:
    """Asks the judge of a run about its answers without a verdict.

    ``report`` is called with the outcome. Raises the errors of ``rescore``.
    """
    # without processes: a judged metric is computed in this one
    in_this_process = replace(options, score_workers=0)
    with closing(for_stderr()) as bar:
        outcome = rescore(in_this_process, progress=bar)
    report(outcome)
    return outcome
