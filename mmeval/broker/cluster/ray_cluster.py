"""A cluster of Ray: connected to quietly, its nodes looked at before they are given
work, its head watched."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.broker.cluster.engine import RayEngine
from mmeval.broker.cluster.node import Shared, code_digest, enter
from mmeval.errors import (
    BackendDownError,
    MissingExtraError,
    MmevalError,
    UsageError,
    message_of,
)
from mmeval.system.extras import need
from mmeval.system.wording import listed, shortened

log = logging.getLogger(__name__)

NODE_ID = "ray.io/node-id"
"""The label by which Ray lets an actor choose its node."""
NODE_SECONDS = 120.0
"""So long a node may take to start a process that looks at the run folder."""
REACH_SECONDS = 3.0
_START_ONE = "start one by 'ray start --head', or name another with address=HOST:PORT"
WATCH_SECONDS = 5.0
"""How often the cluster is looked at: its head, and nodes that are new."""
ROOM_SECONDS = 60.0
"""After so long without room for a process that is reported."""


class RayNode(NamedTuple):
    """A machine of the cluster, and what it has in all."""

    id: str
    name: str
    cpus: float
    gpus: float
    address: tuple[str, int]
    """Of Ray's own process there, which is gone when the node is."""

    def places(self, engine: RayEngine) -> int:
        """How many workers it has room for where nothing else runs."""
        each = [(self.cpus, engine.cpus), (self.gpus, engine.gpus)]
        return min(
            (int(there // wanted) for there, wanted in each if wanted), default=1
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.cpus:g} CPU, {self.gpus:g} GPU"


class NodePlaces(NamedTuple):
    """A node, and how many workers find room there."""

    node: RayNode
    places: int

    def __str__(self) -> str:
        return f"{self.node}, workers that fit: {self.places}"


def check_installed() -> None:
    """Raises MissingExtraError without Ray; it is not imported."""
    if importlib.util.find_spec("ray") is None:
        raise MissingExtraError("ray", "ray")


class RayCluster:
    """The cluster of a run, connected to once, by whichever of its users comes
    first."""

    def __init__(self, engine: RayEngine, run: Path | None = None) -> None:
        self.engine = engine
        self.backends: set[str] = set()
        """Those that its workers make."""
        self._run = run
        self._shared: Shared | None = None
        self._connecting, self._closed = threading.Lock(), threading.Event()
        self._ray: Any = None
        self._is_ours = self._is_looked_at = False
        self._head = ("", 0)
        self._seen: dict[str, RayNode] = {}
        self._classes: dict[type, Any] = {}
        self._looked_at: dict[str, str] = {}
        """By node, why it is left out; empty for one that is not."""

    @property
    def shared(self) -> Shared:
        assert self._shared is not None
        return self._shared

    def connect(self) -> Any:
        """Connect, and look at every node. Returns the module ``ray``. Raises
        UsageError where a node does not see the run folder, or none has room for a
        worker."""
        with self._connecting:
            if self._ray is None:
                connected: Future[Any] = Future()
                threading.Thread(
                    target=self._hold, args=(connected,), name="mmeval-ray", daemon=True
                ).start()
                self._ray = connected.result()
            if self._run is not None and not self._is_looked_at:
                folder = (self._run / "workers").absolute()
                folder.mkdir(parents=True, exist_ok=True)
                # by a process that was killed; the log of a role may begin like that
                for left in folder.glob(f"token-{'[0-9a-f]' * 8}"):
                    left.unlink()
                token = folder / f"token-{secrets.token_hex(4)}"
                secret = secrets.token_hex(16)
                token.write_text(secret)
                backends = tuple(sorted(self.backends))
                code = code_digest(backends)
                self._shared = Shared(str(Path.cwd()), token, secret, backends, code)
                self.look(self._closed)
                self._is_looked_at = True
        return self._ray

    def nodes(self) -> list[RayNode]:
        """The nodes that are there, those left out included."""
        nodes: list[RayNode] = []
        for row in self._ray.nodes():
            if not row["Alive"]:
                continue
            id, host = row["NodeID"], row["NodeManagerAddress"]
            name = row.get("NodeName") or ""
            if name in ("", host):
                name = f"{row['NodeManagerHostname']} ({id[:8]})"
            resources = row["Resources"]
            cpus, gpus = resources.get("CPU", 0.0), resources.get("GPU", 0.0)
            address = (host, row["NodeManagerPort"])
            nodes.append(RayNode(id, name, cpus, gpus, address))
        return nodes

    def node(self, id: str) -> RayNode | None:
        """A node by its id; None for one that was gone before it was seen."""
        if id not in self._seen:
            self._seen.update((node.id, node) for node in self.nodes())
        return self._seen.get(id)

    def places(self) -> int:
        """How many workers find room beside the processes that score, which take a CPU
        each."""
        engine = self.engine
        useful = [node for node in self.nodes() if not self._looked_at.get(node.id)]
        room = spare = 0
        for node in useful:
            places = node.places(engine)
            room += places
            spare += int(node.cpus - places * engine.cpus)
        missing = max(0, engine.score_workers - spare)
        if engine.cpus:
            room -= math.ceil(missing / engine.cpus)
        return max(1, room)

    def look(self, stop: threading.Event) -> None:
        """Look at the nodes that are new, until ``stop``.
        Raises as ``connect`` does, and BackendDownError without a head."""
        self.reach_head()
        there = self.nodes()
        engine = self.engine
        useful: list[RayNode] = []
        for node in there:
            can_score = engine.score_workers > 0 and node.cpus >= 1
            if can_score or node.places(engine) > 0:
                useful.append(node)
        if not useful:
            has = "; ".join(map(str, there[:5]))
            raise UsageError(
                "no node of the Ray cluster has room for a worker, which takes "
                f"{engine.cpus:g} CPU and {engine.gpus:g} GPU (nodes: "
                f"{len(there):,}; {has}); give less to each worker, as in --engine "
                "ray,cpus=1,gpus=0"
            )
        blind: dict[str, str] = {}
        for node, error in self._views(
            [node for node in useful if node.id not in self._looked_at], stop
        ):
            self._looked_at[node.id] = "" if error is None else in_a_line(error)
            if isinstance(error, UsageError):
                blind[node.name] = str(error)
            elif error is not None:
                log.warning(
                    "the node %s is left out: %s", node.name, self._looked_at[node.id]
                )
        if blind:
            raise UsageError(
                f"{listed(list(blind), 3)} of the Ray cluster cannot see the run "
                "folder as this machine does: "
                f"{next(iter(blind.values()))}. Every node writes its answers there: "
                "name a path that all of them "
                "share with --output_path, or run --shard I/N on each machine and "
                "join the parts by mmeval merge",
                name=next(iter(blind)),
            )
        if all(self._looked_at.get(node.id, "") for node in useful):
            why = self._looked_at[useful[0].id]
            raise UsageError(
                f"no node of the Ray cluster can be used; of {useful[0].name} it is "
                f"known: {why}"
            )

    def reach_head(self) -> None:
        """Raises BackendDownError without a head."""
        if not any(_reached(self._head) for _ in range(3)):
            raise BackendDownError(
                f"the head of the Ray cluster at {self._head[0]}:{self._head[1]} is "
                "gone",
                "start it",
            )

    def seen(self) -> tuple[NodePlaces, ...]:
        """Every node with its places; nothing is started on them."""
        self.connect()
        try:
            return tuple(
                NodePlaces(node, node.places(self.engine)) for node in self.nodes()
            )
        finally:
            self.close()

    def options(self, cpus: float, gpus: float = 0.0) -> Mapping[str, Any]:
        """What Ray is given with an actor: what it takes, and where it may be."""
        options: dict[str, Any] = {"num_cpus": cpus, "num_gpus": gpus}
        options["max_restarts"] = 0
        left_out = sorted(node for node, why in self._looked_at.items() if why)
        if left_out:
            options["label_selector"] = {NODE_ID: f"!in({','.join(left_out)})"}
        return options

    def actor_class(self, made: type) -> Any:
        """What starts actors of a class, which is sent to the cluster once."""
        if made not in self._classes:
            self._classes[made] = self.connect().remote(made)
        return self._classes[made]

    def is_gone(self, node: RayNode) -> bool:
        """Whether a node is gone, and with it whatever ran there."""
        return not _reached(node.address)

    def kill(self, actor: Any) -> None:
        with contextlib.suppress(Exception):  # it is gone, or what would end it is
            self._ray.kill(actor)

    def close(self) -> None:
        if self._shared is not None:
            self._shared.token.unlink(missing_ok=True)
        if self._is_ours and _reached(self._head):
            self._ray.shutdown()
        self._closed.set()

    def _hold(self, connected: Future[Any]) -> None:
        """Connect, and stay: what Ray starts here ends with the thread that has started
        it."""
        try:
            connected.set_result(self._connected())
        except BaseException as error:  # the thread that waits raises it
            connected.set_exception(error)
        else:
            self._closed.wait()

    def _connected(self) -> Any:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray = need("ray", "ray")
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            address = self.engine.address or os.environ.get("RAY_ADDRESS", "")
            host, _, port = address.rpartition(":")
            # Ray would try for minutes, and say so
            if host and port.isdigit() and not _reached((host, int(port))):
                raise UsageError(
                    f"there is no Ray cluster at {address}; {_START_ONE}",
                    name="address",
                )
            logging.getLogger("ray").setLevel(logging.CRITICAL)
            # It prints to standard output what raylets say of workers that die, and has
            # no switch.
            ray._private.worker.listen_error_messages = lambda *_: None
            quiet = {
                "include_dashboard": False,
                "log_to_driver": False,
                "configure_logging": False,
            }
            try:
                ray.init(
                    address=self.engine.address or None, namespace="mmeval", **quiet
                )
            except Exception as error:  # Ray raises many kinds
                where = f" at {self.engine.address}" if self.engine.address else ""
                raise UsageError(
                    f"the Ray cluster{where} cannot be used ({type(error).__name__}: "
                    f"{in_a_line(error)}); {_START_ONE}",
                    name="address",
                ) from None
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        self._head = (host, int(port))
        return ray

    def _views(
        self, nodes: Sequence[RayNode], stop: threading.Event
    ) -> Iterator[tuple[RayNode, Exception | None]]:
        """What each node meets that looks at what it has to share: UsageError where it
        does not see the folders."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        look, once = self._ray.remote(enter), {"num_cpus": 0, "max_retries": 0}
        there = [NodeAffinitySchedulingStrategy(node.id, soft=False) for node in nodes]
        asked = [
            look.options(**once, scheduling_strategy=strategy).remote(self.shared)
            for strategy in there
        ]
        until, left = time.monotonic() + NODE_SECONDS, asked
        while left and time.monotonic() < until:
            if stop.is_set():
                return
            _, left = self._ray.wait(left, num_returns=len(left), timeout=0.2)
        for node, ref in zip(nodes, asked, strict=True):
            try:
                self._ray.get(ref, timeout=0)
            except self._ray.exceptions.GetTimeoutError:
                yield (
                    node,
                    MmevalError(
                        f"it has not started a process in {NODE_SECONDS:g} s; look at "
                        "its logs of Ray"
                    ),
                )
            except Exception as error:  # Ray wraps what the call has raised
                yield node, getattr(error, "cause", None) or error
            else:
                yield node, None


def in_a_line(error: Exception) -> str:
    """The message of an error of Ray, which has many lines, or of what a call has
    raised."""
    error = getattr(error, "cause", None) or error
    return shortened(" ".join(message_of(error).split()), 300)


def _reached(address: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(address, timeout=REACH_SECONDS):
            return True
    except OSError:
        return False
