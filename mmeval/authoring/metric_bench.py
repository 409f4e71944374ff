"""Scores trials with judged metrics outside of a run. Calls roles and stores
nothing."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mmeval.backend.agent.casting import with_called_roles
from mmeval.broker.broker import Broker
from mmeval.broker.scope import Scope
from mmeval.errors import MmevalError, UsageError
from mmeval.metric.apply import score_judged
from mmeval.metric.bound import BoundMetric
from mmeval.metric.contract import Metric
from mmeval.metric.result import MetricScores
from mmeval.program.calls import CallFailed, Role
from mmeval.program.role_variants import (
    BY_KIND,
    check_variants,
    has_role,
    role_for,
    with_variants,
)
from mmeval.records.trial import Trial
from mmeval.run.backends import Backends, roles_of
from mmeval.run.options import BackendSpec, RunOptions
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore

TrialScoring = Callable[[BoundMetric, Trial], MetricScores]
"""Scores a trial. The result is unscored if a call or the metric fails."""


def asked_specs(
    metric: Metric, specs: Mapping[str, BackendSpec]
) -> dict[str, BackendSpec]:
    """Returns the backend specs of the roles that the metric calls, directly or through
    other roles. Raises UsageError for a missing role."""
    by_kind = [role for role in metric.roles if role in BY_KIND]
    for role in metric.roles:
        is_played = has_role(role, specs) if role in by_kind else role in specs
        if not is_played:
            flag = f"--{role} " if role in ("judge", "captioner") else f"--role {role}="
            raise UsageError(
                f"the metric {metric.name!r} needs the role {role!r}; add "
                f"{flag}BACKEND,k=v"
            )
    check_variants(specs, by_kind)
    called_roles = with_called_roles(
        with_variants(metric.roles, by_kind, specs), lambda role: roles_of(specs, role)
    )
    return {role: spec for role, spec in specs.items() if role in called_roles}


@contextmanager
def bench_for(specs: Mapping[str, BackendSpec]) -> Iterator[TrialScoring]:
    """Yields a function that scores trials with the roles of a metric (see
    :func:`asked_specs`). Equal questions are sent once. The function raises errors that
    affect every trial, such as a rejected key."""
    with asking(specs) as (broker, runner):
        yield lambda bound, trial: runner.run(_score(broker, bound, trial))


@contextmanager
def asking(
    specs: Mapping[str, BackendSpec],
) -> Iterator[tuple[Broker, asyncio.Runner]]:
    """Yields a broker for these roles. Its temporary folder is removed at the end."""
    defaults = RunOptions(BackendSpec(""), Path())
    with ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="mmeval-")
        folder = Path(stack.enter_context(temporary))
        journal = Journal(folder / "journal", MediaStore(folder / "media"))
        stack.callback(journal.close)
        broker = Broker(journal, reasoning_tags=defaults.reasoning_tags)
        broker.roles = Backends(specs).runtimes(
            lambda: 0,
            limit=defaults.max_connections,
            retries=defaults.retry_on_error,
            journal=journal,
        )
        runner = stack.enter_context(asyncio.Runner())
        stack.callback(lambda: runner.run(broker.close()))
        yield broker, runner


async def _score(
    broker: Broker,
    bound: BoundMetric,
    trial: Trial,
) -> MetricScores:
    scope = Scope("metric", trial.sample, share=False, by_content=True)

    def role(name: str) -> Role:
        return role_for(name, {}, broker.roles)

    try:
        return await broker.run(score_judged(bound, trial, role), scope)
    except CallFailed as failed:
        return bound.unscored(f"{failed.error.kind}: {failed.error.words}")
    except MmevalError:
        raise
    # a plugin's metric may raise anything and call sys.exit
    except (Exception, SystemExit) as error:
        return bound.unscored(f"{type(error).__name__}: {error}")
