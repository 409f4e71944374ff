"""Connects to a Ray cluster, and checks its nodes before they are used."""

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
from mmeval.broker.cluster.node import RunContext, code_digest, enter
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
"""Ray's label that selects the node of an actor."""
NODE_SECONDS = 120.0
"""Seconds that a node may take to start a process that checks the run folder."""
REACH_SECONDS = 3.0
_START_ONE = "start one by 'ray start --head', or name another with address=HOST:PORT"
WATCH_SECONDS = 5.0
"""Seconds between two checks of the cluster's head and of new nodes."""
ROOM_SECONDS = 60.0
"""Seconds that an actor waits for free resources before a warning is logged."""


class RayNode(NamedTuple):
    """A machine of the cluster with its total resources."""

    id: str
    name: str
    cpus: float
    gpus: float
    address: tuple[str, int]
    """The address of Ray's process on the node. It is unreachable if the node is
    gone."""

    def places(self, engine: RayEngine) -> int:
        """Returns the number of workers that fit on the node if nothing else runs."""
        resources = [(self.cpus, engine.cpus), (self.gpus, engine.gpus)]
        return min(
            (int(total // needed) for total, needed in resources if needed), default=1
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.cpus:g} CPU, {self.gpus:g} GPU"


class NodePlaces(NamedTuple):
    """A node with the number of workers that fit there."""

    node: RayNode
    places: int

    def __str__(self) -> str:
        return f"{self.node}, workers that fit: {self.places}"


def check_installed() -> None:
    """Raises MissingExtraError if Ray is not installed. Ray is not imported."""
    if importlib.util.find_spec("ray") is None:
        raise MissingExtraError("ray", "ray")


class RayCluster:
    """The cluster of a run. All roles and scorers share one connection."""

    def __init__(self, engine: RayEngine, run: Path | None = None) -> None:
        self.engine = engine
        self.backends: set[str] = set()
        """The names of the backends that the workers create."""
        self._run = run
        self._shared: RunContext | None = None
        self._connecting, self._closed = threading.Lock(), threading.Event()
        self._ray: Any = None
        self._is_ours = self._is_checked = False
        self._head = ("", 0)
        self._known_nodes: dict[str, RayNode] = {}
        self._classes: dict[type, Any] = {}
        self._left_out: dict[str, str] = {}
        """The reason why each node is left out, by node id. It is empty for a node that
        is used."""

    @property
    def shared(self) -> RunContext:
        assert self._shared is not None
        return self._shared

    def connect(self) -> Any:
        """Connects and checks every node.

        Returns the module ``ray``. Raises UsageError if a node cannot access the run
        folder, or if no worker fits.
        """
        with self._connecting:
            if self._ray is None:
                connected: Future[Any] = Future()
                threading.Thread(
                    target=self._hold, args=(connected,), name="mmeval-ray", daemon=True
                ).start()
                self._ray = connected.result()
            if self._run is not None and not self._is_checked:
                folder = (self._run / "workers").absolute()
                folder.mkdir(parents=True, exist_ok=True)
                # Delete the tokens of killed processes. The pattern is exact, since a
                # log of a role may have a similar name.
                for stale in folder.glob(f"token-{'[0-9a-f]' * 8}"):
                    stale.unlink()
                token = folder / f"token-{secrets.token_hex(4)}"
                secret = secrets.token_hex(16)
                token.write_text(secret)
                backends = tuple(sorted(self.backends))
                code = code_digest(backends)
                self._shared = RunContext(
                    str(Path.cwd()), token, secret, backends, code
                )
                self.check_nodes(self._closed)
                self._is_checked = True
        return self._ray

    def nodes(self) -> list[RayNode]:
        """Returns the nodes that are alive, including nodes that are left out."""
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
        """Returns the node with an id, or None if it was gone before any check."""
        if id not in self._known_nodes:
            self._known_nodes.update((node.id, node) for node in self.nodes())
        return self._known_nodes.get(id)

    def places(self) -> int:
        """Returns the number of workers that fit in addition to the scoring processes.

        A scoring process takes one CPU.
        """
        engine = self.engine
        useful = [node for node in self.nodes() if not self._left_out.get(node.id)]
        room = spare = 0
        for node in useful:
            places = node.places(engine)
            room += places
            spare += int(node.cpus - places * engine.cpus)
        missing = max(0, engine.score_workers - spare)
        if engine.cpus:
            room -= math.ceil(missing / engine.cpus)
        return max(1, room)

    def check_nodes(self, stop: threading.Event) -> None:
        """Checks new nodes, until ``stop`` is set.

        Raises the errors of ``connect``, and BackendDownError if the head is gone.
        """
        self.reach_head()
        alive = self.nodes()
        engine = self.engine
        useful: list[RayNode] = []
        for node in alive:
            can_score = engine.score_workers > 0 and node.cpus >= 1
            if can_score or node.places(engine) > 0:
                useful.append(node)
        if not useful:
            has = "; ".join(map(str, alive[:5]))
            raise UsageError(
                "no worker fits on a node of the Ray cluster, because it needs "
                f"{engine.cpus:g} CPU and {engine.gpus:g} GPU (nodes: "
                f"{len(alive):,}; {has}). Lower these numbers, as in --engine "
                "ray,cpus=1,gpus=0"
            )
        blind: dict[str, str] = {}
        for node, error in self._node_checks(
            [node for node in useful if node.id not in self._left_out], stop
        ):
            self._left_out[node.id] = "" if error is None else short_message(error)
            if isinstance(error, UsageError):
                blind[node.name] = str(error)
            elif error is not None:
                log.warning(
                    "the node %s is left out: %s", node.name, self._left_out[node.id]
                )
        if blind:
            raise UsageError(
                f"{listed(list(blind), 3)} of the Ray cluster cannot access the run "
                "folder at its path: "
                f"{next(iter(blind.values()))}. Set --output_path to a folder that all "
                "nodes share, or run --shard I/N on each machine and join the parts "
                "with mmeval merge",
                name=next(iter(blind)),
            )
        if all(self._left_out.get(node.id, "") for node in useful):
            why = self._left_out[useful[0].id]
            raise UsageError(
                f"no node of the Ray cluster can be used; {useful[0].name}: {why}"
            )

    def reach_head(self) -> None:
        """Raises BackendDownError if the head is gone."""
        if not any(_is_reachable(self._head) for _ in range(3)):
            raise BackendDownError(
                f"the head of the Ray cluster at {self._head[0]}:{self._head[1]} is "
                "gone",
                "start it",
            )

    def nodes_with_places(self) -> tuple[NodePlaces, ...]:
        """Returns every node with the number of workers that fit there. Starts
        nothing."""
        self.connect()
        try:
            return tuple(
                NodePlaces(node, node.places(self.engine)) for node in self.nodes()
            )
        finally:
            self.close()

    def options(self, cpus: float, gpus: float = 0.0) -> Mapping[str, Any]:
        """Returns Ray's options for an actor: its resources, and the nodes to avoid."""
        options: dict[str, Any] = {"num_cpus": cpus, "num_gpus": gpus}
        options["max_restarts"] = 0
        left_out = sorted(node for node, why in self._left_out.items() if why)
        if left_out:
            options["label_selector"] = {NODE_ID: f"!in({','.join(left_out)})"}
        return options

    def actor_class(self, actor: type) -> Any:
        """Returns the actor class of a Python class. The class is sent to the cluster
        once."""
        if actor not in self._classes:
            self._classes[actor] = self.connect().remote(actor)
        return self._classes[actor]

    def is_gone(self, node: RayNode) -> bool:
        """Returns True if a node is gone, with everything that ran there."""
        return not _is_reachable(node.address)

    def kill(self, actor: Any) -> None:
        with contextlib.suppress(Exception):  # the actor or the head may be gone
            self._ray.kill(actor)

    def close(self) -> None:
        if self._shared is not None:
            self._shared.token.unlink(missing_ok=True)
        if self._is_ours and _is_reachable(self._head):
            self._ray.shutdown()
        self._closed.set()

    def _hold(self, connected: Future[Any]) -> None:
        """Connects, and keeps the thread alive until ``close``."""
        # a cluster that Ray starts here ends with the thread that started it
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
            # Ray would retry for minutes, with messages
            if host and port.isdigit() and not _is_reachable((host, int(port))):
                raise UsageError(
                    f"there is no Ray cluster at {address}; {_START_ONE}",
                    name="address",
                )
            logging.getLogger("ray").setLevel(logging.CRITICAL)
            # Ray prints messages about dead workers to standard output, and has no
            # option to turn them off.
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
                    f"{short_message(error)}); {_START_ONE}",
                    name="address",
                ) from None
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        self._head = (host, int(port))
        return ray

    def _node_checks(
        self, nodes: Sequence[RayNode], stop: threading.Event
    ) -> Iterator[tuple[RayNode, Exception | None]]:
        """Yields each node with the error of its check, or None.

        The error is a UsageError if the node cannot access the folders of the run.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        look, once = self._ray.remote(enter), {"num_cpus": 0, "max_retries": 0}
        on_nodes = [
            NodeAffinitySchedulingStrategy(node.id, soft=False) for node in nodes
        ]
        refs = [
            look.options(**once, scheduling_strategy=strategy).remote(self.shared)
            for strategy in on_nodes
        ]
        until, pending = time.monotonic() + NODE_SECONDS, refs
        while pending and time.monotonic() < until:
            if stop.is_set():
                return
            _, pending = self._ray.wait(pending, num_returns=len(pending), timeout=0.2)
        for node, ref in zip(nodes, refs, strict=True):
            try:
                self._ray.get(ref, timeout=0)
            except self._ray.exceptions.GetTimeoutError:
                yield (
                    node,
                    MmevalError(
                        f"it has not started a process in {NODE_SECONDS:g} s; see "
                        "Ray's logs on the node"
                    ),
                )
            except Exception as error:  # Ray wraps the error of the call
                yield node, getattr(error, "cause", None) or error
            else:
                yield node, None


def short_message(error: Exception) -> str:
    """Returns the message of Ray's error, or of its cause, as one short line."""
    error = getattr(error, "cause", None) or error
    return shortened(" ".join(message_of(error).split()), 300)


def _is_reachable(address: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(address, timeout=REACH_SECONDS):
            return True
    except OSError:
        return False
