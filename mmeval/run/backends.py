"""Creates the backend of each role of a run, and checks roles and options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mmeval import plugins
from mmeval.backend.agent.casting import (
    cast,
    identity_of,
    roles_called_by,
    with_called_roles,
)
from mmeval.backend.agent.contract import Agent, AgentBackend, agent_named
from mmeval.backend.agent.limits import USUAL_LIMITS, AnswerLimits
from mmeval.backend.agent.signature import PROMPTS
from mmeval.backend.batch_size import AUTO, BatchSize
from mmeval.backend.contract import (
    AnyBackend,
    BatchBackend,
    LocalWork,
    Loggable,
    Resumable,
    workers_of,
)
from mmeval.backend.create import check_members, create_backend
from mmeval.backend.probe import Probing
from mmeval.broker.checks.handshake import RoleHandshake
from mmeval.broker.checks.handshake_cache import HandshakeCache
from mmeval.broker.cluster.engine import RayEngine
from mmeval.broker.cluster.ray_cluster import RayCluster, check_installed
from mmeval.broker.outage import START_SECONDS
from mmeval.broker.runtime import BackendRuntime, mark_of
from mmeval.errors import StorageError, UnknownNameError, UsageError, did_you_mean
from mmeval.findings.finding import Finding, Subject
from mmeval.media.parts import PART_KINDS, PartKind
from mmeval.program.calls import MODEL
from mmeval.program.role_variants import check_variants
from mmeval.records.digests import digest
from mmeval.records.request import GenerationParams
from mmeval.run.options import BackendSpec
from mmeval.store.journal import Journal
from mmeval.store.writer_lock import WORKERS
from mmeval.system.folders import own_cache
from mmeval.system.wording import file_name
from mmeval.task.released.agents import agent_prompts, as_records
from mmeval.task.task import Task

if TYPE_CHECKING:
    from mmeval.broker.worker_pool import WorkerPool

ROLE_LIMIT = "max_connections"
"""The argument of a role that limits its calls in flight.

This argument overrides ``--max_connections``.
"""
GEN = "gen."
"""The prefix of generation parameters in a role's arguments: ``gen.temperature``."""

BATCHES = "batches"
"""The folder of a run for the notes from which it finds a server's batches again."""
JOBS = "jobs"
"""The folder of a run for the notes with which it continues a server's jobs."""


class Backends:
    """The backends of a run by role.

    Roles with equal specs share an instance and its limit. ``params`` contains the
    generation parameters of roles that set any.
    """

    def __init__(
        self, specs: Mapping[str, BackendSpec], limits: AnswerLimits = USUAL_LIMITS
    ) -> None:
        self.specs = dict(specs)
        self.named: dict[str, AnyBackend] = {}
        self.params: dict[str, GenerationParams] = {}
        for role, spec in specs.items():
            params = role_params(role, spec.args)
            if params is not None:
                self.params[role] = params
        self._limits: dict[int, int] = {}
        instances: dict[str, AnyBackend] = {}
        for role, spec in specs.items():
            key = f"instance {id(spec.instance)}"
            if spec.instance is None:
                # roles that differ only in generation parameters share a backend
                args = dict(spec.args)
                for name in spec.args:
                    if name.startswith(GEN):
                        del args[name]
                key = digest([spec.name, args])
            if key not in instances:
                instances[key] = self._instance(role, spec)
            self.named[role] = instances[key]
        cast(self.named, self.params, limits)

    def _instance(self, role: str, spec: BackendSpec) -> AnyBackend:
        """Creates the backend of a role, and records its own limit if it has one."""
        backend = spec.instance
        if backend is None:
            backend = create_backend(spec.name, backend_args(spec))
        else:
            check_members(spec.name, backend)
        if workers_of(backend):
            _check_elsewhere(role, spec)
        if ROLE_LIMIT in spec.args:
            limit = spec.args[ROLE_LIMIT]
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
                raise UsageError(
                    f"{ROLE_LIMIT}={limit!r}: a whole number of 1 or more is expected",
                    name=ROLE_LIMIT,
                )
            self._limits[id(backend)] = limit
        elif isinstance(backend, LocalWork) and backend.usual_connections:
            self._limits[id(backend)] = backend.usual_connections
        return backend

    @property
    def given_inputs(self) -> dict[str, frozenset[PartKind]]:
        """The input kinds that the user declares, by role."""
        return {role: _given_inputs(spec.args) for role, spec in self.specs.items()}

    @property
    def besides_model(self) -> dict[str, BackendSpec]:
        """The specs of all roles except the model."""
        return {role: spec for role, spec in self.specs.items() if role != MODEL}

    def identities(self) -> dict[str, Any]:
        """Returns the identity of the model, and of the roles that an agent calls."""
        model = identity_of(MODEL, self.named)
        identities = {"model": model}
        if "roles" in model:
            identities["roles"] = model.pop("roles")
        return identities

    def runtimes(
        self,
        live: Callable[[], int],
        *,
        limit: int,
        retries: int,
        batch_size: BatchSize = AUTO,
        journal: Journal | None = None,
        cluster: RayCluster | None = None,
        probe: Probing = "off",
        patience: float = START_SECONDS,
    ) -> dict[str, BackendRuntime]:
        """Creates the runtime of each role.

        Roles with the same backend share a runtime. Without the ``journal`` of a run
        folder, local models answer in this process and servers get no batches. With a
        ``cluster``, its actors run the local models.
        ``probe`` states when backends are asked what they can do. ``patience`` is the
        number of seconds to wait for a server that has never answered.
        """
        runtimes: dict[int, BackendRuntime] = {}
        roles_of_backend: dict[int, list[str]] = {}
        for role, backend in self.named.items():
            roles_of_backend.setdefault(id(backend), []).append(role)
            if id(backend) in runtimes:
                continue
            identity = identity_of(role, self.named)
            answerer = notes = None
            if journal is not None:
                folder = journal.folder.parent
                if isinstance(backend, Loggable):
                    backend.log_into(folder / WORKERS / f"{file_name(role)}-1.log")
                if isinstance(backend, Resumable):
                    backend.keep_notes_in(folder / JOBS / mark_of(backend.identity))
                answerer = self._pool(role, backend, journal, cluster)
                notes = folder / BATCHES
            runtime = BackendRuntime(
                backend,
                limit=self._limits.get(id(backend), limit),
                retries=retries,
                live=live,
                batch_size=batch_size,
                first=None if cluster is None else cluster.connect,
                answerer=answerer,
                notes=notes,
                patience=patience,
            )
            # A server's batch takes hours, which is too long for a handshake.
            is_served = runtime.role.batcher is None
            is_certain = backend.capabilities.is_certain
            if probe != "off" and is_served and not is_certain:
                given = _given_inputs(self.specs[role].args)
                runtime.handshake = RoleHandshake(
                    runtime, _handshake_cache(), given=given, full=probe == "full"
                )
            # for the model, the run's identity covers the roles that it calls
            if role != MODEL:
                runtime.mark = mark_of(identity)
            runtimes[id(backend)] = runtime
        for key, runtime in runtimes.items():
            runtime.plays(roles_of_backend[key])
        return {role: runtimes[id(backend)] for role, backend in self.named.items()}

    def check_engine(self, engine: RayEngine | None) -> None:
        """Raises UsageError if none of these backends can use the engine.

        Raises MissingExtraError if it is not installed.
        """
        if engine is None:
            return
        local: dict[str, BatchBackend] = {}
        for role, backend in self.named.items():
            if isinstance(backend, BatchBackend):
                local[role] = backend
        if not local and not engine.score_workers:
            raise UsageError(
                "--engine ray has no effect, because this run has no local model. "
                "Leave it out, or add score_workers=N",
                name="--engine",
            )
        for role, backend in local.items():
            if len(workers_of(backend)) > 1:
                raise UsageError(
                    f"--engine ray and the arguments of the {role} both start copies. "
                    "Leave out data_parallel_size, copies and devices, or --engine",
                    name=role,
                )
            _check_elsewhere(role, self.specs[role])
        check_installed()

    def _pool(
        self,
        role: str,
        backend: AnyBackend,
        journal: Journal,
        cluster: RayCluster | None,
    ) -> WorkerPool | None:
        """Returns the worker pool of a backend, or None.

        It is None if the backend answers in this process.
        """
        cluster = cluster if isinstance(backend, BatchBackend) else None
        if cluster is None and not workers_of(backend):
            return None
        from mmeval.broker.worker_pool import WorkerPool, worker_jobs

        spec = self.specs[role]
        jobs = worker_jobs(
            role, backend, spec.name, backend_args(spec), journal.folder.parent
        )
        if cluster is None:
            # imported late, since it imports multiprocessing
            from mmeval.broker.worker import WorkerProcess

            return WorkerPool([WorkerProcess(job) for job in jobs], journal)
        from mmeval.broker.ray_worker import RayPool

        (job,) = jobs
        cluster.backends.add(spec.name)
        pools = set()
        for other in self.named.values():
            if isinstance(other, BatchBackend):
                pools.add(id(other))
        return RayPool(job, role, cluster, journal, share=len(pools))


def _given_inputs(args: Mapping[str, Any]) -> frozenset[PartKind]:
    """Returns the input kinds that the user declares for a role."""
    value = args.get("inputs") or ()
    names = value.split("+") if isinstance(value, str) else list(value)
    return frozenset(kind for kind in PART_KINDS if kind in names)


def _handshake_cache() -> HandshakeCache | None:
    """Returns the cache of handshakes, or None for a user without a home folder."""
    try:
        return HandshakeCache(own_cache() / "handshakes")
    except StorageError:
        return None


def _check_elsewhere(role: str, spec: BackendSpec) -> None:
    """Raises UsageError for a backend that another process cannot create."""
    how_to_fix = "name an installed plugin, or use one copy in this process"
    if spec.instance is not None:
        raise UsageError(
            f"the {role} is an object of this process, but its copies run in other "
            f"processes; {how_to_fix}",
            name=role,
        )
    if plugins.is_of_script("mmeval.model_backends", spec.name):
        raise UsageError(
            f"the backend {spec.name!r} of the {role} is registered in this process "
            f"only; {how_to_fix}",
            name=spec.name,
        )


def backend_args(spec: BackendSpec) -> dict[str, Any]:
    """Returns the arguments that the backend of a role receives.

    The prompts of an agent are in the words of the spec, unless its own arguments name
    other prompts. Raises MissingDataError for a released prompt that is not in the
    cache.
    """
    kept = {}
    for name, value in spec.args.items():
        if name != ROLE_LIMIT and not name.startswith(GEN):
            kept[name] = value
    if spec.words and PROMPTS not in kept:
        agent = agent_named(spec.name)
        prompts = {} if agent is None else agent_prompts(agent, spec.words)
        if prompts:
            kept[PROMPTS] = as_records(prompts)
    return kept


def role_params(role: str, args: Mapping[str, Any]) -> GenerationParams | None:
    """Returns the generation parameters in a role's arguments, or None.

    Raises UsageError if the role is the model and its arguments contain such
    parameters.
    """
    params = {}
    for name, value in args.items():
        if name.startswith(GEN):
            params[name.removeprefix(GEN)] = value
    if params and role == MODEL:
        raise UsageError(
            f"{GEN}{next(iter(params))} is for other roles; for the model, use "
            "--gen_kwargs",
            name=GEN,
        )
    return GenerationParams.from_mapping(params) if params else None


def check_roles(backends: Mapping[str, AnyBackend], tasks: Sequence[Task]) -> None:
    """Raises UsageError for a role that no task calls."""
    called = _called_roles(
        tasks, backends, lambda role: roles_called_by(backends, role)
    )
    check_variants(backends, _roles_by_kind(tasks))
    for role in backends:
        if role in called:
            continue
        known, agent_roles = set(called), set[str]()
        for backend in backends.values():
            if isinstance(backend, AgentBackend):
                known.update(backend.agent.signature.roles)
                agent_roles.update(backend.agent.possible_roles)
        others = sorted(known - {MODEL})
        hint = did_you_mean(role, {*others, *agent_roles})
        callable_roles = ", ".join(others) or "only the model"
        advice = "" if hint else "; leave it out"
        raise UsageError(
            f"--role {role}: no chosen task calls this role{hint} "
            f"(they call {callable_roles}){advice}",
            name=role,
            known=others,
        )


def check_role_names(specs: Mapping[str, BackendSpec], tasks: Sequence[Task]) -> None:
    """Raises UsageError for a role that no task calls and that looks misspelt.

    The check runs before the backend of the role is created.
    """
    check_variants(specs, _roles_by_kind(tasks))
    called = set(_called_roles(tasks, specs, lambda role: roles_of(specs, role)))
    for spec in specs.values():
        agent = _agent(spec)
        if agent is not None:
            called.update(agent.possible_roles)
    for role in specs:
        if role not in called and (hint := did_you_mean(role, called - {MODEL})):
            raise UsageError(
                f"--role {role}: no chosen task calls this role{hint}",
                name=role,
                known=sorted(called),
            )


def roles_of(specs: Mapping[str, BackendSpec], role: str) -> tuple[str, ...]:
    """Returns the roles that a role calls, if it is an agent.

    This function does not create a backend.
    """
    agent = _agent(specs[role]) if role in specs else None
    return () if agent is None else agent.asks(specs)


def _agent(spec: BackendSpec) -> Agent | None:
    if spec.instance is None:
        return agent_named(spec.name)
    return spec.instance.agent if isinstance(spec.instance, AgentBackend) else None


def _called_roles(
    tasks: Sequence[Task],
    present: Collection[str],
    asks: Callable[[str], Sequence[str]],
) -> tuple[str, ...]:
    """Returns all roles that the tasks call.

    These are the model, the roles that task files and metrics name, and the roles that
    agents among these call.
    """
    roles = [MODEL]
    for task in tasks:
        for metric in task.metrics:
            roles.extend(metric.bound.called_roles(present))
    for task in tasks:
        roles.extend(task.roles)
    return with_called_roles(roles, asks)


def _roles_by_kind(tasks: Sequence[Task]) -> set[str]:
    roles: set[str] = set()
    for task in tasks:
        for metric in task.metrics:
            roles.update(metric.bound.by_kind)
    return roles


def agent_prompts_asked(backends: Mapping[str, AnyBackend]) -> list[dict[str, Any]]:
    """Returns the records of the agents' prompts, without texts.

    The name of an agent precedes the name of its prompt, as in ``my_agent.plan``.
    """
    records: list[dict[str, Any]] = []
    for backend in backends.values():
        if isinstance(backend, AgentBackend):
            agent = backend.agent
            for record in backend.prompts.records(agent.prompt_names):
                records.append({**record, "name": f"{agent.name}.{record['name']}"})
    return records


def option_findings(
    backends: Mapping[str, AnyBackend], tasks: Sequence[Task]
) -> list[Finding]:
    """Returns findings for options of a task file that a role does not know.

    The role is called without these options. Raises UnknownNameError if the command
    line sets such an option for the model.
    """
    findings: list[Finding] = []
    for task in tasks:
        for role, params in ((MODEL, task.params), *task.roles.items()):
            if role not in backends:
                continue
            capabilities = backends[role].capabilities
            for name in capabilities.unknown_options(params):
                if role == MODEL and name in task.given_options:
                    names = ", ".join(sorted(capabilities.options or ())) or "none"
                    raise UnknownNameError(
                        "option of --gen_kwargs",
                        name,
                        capabilities.options or (),
                        f"The model knows: {names}.",
                    )
                subject = Subject(task.name, role=role)
                cause = f"called without the option {name}, which it does not know"
                findings.append(Finding("setting", subject, cause=cause))
    return findings


def batch_size_findings(
    backends: Mapping[str, AnyBackend], batch_size: BatchSize
) -> Iterator[Finding]:
    """Yields findings for a batch size without effect.

    Such a batch size is not an error, since the same command is often used with several
    backends.
    """
    if batch_size == AUTO:
        return
    local = [
        backend for backend in backends.values() if isinstance(backend, BatchBackend)
    ]
    subject = Subject(name=f"--batch_size {batch_size}")
    if not local:
        cause = (
            "it has no effect, because the backend takes one request at a time; "
            "--max_connections N sends several at once"
        )
        yield Finding("setting", subject, cause=cause)
    maximum = min(
        (backend.max_batch_size for backend in local), default=batch_size.rows
    )
    if batch_size.rows > maximum:
        cause = f"the backend takes at most {maximum:,} requests at a time"
        yield Finding("setting", subject, cause=cause)
