"""Runs several models, one after the other or side by side.

Each model has its own run folder. A model that fails does not stop the others. The
first Ctrl-C stops all models as it stops one: answers in flight are awaited.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from types import FrameType

from mmeval.errors import (
    EXIT_INCOMPLETE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_UNEXPECTED,
    Interrupted,
    MmevalError,
)
from mmeval.report.log import named
from mmeval.report.progress_bar import (
    SECONDS_BETWEEN_LINES,
    ProgressLines,
    for_stderr,
)
from mmeval.report.publish import Publication
from mmeval.report.terminal import print_text, write_line
from mmeval.run.costs.budget import Budget
from mmeval.run.costs.prices import load_prices
from mmeval.run.costs.shared_budget import BudgetLimits, SharedBudget
from mmeval.run.interrupt import interrupt_thread
from mmeval.run.options import RunOptions, RunOutcome
from mmeval.run.progress import Progress
from mmeval.run.runner import run
from mmeval.several.plans import CommandPlan, ModelPlan
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.system.signals import handled_by
from mmeval.task.selection import select

LOOK_SECONDS = 0.5
"""Maximum seconds until a model that starts after a signal is stopped."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelRun:
    """The end of one model's run. ``error`` is why it failed; empty if it did not."""

    plan: ModelPlan
    exit_code: int
    error: str = ""


def run_models(command: CommandPlan, limits: BudgetLimits) -> list[ModelRun]:
    """Runs the chosen models and publishes their results, in the order of the file.

    ``limits`` is the budget of all models of the file together. Raises UsageError if
    the results cannot be published as requested, and Interrupted if the user stops the
    command; all answers are kept.
    """
    publications = [_publication(plan) for plan in command.chosen]
    shared = _shared_budget(command.models, limits) if limits else None
    ends: dict[str, ModelRun] = {}

    def finish(number: int, work: Callable[[], RunOutcome]) -> None:
        plan = command.chosen[number]
        ends[plan.entry.name] = _ended(plan, publications[number], work)

    if command.jobs == 1:
        _in_turn(command.chosen, shared, finish)
    else:
        _side_by_side(command, shared, finish)
    return [ends[plan.entry.name] for plan in command.chosen]


def exit_code_of(runs: Sequence[ModelRun]) -> int:
    """Returns 0 if all models are complete, else 3."""
    is_complete = all(model_run.exit_code == EXIT_OK for model_run in runs)
    return EXIT_OK if is_complete else EXIT_INCOMPLETE


def _publication(plan: ModelPlan) -> Publication:
    return Publication.prepared(
        plan.run.loggers,
        plan.run.baseline,
        log_samples=plan.run.log_samples,
        page=plan.run.page,
        table="full" if plan.run.table == "full" else "none",
    )


def _in_turn(
    plans: Sequence[ModelPlan],
    shared: SharedBudget | None,
    finish: Callable[[int, Callable[[], RunOutcome]], None],
) -> None:
    for number, plan in enumerate(plans):
        write_line(f"model {number + 1} of {len(plans)}: {plan.entry.name}")
        with closing(for_stderr()) as bar:
            finish(number, partial(_answers, plan, bar, shared))


def _side_by_side(
    command: CommandPlan,
    shared: SharedBudget | None,
    finish: Callable[[int, Callable[[], RunOutcome]], None],
) -> None:
    """Runs models in threads, and publishes their results in this thread."""
    threads: dict[str, int] = {}
    stopped: set[str] = set()
    signals: list[int] = []

    def note(number: int, _frame: FrameType | None = None) -> None:
        signals.append(number)
        if len(signals) > 2:
            os._exit(EXIT_INTERRUPTED)
        if len(signals) == 2:  # give up the answers in flight
            stopped.clear()

    def answers(plan: ModelPlan) -> RunOutcome:
        name = plan.entry.name
        threads[name] = threading.get_ident()
        named.set(name)
        try:
            progress = ProgressLines(SECONDS_BETWEEN_LINES, name=name)
            with closing(progress):
                return _answers(plan, progress, shared)
        finally:
            del threads[name]

    numbers: dict[Future[RunOutcome], int] = {}
    with handled_by(note), ThreadPoolExecutor(command.jobs, "model") as pool:
        for number, plan in enumerate(command.chosen):
            numbers[pool.submit(answers, plan)] = number
        pending = set(numbers)
        while pending:
            done, pending = wait(pending, LOOK_SECONDS, FIRST_COMPLETED)
            if signals:
                pending = {future for future in pending if not future.cancel()}
                for name, identity in list(threads.items()):
                    if name not in stopped and interrupt_thread(identity):
                        stopped.add(name)
                continue
            for future in sorted(done, key=numbers.__getitem__):
                name = command.chosen[numbers[future]].entry.name
                token = named.set(name)
                finish(numbers[future], future.result)
                named.reset(token)
    if signals:
        raise Interrupted(
            "stopped; all answers are saved. Run the same command to continue"
        )


def _answers(
    plan: ModelPlan, progress: Progress, shared: SharedBudget | None
) -> RunOutcome:
    options = plan.run.options
    selection = select(
        plan.run.tasks,
        include_path=plan.run.include_path,
        overrides=plan.run.overrides,
        roles=frozenset(options.roles),
    )
    return run(selection, options, progress=progress, shared_budget=shared)


def _ended(
    plan: ModelPlan, publication: Publication, work: Callable[[], RunOutcome]
) -> ModelRun:
    """Waits for a model's run and publishes its results. Raises Interrupted."""
    try:
        outcome = work()
        show = print_text if publication.table == "full" else None
        publication.finish(outcome, plan.run.report, show=show)
    except Interrupted:
        raise
    except MmevalError as error:
        return ModelRun(plan, error.exit_code, str(error))
    # a plugin may raise anything and call sys.exit; the other models go on
    except (Exception, SystemExit) as error:
        log.debug("the model %s failed", plan.entry.name, exc_info=error)
        reason = f"unexpected {type(error).__name__}: {error}"
        return ModelRun(plan, EXIT_UNEXPECTED, reason)
    return ModelRun(plan, outcome.exit_code)


def _shared_budget(plans: Sequence[ModelPlan], limits: BudgetLimits) -> SharedBudget:
    """Returns the budget of all models, with what their folders have spent already."""
    shared = SharedBudget(limits)
    for plan in plans:
        options = plan.run.options
        if not options.fresh and (plan.folder / "journal").is_dir():
            _record_spent(plan, options, shared)
    return shared


def _record_spent(plan: ModelPlan, options: RunOptions, shared: SharedBudget) -> None:
    media = MediaStore(plan.folder / "media")
    journal = Journal(plan.folder / "journal", media, writable=False)
    prices = load_prices(options.model_cost_config)
    with closing(journal):
        # a budget records its amounts when it is made
        Budget(
            shared.limits, prices, journal.spending, folder=plan.folder, shared=shared
        )
