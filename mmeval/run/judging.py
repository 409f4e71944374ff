"""Runs the program of each judged metric on each trial, with bounded concurrency."""

from __future__ import annotations

import asyncio
import logging
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mmeval.backend.contract import model_name_of
from mmeval.broker.broker import Broker
from mmeval.broker.checks.patience import PATIENCE, JudgePatience
from mmeval.broker.scope import Scope, Transcript
from mmeval.errors import (
    ReplayMismatchError,
    RoleLostError,
    StoppedError,
    StorageError,
)
from mmeval.metric.apply import failed, score_judged
from mmeval.metric.bound import BoundMetric
from mmeval.metric.scoring.stored_trials import stored_trial
from mmeval.metric.scoring.trial_rows import score_row
from mmeval.program.calls import MODEL, CallFailed
from mmeval.records.response import HOPELESS
from mmeval.records.sample import Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.run.suspension import Suspension
from mmeval.run.task_run import TaskRun
from mmeval.store.paths import trial_key
from mmeval.system.json_lines import sealed, to_line

log = logging.getLogger(__name__)


class Judging:
    """Scores trials in the background, with enough concurrency to keep judges busy.

    ``suspension`` records metrics whose judge is lost. From then on, trials are not
    scored by these metrics, while other metrics and the model continue. ``on_judged``
    is called for each scored answer. ``last`` is True if only judging remains. In this
    case, a lost judge is reported only at the end. ``patience`` is the maximum number
    of a metric's first verdicts that may be unreadable; 0 for no maximum.
    """

    def __init__(
        self,
        broker: Broker,
        runs: Iterable[TaskRun],
        on_judged: Callable[[], None] = lambda: None,
        *,
        last: bool = False,
        patience: int = PATIENCE,
    ) -> None:
        self.suspension = Suspension()
        self._first = patience
        self._patience: dict[tuple[str, ...], JudgePatience] = {}
        self._on_judged, self._last = on_judged, last
        self._broker = broker
        self._identities = {
            role: runtime.identity for role, runtime in broker.roles.items()
        }
        self._semaphore = asyncio.Semaphore(_max_concurrency(broker, runs))
        self._in_progress: set[asyncio.Task[None]] = set()
        self._postponed: dict[str, tuple[TaskRun, array[int]]] = {}
        self._failure: Exception | SystemExit | None = None
        self._stopped = False

    @property
    def in_flight(self) -> int:
        return len(self._in_progress)

    @property
    def waiting(self) -> int:
        """Number of postponed trials."""
        return sum(len(keys) for _, keys in self._postponed.values())

    def stop(self) -> None:
        """Prevents further trials from starting.

        Trials in progress end once their answers in flight arrive.
        """
        self._stopped = True

    async def offer(
        self, run: TaskRun, index: int, trial: Trial, trial_digest: str
    ) -> None:
        """Judges a trial, or postpones it until ``drain`` if all judges are busy.

        Therefore a model does not wait for a slower judge. Only the key of a postponed
        trial is kept in memory. The trial is read again from the folder.
        """
        if self._to_judge(run, trial) and self._semaphore.locked():
            name = run.task.name
            _, keys = self._postponed.setdefault(name, (run, array("q")))
            keys.append(trial_key(index, trial.repeat))
        else:
            await self.add(run, index, trial, trial_digest)

    async def add(
        self, run: TaskRun, index: int, trial: Trial, trial_digest: str
    ) -> None:
        """Judges an answered trial once a judge is free.

        Raises errors that end the run.
        """
        if self._failure is not None:
            raise self._failure
        if self._stopped or not self._to_judge(run, trial):
            if run.judged and trial.error is None and run.has_fixed_score(trial):
                self._on_judged()
            return
        await self._semaphore.acquire()
        # before the task starts, so that a local judge waits for more requests
        self._broker.live_trials += 1
        coroutine = self._judge(run, index, trial, trial_digest)
        task = asyncio.get_running_loop().create_task(coroutine)
        self._in_progress.add(task)
        task.add_done_callback(self._in_progress.discard)

    async def drain(self) -> None:
        """Judges all remaining trials, including postponed ones.

        Raises errors that end the run.
        """
        self._last = True
        while self._postponed:
            _, (run, keys) = self._postponed.popitem()
            await self._judge_postponed(run, frozenset(keys))
        await self.settle()
        if self._failure is not None:
            raise self._failure

    async def settle(self) -> None:
        """Waits until all trials in progress end."""
        while self._in_progress:
            await asyncio.gather(*self._in_progress)
            # since Python 3.12, gather of ended tasks does not run their callbacks
            await asyncio.sleep(0)

    async def _judge_postponed(self, run: TaskRun, keys: frozenset[int]) -> None:
        journal = self._broker.journal
        for row, sample_row in run.records.trials():
            if self._stopped or not self._metrics(run):
                return
            if trial_key(row["i"], row["n"]) in keys:
                trial = stored_trial(
                    row, Sample.from_json(sample_row, journal.media.root), journal
                )
                await self.add(run, row["i"], trial, row["d"])

    def _to_judge(self, run: TaskRun, trial: Trial) -> bool:
        if trial.error is not None or not self._metrics(run):
            return False
        return not run.has_fixed_score(trial)

    def _metrics(self, run: TaskRun) -> list[BoundMetric]:
        task, suspension = run.task.name, self.suspension
        return [bound for bound in run.judged if not suspension.covers(task, bound)]

    async def _judge(
        self, run: TaskRun, index: int, trial: Trial, trial_digest: str
    ) -> None:
        try:
            scores_by_output: dict[str, Score] = {}
            for bound in self._metrics(run):
                try:
                    scores = await self._verdict(run, bound, index, trial, trial_digest)
                    scores_by_output.update(scores)
                except RoleLostError as role_error:
                    dependent_outputs = run.follows_from(bound)
                    is_new = self.suspension.add(
                        run.task.name, bound, role_error, with_it=dependent_outputs
                    )
                    if is_new and not self._last:
                        reason = role_error.reason
                        log.warning(
                            "scoring by %s is suspended: %s", bound.name, reason
                        )
            if scores_by_output:
                row = {"i": index, "n": trial.repeat, "d": trial_digest}
                run.deliver(score_row(row, trial, run.plan, scores_by_output))
                self._on_judged()
        except StoppedError:
            pass  # the next run requests these verdicts
        except (Exception, SystemExit) as error:  # any error ends the run
            self._failure = self._failure or error
        finally:
            self._broker.live_trials -= 1
            self._semaphore.release()

    async def _verdict(
        self,
        run: TaskRun,
        bound: BoundMetric,
        index: int,
        trial: Trial,
        trial_digest: str,
    ) -> dict[str, Score]:
        """Returns the scores of one judged metric.

        A failure affects only this metric. Equal requests share a verdict, even across
        repeats and tasks.
        """
        part = f"score/{bound.name}-{run.judging_key(bound)}/{trial_digest[:12]}"
        scope = Scope(
            run.task.name,
            trial.sample,
            trial.repeat,
            part,
            share=False,
            by_content=True,
            patience=self._patience_with(bound),
        )
        transcript = Transcript()
        scores: dict[str, Score]
        try:
            program = score_judged(bound, trial, run.role)
            scores = dict(await self._broker.run(program, scope, transcript))
        except CallFailed as call_failed:
            unscored_by = bound.lost
            if call_failed.error.kind == "refused":
                unscored_by = bound.refused
            elif call_failed.error.kind in HOPELESS:
                unscored_by = bound.unscored
            scores = dict(
                unscored_by(f"{call_failed.error.kind}: {call_failed.error.message}")
            )
        except (ReplayMismatchError, StorageError, RoleLostError, StoppedError):
            raise
        # a plugin's metric may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            scores = dict(failed(bound, error))
        lines = verdict_lines(
            transcript,
            index=index,
            repeat=trial.repeat,
            metric=bound.name,
            identities=self._identities,
        )
        run.log_verdicts(lines)
        return scores

    def _patience_with(self, bound: BoundMetric) -> JudgePatience | None:
        if not self._first:
            return None
        # Tasks may call different judges with the same metric.
        key = (bound.name, *sorted(bound.called_roles(self._broker.roles)))
        if key not in self._patience:
            self._patience[key] = JudgePatience(bound.name, self._first)
        return self._patience[key]


def _max_concurrency(broker: Broker, runs: Iterable[TaskRun]) -> int:
    """Returns the number of concurrent trials that keep the judges busy.

    The number is twice the number of calls of each judge, since a trial is also read,
    parsed and written. The number of concurrent calls of the model is added.
    """
    called: set[str] = set()
    for run in runs:
        for bound in run.judged:
            called.update(bound.called_roles(broker.roles))
    judges = {broker.roles[role].role for role in called if role in broker.roles}
    concurrency = 2 * sum(judge.width for judge in judges)
    if MODEL in broker.roles:
        concurrency += broker.roles[MODEL].role.width
    return max(1, concurrency)


def verdict_lines(
    transcript: Transcript,
    *,
    index: int,
    repeat: int,
    metric: str,
    identities: Mapping[str, Mapping[str, Any]],
) -> bytes:
    """Returns the lines that log a metric's sent calls for a trial.

    ``identities`` maps roles to their identities.
    """
    lines = []
    for exchange, key, params, answer_time in zip(
        transcript.exchanges,
        transcript.keys,
        transcript.params,
        transcript.times,
        strict=True,
    ):
        response = exchange.response
        if response.error is not None and response.error.kind in (
            "unsupported",
            "bad_media",
        ):
            continue
        row: dict[str, Any] = {
            "i": index,
            "n": repeat,
            "metric": metric,
            "path": exchange.path,
            "role": exchange.role,
            "asked": model_name_of(identities.get(exchange.role, {})),
            "served": response.served,
            "fingerprint": response.fingerprint,
            "params": params.to_json(),
            "at": answer_time,
            "latency": round(response.latency, 4),
            "usage": [response.usage.input_tokens, response.usage.output_tokens],
            "key": key,
        }
        if response.error is not None:
            row["error"] = response.error.kind
        lines.append(sealed(to_line(row)))
    return b"".join(lines)
