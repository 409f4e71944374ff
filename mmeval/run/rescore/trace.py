"""Traces recorded trials: the request and reply of each step.

The programs run again with the replies of the journal.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.backend.agent.contract import AgentBackend, agent_named
from mmeval.backend.agent.limits import AnswerLimits
from mmeval.backend.create import create_backend
from mmeval.backend.sendable import sendable
from mmeval.dataset.bad_sample import in_words
from mmeval.errors import (
    ReplayMismatchError,
    UnknownNameError,
    UsageError,
    did_you_mean,
)
from mmeval.program.calls import (
    MODEL,
    Call,
    Program,
    Reply,
    Role,
    reply_to,
    run_program,
)
from mmeval.program.protocols import Ask
from mmeval.records.response import ErrorInfo, Response
from mmeval.records.sample import Sample
from mmeval.results.stored_run import run_record
from mmeval.run.backends import backend_args, role_params
from mmeval.run.options import BackendSpec
from mmeval.run.rescore.selection import stored_selection
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.task_records import TrialRows, trial_rows
from mmeval.system.wording import listed
from mmeval.task.task import Task, TaskOverrides

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TracedStep:
    """A call of a trial or an agent, with its reply (None if the journal lost it)."""

    path: str
    call: Call
    response: Response | None
    steps: list[TracedStep] = field(default_factory=list)


class _StepRecord(NamedTuple):
    """The record of a step: its key in the journal, or its failure.

    ``request_digest`` is the digest of a failed request.
    """

    key: str = ""
    failure: Response | None = None
    request_digest: str = ""


class _MissingReplyError(Exception):
    """The program cannot continue, since a reply is missing."""


def traced(
    folder: Path,
    specs: Mapping[str, BackendSpec],
    limits: AnswerLimits,
    *,
    task: str,
    sample: str,
    repeat: int = 0,
) -> list[TracedStep]:
    """Returns the steps of a trial. No call is sent and nothing is written.

    ``specs`` are the backends of the run. Raises MissingDataError if there is no run,
    UsageError for an unknown trial or a sample that cannot be asked, and
    ReplayMismatchError if the request of a step has changed, because the task or the
    agent changed.
    """
    record = run_record(folder)
    if task not in record["tasks"]:
        raise UnknownNameError("task of this run", task, record["tasks"])
    selection = stored_selection(record, TaskOverrides(), frozenset(specs))
    (chosen,) = (candidate for candidate in selection if candidate.name == task)
    rows = _rows(folder, task, sample, repeat, finished=record["finished"])
    media = MediaStore(folder / "media")
    with closing(Journal(folder / "journal", media, writable=False)) as journal:
        return _Tracer(journal, _agents(specs, limits)).trial(chosen, rows)


def _rows(
    folder: Path, task: str, sample: str, repeat: int, *, finished: bool
) -> TrialRows:
    repeats: list[int] = []
    ids: list[str] = []
    for rows in trial_rows(folder, task):
        sample_id = str(rows.sample["sample"]["id"])
        if sample_id == sample and rows.trial["n"] == repeat:
            return rows
        if sample_id == sample:
            repeats.append(rows.trial["n"])
        ids.append(sample_id)
    if repeats:
        raise UsageError(
            f"{task}: the sample {sample!r} has no repeat {repeat} in this run; its "
            f"repeats are {', '.join(map(str, repeats))}"
        )
    suffix = "" if finished else " yet, since the run is unfinished"
    hint = did_you_mean(sample, ids)
    if ids and not hint:
        hint = f"; it has {listed(list(dict.fromkeys(ids)), 5)}"
    raise UsageError(
        f"{task}: this run has no trial of the sample {sample!r}{suffix}{hint}",
        name=sample,
        known=ids,
    )


def _agents(
    specs: Mapping[str, BackendSpec], limits: AnswerLimits
) -> dict[str, AgentBackend]:
    """Creates the agents among the roles of a run, without the roles that they call."""
    params = {}
    for role, spec in specs.items():
        role_parameters = role_params(role, spec.args)
        if role_parameters is not None:
            params[role] = role_parameters
    agents: dict[str, AgentBackend] = {}
    for role, spec in specs.items():
        if agent_named(spec.name) is not None:
            backend = create_backend(spec.name, backend_args(spec))
            assert isinstance(backend, AgentBackend)
            backend.cast(specs, params, limits)
            agents[role] = backend
    return agents


class _Tracer:
    """Runs programs with the answers of a journal."""

    def __init__(self, journal: Journal, agents: Mapping[str, AgentBackend]) -> None:
        self._journal, self._agents = journal, agents

    def trial(self, task: Task, rows: TrialRows) -> list[TracedStep]:
        row = rows.trial
        media = self._journal.media.root
        sample = Sample.from_json(rows.sample["sample"], media)
        if sample.fault:
            raise UsageError(
                f"{task.name}: {in_words(sample)}; no request was sent", name=sample.id
            )
        failures = row.get("failed", {})
        records = {}
        for path, _, key in row["x"]:
            records[path] = _StepRecord(key)
            if path in failures:
                failure = Response.from_json(failures[path]["r"], media)
                records[path] = _StepRecord("", failure, failures[path]["d"])
        left_out = row.get("left_out", ())
        kinds = tuple(
            kind for kind in task.output_kinds(sample) if kind not in left_out
        )
        ask = Ask(sample, task.prompt(sample), kinds, task.params, Role(MODEL))
        steps = self._follow(task.protocol(ask), records)
        error = row.get("error")
        # the journal does not store failures
        if error is not None and steps and steps[-1].response is None:
            failure = Response(error=ErrorInfo.from_json(error))
            steps[-1] = replace(steps[-1], response=failure)
        return steps

    def _follow(
        self, program: Program[Any], records: Mapping[str, _StepRecord]
    ) -> list[TracedStep]:
        steps: list[TracedStep] = []

        def answer(call: Call, path: str) -> Reply:
            if path not in records:
                raise _MissingReplyError  # the trial ended here
            response, digest = records[path].failure, records[path].request_digest
            if response is None:
                entry = self._journal.get(records[path].key)
                if entry is not None:
                    response, digest = entry.response, entry.request_digest
            if digest and digest != call.request.digest:
                raise ReplayMismatchError(
                    f"the request of step {path} differs from the run's, because the "
                    "task or the agent has changed"
                )
            step = TracedStep(path, call, response)
            steps.append(step)
            if response is None:
                raise _MissingReplyError
            agent = self._agents.get(call.role)
            if agent is not None and response.trace is not None:
                request = call.request
                if call.convert:
                    request = sendable(call, agent.capabilities).request
                agent_records = {}
                for agent_step in response.trace.steps:
                    failure = None
                    if agent_step.error is not None:
                        failure = Response(
                            error=agent_step.error, latency=agent_step.seconds
                        )
                    agent_records[agent_step.path] = _StepRecord(
                        agent_step.key, failure
                    )
                step.steps.extend(self._follow(agent.program(request), agent_records))
            return reply_to(call, response, path, records[path].key)

        try:
            run_program(program, answer)
        except ReplayMismatchError:
            raise
        # a plugin's program may raise anything and call sys.exit; the trial has
        # recorded the same error
        except (Exception, SystemExit) as error:
            log.debug("the traced program raised an error", exc_info=error)
        return steps


def trace_json(steps: Sequence[TracedStep]) -> list[dict[str, Any]]:
    """Converts steps to JSON, with the request and the reply of each step.

    The request has the keys ``messages``, ``wants`` and ``params``.
    """
    rows = []
    for step in steps:
        call, response = step.call, step.response
        if response is None:
            error_info = ErrorInfo("internal", "its reply is no longer in the journal")
            response = Response(error=error_info)
        request = call.request.to_json()
        output, error, usage = response.output, response.error, response.usage
        row = {
            "path": step.path,
            "role": call.role,
            "title": call.title,
            "messages": request["messages"],
            "wants": request["wants"],
            "params": request["params"],
            "parts": None if output is None else output.to_json(),
            "error": None if error is None else error.to_json(),
            "tokens": [usage.input_tokens, usage.output_tokens],
            "seconds": response.latency,
            "warnings": list(response.warnings),
            "steps": trace_json(step.steps),
            "evidence": response.evidence,
        }
        rows.append(row)
    return rows
