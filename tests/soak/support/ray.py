"""A Ray cluster of several nodes on this machine, and runs of one command that it
answers."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from mmeval.system.json_lines import from_line
from tests.support.cli import Ended, Running, mmeval_process, started
from tests.support.parallel import answered
from tests.support.questions import questions, toy_environment

_SLOW_TO_BELIEVE = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
}
"""A node that is gone is noticed within seconds."""
_PATIENT = {"RAY_memory_monitor_refresh_ms": "0"}
"""Other tests may fill the memory of this machine: nothing is killed for that."""


class Nodes:
    """A head that has no room for work, and the nodes that a test adds; in all of them
    the toys are plugins."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from ray.cluster_utils import Cluster
        self.env = {**toy_environment(folder), **_PATIENT}
        self._cluster = Cluster()
        self._make(num_cpus=0, include_dashboard=False, _system_config=_SLOW_TO_BELIEVE)

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    @contextmanager
    def node(
        self, cpus: int = 1, env: Mapping[str, str] | None = None, **given: Any
    ) -> Iterator[Any]:
        """A node, until the block ends."""
        made = self.add(cpus, env, **given)
        try:
            yield made
        finally:
            self.remove(made)

    def add(
        self, cpus: int = 1, env: Mapping[str, str] | None = None, **given: Any
    ) -> Any:
        return self._make(env, num_cpus=cpus, **given)

    def remove(self, node: Any) -> None:
        """As the power does."""
        if node in self._cluster.worker_nodes:
            self._cluster.remove_node(node, allow_graceful=False)

    def lose_head(self) -> None:
        self._cluster.head_node.kill_gcs_server(check_alive=False)

    def close(self) -> None:
        self._cluster.shutdown()

    def _make(self, env: Mapping[str, str] | None = None, **given: Any) -> Any:
        with pytest.MonkeyPatch.context() as patched:
            for name, value in {**self.env, **(env or {})}.items():
                patched.setenv(name, value)
            return self._cluster.add_node(**given)


class RayRuns:
    """Runs of one command in a folder of their own: questions that toys answer in a
    cluster."""

    def __init__(self, folder: Path, nodes: Nodes, rows: int) -> None:
        self.folder, self.rows = folder, rows
        self._nodes, self._asked = nodes, questions(folder, range(rows))

    def moved(self, nodes: Nodes) -> Self:
        """The same runs, in another cluster."""
        self._nodes = nodes
        return self

    def command(self, engine: str = "workers=2", **args: Any) -> list[str]:
        """The flags of a run; ``args`` are those of the toy."""
        given = ",".join(
            f"{name}={value}"
            for name, value in {
                "folder": self.folder,
                "max_batch_size": 2,
                **args,
            }.items()
        )
        where = f"ray,address={self._nodes.address},gpus=0,{engine}"
        return [
            *self._asked,
            "--model",
            "toy_parallel",
            "--model_args",
            given,
            "--engine",
            where,
        ]

    def whole(self, engine: str = "workers=2", **args: Any) -> Ended:
        return mmeval_process(
            *self.command(engine, **args), env=self._nodes.env, cwd=self.folder
        )

    @contextmanager
    def begun(self, engine: str = "workers=2", **args: Any) -> Iterator[Running]:
        with started(
            *self.command(engine, **args),
            env=self._nodes.env,
            cwd=self.folder,
            start_new_session=True,
        ) as running:
            yield running

    def at_least(self, count: int) -> bool:
        return len(answered(self.folder)) >= count

    def check(self) -> None:
        """No answer is lost and none repeated: each question has one line of an
        answer."""
        lines = [
            from_line(line)
            for file in self._files()
            for line in file.read_bytes().splitlines()
            if line
        ]
        answers = Counter(line["k"] for line in lines if "r" in line)
        assert (len(answers), set(answers.values())) == (self.rows, {1})

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("runs/*/default/journal/*.jsonl"))

    def segments(self) -> int:
        return len(self._files())
