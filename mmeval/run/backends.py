"""Makes the backends of a run, one a role, and checks that the tasks ask them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mmeval import plugins
from mmeval.backend.agent.casting import asked_by, cast, identity_of, with_asked
from mmeval.backend.agent.contract import Agent, AgentBackend, agent_named
from mmeval.backend.agent.limits import USUAL_LIMITS, AnswerLimits
from mmeval.backend.batch_size import AUTO, BatchSize
from mmeval.backend.contract import (
    AnyBackend,
    BatchBackend,
    LocalWork,
    Logged,
    Resumable,
    workers_of,
)
from mmeval.backend.create import check_members, create_backend
from mmeval.broker.cluster.engine import RayEngine
from mmeval.broker.cluster.ray_cluster import RayCluster, check_installed
from mmeval.broker.runtime import BackendRuntime, mark_of
from mmeval.errors import UnknownNameError, UsageError, did_you_mean
from mmeval.findings.finding import Finding, Subject
from mmeval.program.calls import MODEL
from mmeval.program.role_variants import check_variants
from mmeval.records.digests import digest
from mmeval.records.request import GenerationParams
from mmeval.run.options import BackendSpec
from mmeval.store.journal import Journal
from mmeval.store.writer_lock import WORKERS
from mmeval.system.wording import file_name
from mmeval.task.task import Task

if TYPE_CHECKING:
    from mmeval.broker.worker_pool import WorkerPool

ROLE_LIMIT = "max_connections"
"""Among the arguments of a role: how many of its calls may be in flight, where
``--max_connections`` is not meant."""
GEN = "gen."
"""Begins those arguments of a role that are generation parameters, such as
``gen.temperature``."""

BATCHES = "batches"
"""In a run folder, what it takes to find the batches of a server again."""
JOBS = "jobs"
"""In a run folder, what it takes to go on with the jobs of a server."""


class Backends:
    """The backends of a run by role; equal specs share one instance and its limit.

    ``params`` are the generation parameters of roles that have some among their
    arguments.
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
        made: dict[str, AnyBackend] = {}
        for role, spec in specs.items():
            key = f"instance {id(spec.instance)}"
            if spec.instance is None:
                # roles with other generation parameters share a backend, too
                own = dict(spec.args)
                for name in spec.args:
                    if name.startswith(GEN):
                        del own[name]
                key = digest([spec.name, own])
            if key not in made:
                made[key] = self._made(role, spec)
            self.named[role] = made[key]
        cast(self.named, self.params, limits)

    def _made(self, role: str, spec: BackendSpec) -> AnyBackend:
        """The backend of a role, and its limit where it has one of its own."""
        backend = spec.instance
        if backend is None:
            backend = create_backend(spec.name, backend_args(spec.args))
        else:
            check_members(spec.name, backend)
        if workers_of(backend):
            _check_elsewhere(role, spec)
        if ROLE_LIMIT in spec.args:
            limit = spec.args[ROLE_LIMIT]
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
                raise UsageError(
                    f"{ROLE_LIMIT}={limit!r}: must be a whole number above 0",
                    name=ROLE_LIMIT,
                )
            self._limits[id(backend)] = limit
        elif isinstance(backend, LocalWork) and backend.usual_connections:
            self._limits[id(backend)] = backend.usual_connections
        return backend

    @property
    def besides_model(self) -> dict[str, BackendSpec]:
        """The roles that are asked besides the model."""
        return {role: spec for role, spec in self.specs.items() if role != MODEL}

    def identities(self) -> dict[str, Any]:
        """The model, and for an agent every role that is asked because of it."""
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
    ) -> dict[str, BackendRuntime]:
        """How each role is asked; roles with the same backend share its limit. Without
        the ``journal`` of a run folder a local model answers in this process, and a
        server gets no batches. Of a ``cluster`` actors answer for every local model."""
        made: dict[int, BackendRuntime] = {}
        players: dict[int, list[str]] = {}
        for role, backend in self.named.items():
            players.setdefault(id(backend), []).append(role)
            if id(backend) in made:
                continue
            identity = identity_of(role, self.named)
            answerer = notes = None
            if journal is not None:
                folder = journal.folder.parent
                if isinstance(backend, Logged):
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
            )
            # the roles that the model asks are part of the run's identity
            if role != MODEL:
                runtime.mark = mark_of(identity)
            made[id(backend)] = runtime
        for key, runtime in made.items():
            runtime.plays(players[key])
        return {role: made[id(backend)] for role, backend in self.named.items()}

    def check_engine(self, engine: RayEngine | None) -> None:
        """Raises UsageError for an engine that cannot answer for these backends, and
        MissingExtraError without it."""
        if engine is None:
            return
        local: dict[str, BatchBackend] = {}
        for role, backend in self.named.items():
            if isinstance(backend, BatchBackend):
                local[role] = backend
        if not local and not engine.score_workers:
            raise UsageError(
                "--engine ray has no effect here: no backend of this run answers "
                "batches by itself (a server is asked "
                "at its address); leave it out, or give it score_workers=N",
                name="--engine",
            )
        for role, backend in local.items():
            if len(workers_of(backend)) > 1:
                raise UsageError(
                    f"--engine ray starts the copies of the {role}, and so do its own "
                    "arguments, on this machine: "
                    "leave out those (data_parallel_size, copies, devices), or "
                    "--engine",
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
        """The copies of a backend; None where it answers in this process."""
        cluster = cluster if isinstance(backend, BatchBackend) else None
        if cluster is None and not workers_of(backend):
            return None
        from mmeval.broker.worker_pool import WorkerPool, worker_jobs

        spec = self.specs[role]
        jobs = worker_jobs(
            role, backend, spec.name, backend_args(spec.args), journal.folder.parent
        )
        if cluster is None:
            # with what it needs of multiprocessing
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


def _check_elsewhere(role: str, spec: BackendSpec) -> None:
    """Raises UsageError for a backend that another process could not make."""
    how_to_fix = (
        "give it by the name of an installed plugin, or ask for one copy in this "
        "process"
    )
    if spec.instance is not None:
        raise UsageError(
            f"the {role} was made in this process, and its copies would run in "
            f"others: {how_to_fix}",
            name=role,
        )
    if plugins.is_of_script("mmeval.model_backends", spec.name):
        raise UsageError(
            f"the backend {spec.name!r} of the {role} is known to this process alone: "
            f"{how_to_fix}",
            name=spec.name,
        )


def backend_args(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a role that are its backend's."""
    own = {}
    for name, value in args.items():
        if name != ROLE_LIMIT and not name.startswith(GEN):
            own[name] = value
    return own


def role_params(role: str, args: Mapping[str, Any]) -> GenerationParams | None:
    """The generation parameters among the arguments of a role. Raises UsageError for
    those of the model."""
    given = {}
    for name, value in args.items():
        if name.startswith(GEN):
            given[name.removeprefix(GEN)] = value
    if given and role == MODEL:
        raise UsageError(
            f"{GEN}{next(iter(given))} is for other roles; for the model it is a "
            "flag, --gen_kwargs",
            name=GEN,
        )
    return GenerationParams.from_mapping(given) if given else None


def check_roles(backends: Mapping[str, AnyBackend], tasks: Sequence[Task]) -> None:
    """Raises UsageError for a role that nothing asks."""
    asked = _asked(tasks, backends, lambda role: asked_by(backends, role))
    check_variants(backends, _by_kind(tasks))
    for role in backends:
        if role in asked:
            continue
        known, of_agents = set(asked), set[str]()
        for backend in backends.values():
            if isinstance(backend, AgentBackend):
                known.update(backend.agent.signature.roles)
                of_agents.update(backend.agent.may_ask)
        others = sorted(known - {MODEL})
        near = did_you_mean(role, {*others, *of_agents})
        asks = ", ".join(others) or "the model alone"
        advice = "" if near else "; leave it out"
        raise UsageError(
            f"--role {role}: no chosen task asks this role{near} "
            f"(they ask {asks}){advice}",
            name=role,
            known=others,
        )


def check_role_names(specs: Mapping[str, BackendSpec], tasks: Sequence[Task]) -> None:
    """Raises UsageError for an unasked role that looks misspelt.
    This happens before its backend is made."""
    check_variants(specs, _by_kind(tasks))
    asked = set(_asked(tasks, specs, lambda role: roles_of(specs, role)))
    for spec in specs.values():
        agent = _agent(spec)
        if agent is not None:
            asked.update(agent.may_ask)
    for role in specs:
        if role not in asked and (near := did_you_mean(role, asked - {MODEL})):
            raise UsageError(
                f"--role {role}: no chosen task asks this role{near}",
                name=role,
                known=sorted(asked),
            )


def roles_of(specs: Mapping[str, BackendSpec], role: str) -> tuple[str, ...]:
    """The roles that a role asks itself, with backends that need not be made yet."""
    agent = _agent(specs[role]) if role in specs else None
    return () if agent is None else agent.asks(specs)


def _agent(spec: BackendSpec) -> Agent | None:
    if spec.instance is None:
        return agent_named(spec.name)
    return spec.instance.agent if isinstance(spec.instance, AgentBackend) else None


def _asked(
    tasks: Sequence[Task],
    present: Collection[str],
    asks: Callable[[str], Sequence[str]],
) -> tuple[str, ...]:
    """The model, the roles that task files and metrics name, and those that agents in
    their place ask."""
    roles = [MODEL]
    for task in tasks:
        for metric in task.metrics:
            roles.extend(metric.bound.asked_roles(present))
    for task in tasks:
        roles.extend(task.roles)
    return with_asked(roles, asks)


def _by_kind(tasks: Sequence[Task]) -> set[str]:
    roles: set[str] = set()
    for task in tasks:
        for metric in task.metrics:
            roles.update(metric.bound.by_kind)
    return roles


def option_findings(
    backends: Mapping[str, AnyBackend], tasks: Sequence[Task]
) -> list[Finding]:
    """The parameters of a modality that a task file gives and a role does not know: it
    is asked without them. Raises UnknownNameError where the command line gives one to
    the model."""
    found: list[Finding] = []
    for task in tasks:
        for role, params in ((MODEL, task.params), *task.roles.items()):
            if role not in backends:
                continue
            known = backends[role].capabilities
            for name in known.unknown_options(params):
                if role == MODEL and name in task.given_options:
                    knows = ", ".join(sorted(known.options or ())) or "none"
                    raise UnknownNameError(
                        "option of --gen_kwargs",
                        name,
                        known.options or (),
                        f"The model knows {knows}.",
                    )
                subject = Subject(task.name, role=role)
                cause = f"asked without the option {name}, which it does not know"
                found.append(Finding("setting", subject, cause=cause))
    return found


def batch_size_findings(
    backends: Mapping[str, AnyBackend], batch_size: BatchSize
) -> Iterator[Finding]:
    """A batch size without effect: commands are often shared between backends."""
    if batch_size == AUTO:
        return
    local = [
        backend for backend in backends.values() if isinstance(backend, BatchBackend)
    ]
    subject = Subject(name=f"--batch_size {batch_size}")
    if not local:
        cause = (
            "no effect: the backend takes one request at a time, "
            "--max_connections N sends several together"
        )
        yield Finding("setting", subject, cause=cause)
    most = min((backend.max_batch_size for backend in local), default=batch_size.rows)
    if batch_size.rows > most:
        cause = f"the backend takes at most {most:,} requests at a time"
        yield Finding("setting", subject, cause=cause)
