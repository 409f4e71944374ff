"""Dry run: forecasts a run without loading, sending or writing anything.

The forecast reads every sample, makes its prompt and runs its protocol. It uses the
answers of the run folder, and stand-ins for missing answers. Then it runs the judged
metrics on the results. Calls that depend on the content of an answer are therefore
estimates. A stand-in has no content unless a metric (``supposed``) or a call
(``example``) provides it. A protocol is stopped after ``MAX_CALLS`` calls, a metric
after ``MAX_VERDICTS`` calls, an agent at its own limit. Calls to judges are counted for
at most ``JUDGED_SAMPLES`` evenly spread samples of a task, and scaled to all samples.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar

from mmeval.backend.contract import hosts_of, model_name_of
from mmeval.backend.handshake.handshake import narrowed
from mmeval.backend.probe import Probe
from mmeval.backend.reencoding import ENCODED_AS, encoded_anew, encoding_fault
from mmeval.backend.sendable import absent_packages, foreseen
from mmeval.broker.broker import MAX_DRAWS, Broker
from mmeval.broker.cluster.ray_cluster import RayCluster
from mmeval.broker.replay import known_reply
from mmeval.broker.scope import Scope, Transcript
from mmeval.dataset.readable import LoaderFailure, readable
from mmeval.errors import (
    ContentError,
    MissingDataError,
    MmevalError,
    SampleError,
)
from mmeval.findings.finding import Finding, Severity, Subject
from mmeval.findings.from_error import finding_of
from mmeval.findings.render import RemedyTarget
from mmeval.forecast.estimate import RoleLoad, stand_in, weigh
from mmeval.forecast.records import (
    THIS_MACHINE,
    FirstRequest,
    Forecast,
    Host,
    TaskForecast,
    reencoded_as,
)
from mmeval.media.parts import Interleaved
from mmeval.metric.apply import score_judged
from mmeval.program.calls import (
    MODEL,
    Call,
    CallFailed,
    Program,
    Reply,
    next_calls,
    with_paths,
)
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.records.trial import Exchange, Trial
from mmeval.run.availability import (
    report_unavailable,
    task_words,
    unavailable_findings,
    with_data,
)
from mmeval.run.backends import Backends
from mmeval.run.costs.budget import Budget
from mmeval.run.costs.prices import bills
from mmeval.run.jobs import DataFault, JobQueue
from mmeval.run.losses import data_faults
from mmeval.run.options import RunCounts, RunOptions
from mmeval.run.outcome import is_tolerated, with_severities
from mmeval.run.preparation import (
    check_folder,
    limits_and_prices,
    other_folders,
    prepare_run,
    run_identity,
    run_path,
)
from mmeval.run.progress import AnswerNotes
from mmeval.run.task_run import TaskRun, scoring_plan, task_run
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.run_folder import RunFolder, check_others, journal_findings
from mmeval.system import collector
from mmeval.system.folders import free_bytes
from mmeval.system.wording import size
from mmeval.task.task import Selection

T = TypeVar("T")

MAX_CALLS = 200
"""Maximum number of calls of a protocol. With stand-ins, a protocol may never end."""
MAX_VERDICTS = 10_000
"""Maximum number of calls that a judged metric makes for one answer.

This limit is higher than ``MAX_CALLS``, because a sample may need thousands of calls.
"""
JUDGED_SAMPLES = 1000
ENDLESS = "there are more calls than a dry run counts; its numbers are too low"
AFTER_STAND_IN = "after a stand-in for an answer"


def forecast(
    selection: Selection,
    options: RunOptions,
    handshakes: Mapping[str, Sequence[Probe]] = MappingProxyType({}),
) -> Forecast:
    """Forecasts a run. Raises the same errors as the start of the run.

    ``handshakes`` are the results of handshakes by role. Samples with a kind that they
    deny are not asked.
    """
    words = task_words(options.settings, selection)
    selection = with_data(selection, strict=options.strict, place=RemedyTarget(words))
    scoring = not options.predict_only
    if options.strict:
        report_unavailable(
            selection, strict=True, place=RemedyTarget(words), scoring=scoring
        )
    path = run_path(options)
    media = MediaStore(path / "media")
    backends, jobs, data_findings = prepare_run(selection, options, media)
    limits, prices = limits_and_prices(options, backends)
    identity = run_identity(backends, options)
    check_others(other_folders(options), identity)
    record = {} if options.fresh else RunFolder.read_record(path)
    # without a record (a new run, or --fresh), earlier answers must not count
    journal_folder = path / ("journal" if record else "nothing")
    journal = Journal(
        journal_folder, media, writable=False, others=other_folders(options)
    )
    try:
        other_answers = journal.of_others
        answers = len(journal) - other_answers
        check_folder(options, record, identity, answers)
        budget = Budget(limits, prices, journal.spending)
        broker = Broker(
            journal, seed=options.seed, reasoning_tags=options.reasoning_tags
        )
        broker.roles = backends.runtimes(lambda: 1, limit=1, retries=0)
        _leave_out_denied_kinds(broker, backends, handshakes)
        forecaster = _Forecaster(jobs, backends, broker, options)
        with collector.settled():
            tasks = [
                forecaster.task(position) for position in range(len(selection.tasks))
            ]
        asyncio.run(broker.close())

        endpoints = {}
        for role, runtime in broker.roles.items():
            endpoint = runtime.endpoint(role)
            if endpoint is not None:
                endpoints[role] = endpoint
        called_roles = {MODEL}
        calls_to_send = 0.0
        for task in tasks:
            called_roles.update(task.loads)
            for role in endpoints.keys() & task.loads.keys():
                calls_to_send += task.loads[role].calls
        folder_findings = list(journal_findings(journal, record))
        if calls_to_send > 0:
            # a spent budget stops only a run that still has calls to send
            folder_findings += budget.findings()
        folder_findings += forecaster.answer_notes.findings()
        findings = [
            *unavailable_findings(selection, scoring=scoring),
            *data_findings,
            *jobs.fewer(),
            *data_faults(forecaster.faults),
            *_trial_findings(tasks, options.max_unscored),
            *folder_findings,
        ]
        result = Forecast(
            folder=path,
            answers=answers,
            other_answers=other_answers,
            tasks=tuple(tasks),
            groups=selection.groups,
            hosts=_hosts(backends, called_roles),
            endpoints=endpoints,
            prices=prices,
            limits=limits,
            spent=tuple(bills(journal.spending, prices)),
            free_bytes=free_bytes(path),
            first=forecaster.driver.first,
            nodes=()
            if options.engine is None
            else RayCluster(options.engine).nodes_with_places(),
            findings=tuple(findings),
            of_folder=tuple(folder_findings),
            words=words,
        )
        if result.disk_bytes <= result.free_bytes:
            return result
        cause = (
            f"about {size(result.disk_bytes)} needed at most, "
            f"{size(result.free_bytes)} free"
        )
        full_disk = Finding("machine", Subject(name=str(path)), cause=cause)
        return replace(result, findings=(*result.findings, full_disk))
    finally:
        journal.close()


def _hosts(backends: Backends, roles: Collection[str]) -> dict[str, Host]:
    hosts = {}
    for role, backend in backends.named.items():
        if role in roles:
            host = hosts_of(backend) or THIS_MACHINE
            hosts[role] = Host(model_name_of(backend.identity), host)
    return hosts


def _leave_out_denied_kinds(
    broker: Broker, backends: Backends, handshakes: Mapping[str, Sequence[Probe]]
) -> None:
    for role, probes in handshakes.items():
        runtime = broker.roles.get(role)
        if runtime is not None:
            given = backends.given_inputs.get(role, ())
            runtime.capabilities = narrowed(runtime.declared, probes, given)


def _trial_findings(
    tasks: Iterable[TaskForecast], max_unscored: float
) -> Iterator[Finding]:
    """Yields the findings of trials with the severity that they would have in the run.

    A failure on a stand-in remains a warning.
    """
    trials = failed = unsupported = 0
    for task in tasks:
        trials += task.trials
        failed += task.bad.trials
        for finding, number in task.reasons.items():
            if finding.severity != "error":
                continue
            if finding.kind == "unsupported":
                unsupported += number
            else:
                failed += number
    new = max(0, trials - failed - unsupported)
    counts = RunCounts(new=new, failed=failed, unsupported=unsupported)
    tolerated = is_tolerated(counts, max_unscored)
    for task in tasks:
        for finding in task.findings():
            if finding.severity == "error":
                yield from with_severities([finding], counts, tolerated=tolerated)
            else:
                yield finding


class EndlessError(Exception):
    """A program exceeded the maximum number of calls and was stopped."""


class _Forecaster:
    """Forecasts the trials of each task, one sample at a time."""

    def __init__(
        self, jobs: JobQueue, backends: Backends, broker: Broker, options: RunOptions
    ) -> None:
        self.driver = _ProgramDriver(broker)
        self.faults: dict[str, DataFault] = {}
        """The reason why the data of a task cannot be read to the end, by task."""
        self.answer_notes = AnswerNotes()
        """Notes about the answers of the run folder."""
        self._jobs, self._backends, self._options = jobs, backends, options

    def task(self, position: int) -> TaskForecast:
        task, folder = self._jobs.tasks[position], run_path(self._options)
        run = task_run(
            folder,
            task,
            scoring_plan(task, folder / "media"),
            self._backends.named,
            self._backends.params,
            scoring=False,
        )
        forecast = TaskForecast(task, len(self._jobs.dataset(position)))
        judge_loads: dict[str, RoleLoad] = {}
        has_judges = bool(run.judged) and not self._options.predict_only
        every = max(1, -(-self._jobs.size(position) // JUDGED_SAMPLES))
        for item in readable(self._jobs.samples(position)):
            if isinstance(item, LoaderFailure):
                self.faults[task.name] = DataFault(item.error, forecast.trials)
                break
            _, sample = item
            is_judged = has_judges and forecast.samples % every == 0
            forecast.samples += 1
            if sample.fault:
                forecast.trials += task.repeats
                forecast.bad.add(task.name, sample, task.repeats)
                continue
            forecast.bad.inspect(task.name, sample)
            for repeat in range(task.repeats):
                forecast.trials += 1
                trial = self._trial(run, sample, repeat, forecast)
                if trial is not None and not _has_stand_in(trial.exchanges):
                    self.answer_notes.add(trial.exchanges)
                if is_judged and trial is not None and not run.has_fixed_score(trial):
                    self._judge(run, trial, forecast, judge_loads)
                for finding in self.driver.lacks:
                    forecast.note(finding)
                self.driver.lacks.clear()
                forecast.reencoded.update(self.driver.reencoded)
                self.driver.reencoded.clear()
        run.close()
        judged_samples = -(-forecast.samples // every)
        for role, load in judge_loads.items():
            forecast.loads.setdefault(role, RoleLoad()).merge(
                load, forecast.samples / judged_samples
            )
        return forecast

    def _trial(
        self, run: TaskRun, sample: Sample, repeat: int, forecast: TaskForecast
    ) -> Trial | None:
        """Returns the trial that a metric would score; None if the trial would fail."""
        name = run.task.name
        scope, transcript = Scope(name, sample, repeat), Transcript()
        try:
            program = run.program(sample)
            answer = self.driver.drive(program, scope, transcript, forecast.loads)
            output = run.recorded(answer)
            left_out = run.left_out(sample)
            exchanges = tuple(transcript.exchanges)
            return Trial(sample, repeat, exchanges, output, left_out=left_out)
        except EndlessError:
            forecast.note(Finding("partial", Subject(name), cause=ENDLESS))
        except CallFailed as failed:
            if failed.error.kind == "unsupported":
                # inside an agent, the outer call is not recorded yet
                role = MODEL
                if transcript.exchanges:
                    role = transcript.exchanges[-1].role
                cause = f"the {role} {failed.error.message}"
                lack = Finding("unsupported", Subject(name), cause=cause)
                forecast.note(replace(lack, severity="error"))
            else:
                forecast.note(_failed_trial(name, transcript, failed.error.message))
        except SampleError as bad:  # no prompt can be made from the sample
            if repeat == 0:
                faulty = replace(sample, fault=str(bad))
                forecast.bad.add(name, faulty, run.task.repeats)
        # a plugin's prompt or protocol may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            is_of_sample = isinstance(error, ContentError | MissingDataError)
            if isinstance(error, MmevalError) and not is_of_sample:
                # this error would end the run
                forecast.note(finding_of(error, Subject(name)))
            else:
                cause = f"{type(error).__name__}: {error}"
                forecast.note(_failed_trial(name, transcript, cause))
        return None

    def _judge(
        self,
        run: TaskRun,
        trial: Trial,
        forecast: TaskForecast,
        loads: dict[str, RoleLoad],
    ) -> None:
        answer_digests = tuple(exchange.request_digest for exchange in trial.exchanges)
        for bound in run.judged:
            part = f"score/{bound.name}"
            scope = _JudgeScope(
                run.task.name,
                trial.sample,
                trial.repeat,
                part,
                share=False,
                by_content=True,
                about=answer_digests,
            )
            judged_trial, metric_loads = trial, dict[str, RoleLoad]()
            subject = Subject(run.task.name, bound.name)
            try:
                if any(answer_digests):
                    judged_trial = bound.supposed(trial)
                program = score_judged(bound, judged_trial, run.role)
                self.driver.drive(program, scope, Transcript(), metric_loads)
            except EndlessError:
                forecast.note(Finding("partial", subject, cause=ENDLESS))
            except CallFailed:
                pass  # the metric needs a verdict, and a stand-in contains none
            # a plugin's metric may raise anything and call sys.exit; the run leaves the
            # answer unscored
            except (Exception, SystemExit) as error:
                reason = f"{type(error).__name__}: {error}"
                cause = f"{reason} (on a stand-in for an answer)"
                forecast.note(Finding("unscored", subject, cause=cause))
            for role, load in metric_loads.items():
                load.estimated = judged_trial is not trial and load.calls > 0
                loads.setdefault(role, RoleLoad()).merge(load)


@dataclass(frozen=True, slots=True)
class _JudgeScope(Scope):
    """The scope of the calls of a judged metric.

    ``about`` contains the digests of the requests of the judged answers. It
    distinguishes stand-ins for different answers, which are otherwise equal.
    """

    about: tuple[str, ...] = ()


class _ProgramDriver:
    """Runs programs as the broker does, and counts their calls without sending them.

    ``first`` is the first request that the run would send.
    """

    def __init__(self, broker: Broker) -> None:
        self.first: FirstRequest | None = None
        self.lacks: dict[Finding, None] = {}
        """Findings about the current trial's media that cannot be converted or sent."""
        self.reencoded = Counter[Finding]()
        """Number of the current trial's media that are sent in another format.

        There is one finding for each format and role.
        """
        self._broker = broker
        self._used_answers: set[str] = set()
        """Keys of the journal's answers that were used.

        Each answer is counted as kept only once.
        """
        self._shared_requests: set[int] = set()
        """Hashes of shared requests. Equal requests of all tasks are sent only once."""

    def drive(
        self,
        program: Program[T],
        scope: Scope,
        transcript: Transcript,
        loads: dict[str, RoleLoad],
    ) -> T:
        """Runs a program and returns its result.

        Raises the errors of the program, and EndlessError if it exceeds the maximum
        number of calls.
        """
        sent: Any = None
        max_calls = MAX_VERDICTS if isinstance(scope, _JudgeScope) else MAX_CALLS
        # an agent has its own limits
        for step in count() if scope.within else range(max_calls):
            try:
                request_step = next_calls(program, sent)
            except StopIteration as stop:
                result: T = stop.value
                return result
            shared = scope.share and step == 0
            replies = []
            for path, call in with_paths(request_step, step):
                reply = self._reply(call, scope, path, transcript, loads, shared=shared)
                replies.append(reply)
            sent = replies[0] if isinstance(request_step, Call) else replies
            if not scope.within and len(transcript.exchanges) > max_calls:
                break
        program.close()
        raise EndlessError

    def _reply(
        self,
        call: Call,
        scope: Scope,
        path: str,
        transcript: Transcript,
        loads: dict[str, RoleLoad],
        *,
        shared: bool,
    ) -> Reply:
        load = loads.setdefault(call.role, RoleLoad())
        journal_reply = known_reply(
            call, scope, path, self._broker, transcript, shared=shared
        )
        runtime = self._broker.roles.get(call.role)  # a role may have no backend
        samples = None if runtime is None else runtime.samples
        request_hash = ""
        if journal_reply.reply is not None:
            reply = journal_reply.reply
            if journal_reply.key in self._used_answers:
                load.equal += 1
            else:
                load.kept += reply.ok
            if journal_reply.key:
                self._used_answers.add(journal_reply.key)
                return reply  # the transcript has received it
        elif samples is not None:
            load.calls += 1
            response = samples.answer(
                scope.task, scope.sample, scope.repeat, call.request
            )
            reply = Reply(_accepted(call, response), path)
        else:
            request_hash = _request_hash(call, scope.seed_repeat)
            mark = None
            if isinstance(scope, _JudgeScope):
                mark = hash(
                    (request_hash, transcript.occurrence(request_hash), scope.about)
                )
            elif shared:
                mark = hash(request_hash)
            repeated = mark in self._shared_requests
            if mark is not None:
                self._shared_requests.add(mark)
            key = journal_reply.key or f"{scope.name}#{path}"
            response = self._stand_in(call, scope, key, loads, repeated=repeated)
            response = _accepted(call, response)
            if call.example:  # a reply that the program can read
                response = Response(output=Interleaved.from_text(call.example))
            reply = Reply(response, path)
        exchange = Exchange(path, call.role, request_hash, reply.response)
        transcript.exchanges.append(exchange)
        return reply

    def _stand_in(
        self,
        call: Call,
        scope: Scope,
        key: str,
        loads: dict[str, RoleLoad],
        *,
        repeated: bool,
    ) -> Response:
        """Returns a stand-in for an answer that the journal lacks under ``key``.

        Raises EndlessError for an agent that exceeds its limits.
        """
        runtime = self._broker.roles[call.role]
        load = loads[call.role]
        request = call.request
        if repeated:
            load.equal += 1
            return Response(output=stand_in(request))
        load.calls += 1
        if runtime.programs is not None:
            inner = scope.of_agent(key, draw=self._broker.journal.refusals(key))
            program = runtime.programs.program(request)
            response = self.drive(program, inner, Transcript(), loads)
            if response.error is not None and response.error.kind == "over_limit":
                raise EndlessError
            return response
        subject = Subject(scope.task, role=call.role)
        for error in absent_packages(call, runtime.capabilities):
            self.lacks[finding_of(error, subject)] = None
        ahead = foreseen(call, runtime.capabilities) if call.convert else request
        most_draws = 1 if call.accept is None else MAX_DRAWS
        load.merge(weigh(ahead, most_draws))
        for kind, media in encoded_anew(ahead, runtime.capabilities):
            fault = encoding_fault(kind, media)
            if fault:
                lack = Finding("unsupported", subject, cause=fault)
                self.lacks[replace(lack, severity="error")] = None
            else:
                form = f"{media.mime} as {ENCODED_AS[kind]}"
                self.reencoded[reencoded_as(form, subject)] += 1
        if self.first is None:
            self.first = FirstRequest(scope.task, scope.sample.id, call.role, request)
        return Response(output=stand_in(request))


def _accepted(call: Call, response: Response) -> Response:
    """Returns the response, or a failure if ``Call.accept`` finds a fault in it.

    A stand-in is not a verdict.
    """
    if call.accept is None or response.output is None or not call.accept(response):
        return response
    return Response.failed("bad_reply", "a stand-in contains no verdict")


_STAND_IN = "stand-in "
"""The digest of a request that a stand-in answers begins with this."""


def _request_hash(call: Call, repeat: int) -> str:
    """Returns a hash that is equal for equal calls.

    The hash includes the paths of media, not their content, so no medium is read.
    """
    request = call.request
    content: list[Any] = []
    for message in request.messages:
        content.append(message.role)
        for part in message.content.parts:
            media = part.media and (part.media.path or part.media.sha256)
            content.append((part.kind, part.raw, part.text, media))
    params = str(request.params.to_json())
    parts = (call.role, repeat, request.wants, params, tuple(content))
    return f"{_STAND_IN}{hash(parts):x}"


def _has_stand_in(exchanges: Iterable[Exchange]) -> bool:
    """Returns True if any answer is a stand-in."""
    return any(exchange.request_digest.startswith(_STAND_IN) for exchange in exchanges)


def _failed_trial(
    task: str,
    transcript: Transcript,
    cause: str,
) -> Finding:
    severity: Severity = "error"
    if _has_stand_in(transcript.exchanges):
        cause = f"{cause} ({AFTER_STAND_IN})"
        severity = "warning"
    return Finding("failed", Subject(task), cause=cause, severity=severity)
