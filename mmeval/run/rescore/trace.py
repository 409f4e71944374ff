"""Traces of recorded trials: what each step was asked and said, by running the programs
on the journal."""

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
    followed,
    reply_to,
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
    """A call of a trial or of an agent, and its reply: None where it is gone from the
    journal."""

    path: str
    call: Call
    response: Response | None
    steps: list[TracedStep] = field(default_factory=list)


class _StepRecord(NamedTuple):
    """What is known of a step: its key in the journal, or how it failed, and the digest
    of its request then."""

    key: str = ""
    failure: Response | None = None
    request_digest: str = ""


class _MissingReplyError(Exception):
    """The program cannot be followed further: a reply is gone."""


def traced(
    folder: Path,
    specs: Mapping[str, BackendSpec],
    limits: AnswerLimits,
    *,
    task: str,
    sample: str,
    repeat: int = 0,
) -> list[TracedStep]:
    """The steps of a trial; nothing is asked and nothing written.

    ``specs`` are the backends of the run. Raises MissingDataError where there is no
    run, UsageError for a trial that it does not have or whose sample cannot be asked,
    and ReplayMismatchError where a step asks something else than it did, as the task or
    the agent was changed since.
    """
    record = run_record(folder)
    if task not in record["tasks"]:
        raise UnknownNameError("task of this run", task, record["tasks"])
    selection = stored_selection(record, TaskOverrides(), frozenset(specs))
    (chosen,) = (one for one in selection if one.name == task)
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
        found = str(rows.sample["sample"]["id"])
        if found == sample and rows.trial["n"] == repeat:
            return rows
        if found == sample:
            repeats.append(rows.trial["n"])
        ids.append(found)
    if repeats:
        raise UsageError(
            f"{task}: the sample {sample!r} has no repeat {repeat} here; it has "
            f"{', '.join(map(str, repeats))}"
        )
    yet = "" if finished else " yet, as it was stopped before its end"
    near = did_you_mean(sample, ids)
    if ids and not near:
        near = f"; it has {listed(list(dict.fromkeys(ids)), 5)}"
    raise UsageError(
        f"{task}: this run has no trial of the sample {sample!r}{yet}{near}",
        name=sample,
        known=ids,
    )


def _agents(
    specs: Mapping[str, BackendSpec], limits: AnswerLimits
) -> dict[str, AgentBackend]:
    """The agents among the roles of a run; what they ask need not be made."""
    params = {}
    for role, spec in specs.items():
        given = role_params(role, spec.args)
        if given is not None:
            params[role] = given
    found: dict[str, AgentBackend] = {}
    for role, spec in specs.items():
        if agent_named(spec.name) is not None:
            backend = create_backend(spec.name, backend_args(spec.args))
            assert isinstance(backend, AgentBackend)
            backend.cast(specs, params, limits)
            found[role] = backend
    return found


class _Tracer:
    """Runs programs on a journal."""

    def __init__(self, journal: Journal, agents: Mapping[str, AgentBackend]) -> None:
        self._journal, self._agents = journal, agents

    def trial(self, task: Task, rows: TrialRows) -> list[TracedStep]:
        row = rows.trial
        media = self._journal.media.root
        sample = Sample.from_json(rows.sample["sample"], media)
        if sample.fault:
            raise UsageError(
                f"{task.name}: {in_words(sample)}; it was not asked", name=sample.id
            )
        failures = row.get("failed", {})
        known = {}
        for path, _, key in row["x"]:
            known[path] = _StepRecord(key)
            if path in failures:
                failure = Response.from_json(failures[path]["r"], media)
                known[path] = _StepRecord("", failure, failures[path]["d"])
        left_out = row.get("left_out", ())
        kinds = tuple(kind for kind in task.wanted(sample) if kind not in left_out)
        asked = Ask(sample, task.prompt(sample), kinds, task.params, Role(MODEL))
        steps = self._follow(task.protocol(asked), known)
        error = row.get("error")
        # the journal has no failures
        if error is not None and steps and steps[-1].response is None:
            failure = Response(error=ErrorInfo.from_json(error))
            steps[-1] = replace(steps[-1], response=failure)
        return steps

    def _follow(
        self, program: Program[Any], known: Mapping[str, _StepRecord]
    ) -> list[TracedStep]:
        steps: list[TracedStep] = []

        def answer(call: Call, path: str) -> Reply:
            if path not in known:
                raise _MissingReplyError  # the run ended here
            response, digest = known[path].failure, known[path].request_digest
            if response is None:
                entry = self._journal.get(known[path].key)
                if entry is not None:
                    response, digest = entry.response, entry.request_digest
            if digest and digest != call.request.digest:
                raise ReplayMismatchError(
                    f"step {path} asks something else than it did in this run: the "
                    "task or the agent was changed since"
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
                made = {}
                for one in response.trace.steps:
                    failure = None
                    if one.error is not None:
                        failure = Response(error=one.error, latency=one.seconds)
                    made[one.path] = _StepRecord(one.key, failure)
                step.steps.extend(self._follow(agent.program(request), made))
            return reply_to(call, response, path, known[path].key)

        try:
            followed(program, answer)
        except ReplayMismatchError:
            raise
        # a plugin's program may raise anything and call sys.exit; its trial ended with
        # the same error, which is recorded
        except (Exception, SystemExit) as error:
            log.debug("the traced program raised an error", exc_info=error)
        return steps


def trace_json(steps: Sequence[TracedStep]) -> list[dict[str, Any]]:
    """Steps as JSON: what each was asked (``messages``, ``wants``, ``params``), and
    what it said."""
    written = []
    for step in steps:
        call, response = step.call, step.response
        if response is None:
            lost = ErrorInfo("internal", "its reply is no longer in the journal")
            response = Response(error=lost)
        asked = call.request.to_json()
        output, error, usage = response.output, response.error, response.usage
        row = {
            "path": step.path,
            "role": call.role,
            "title": call.title,
            "messages": asked["messages"],
            "wants": asked["wants"],
            "params": asked["params"],
            "parts": None if output is None else output.to_json(),
            "error": None if error is None else error.to_json(),
            "tokens": [usage.input_tokens, usage.output_tokens],
            "seconds": response.latency,
            "warnings": list(response.warnings),
            "steps": trace_json(step.steps),
            "evidence": response.evidence,
        }
        written.append(row)
    return written
