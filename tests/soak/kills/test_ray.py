"""A Ray cluster whose parts fail: no answer is lost, and none is given twice.

``MMEVAL_SOAK_NODES`` is how many nodes are killed. Tests share what they can: a node is
a dozen processes.
"""

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mmeval.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE
from tests.soak.support.doc_examples import blocks_run_by, commands
from tests.soak.support.ray import Nodes, RayRuns
from tests.support.cli import DEADLINE, QUIET, ROOT, gone, mmeval_process, wait_for
from tests.support.parallel import answered, notes

pytest.importorskip("ray")
pytestmark = pytest.mark.timeout(900)
HERE = "tests/soak/kills/test_ray.py"
KILLS = int(os.environ.get("MMEVAL_SOAK_NODES", "3"))


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    made = Nodes(tmp_path_factory.mktemp("cluster"))
    yield made
    made.close()


def pids(folder: Path, what: str = "answer") -> set[int]:
    return {note.pid for note in notes(folder, what)}


def test_two_nodes_are_shown_answer_and_score_and_nothing_is_asked_again(
    nodes: Nodes, tmp_path: Path
) -> None:
    runs = RayRuns(tmp_path, nodes, 16)
    with nodes.node(), nodes.node(cpus=2, node_name="big-node"):
        engine = f"ray,address={nodes.address},gpus=0"
        for words in ((*runs.command(), "--dry_run"), ("check", "--engine", engine)):
            shown = mmeval_process(*words, env=nodes.env, cwd=tmp_path)
            assert shown.code == EXIT_OK
            assert "big-node: 2 CPU, 0 GPU, workers that fit: 2" in shown.out
        assert answered(tmp_path) == []
        engine = "workers=2,score_workers=1"
        with runs.begun(engine, most=1) as running:
            wait_for(lambda: len(pids(tmp_path, "begin")) == 2, "a batch for each")
            (tmp_path / "go").touch()
            ended = running.ended()
        assert (ended.code, ended.warnings) == (EXIT_OK, ["this model is a toy"])
        runs.check()
        assert len(pids(tmp_path)) == 2
        assert runs.whole(broken="missing").code == EXIT_OK, "nothing is loaded"


def test_a_tiny_model_scores_as_on_this_machine(nodes: Nodes, tmp_path: Path) -> None:
    (block,) = blocks_run_by(f"{HERE}::test_a_tiny_model_scores_as_on_this_machine")
    (shown,) = (command.text for command in commands(block.text))
    run, _, engine = shown.removeprefix("mmeval ").partition(" --engine ")
    with nodes.node(cpus=2), nodes.node(cpus=2):
        engines = {"local": "local", "ray": f"{engine},address={nodes.address}"}
        for name, where in engines.items():
            words = (
                *run.split(),
                *QUIET,
                "--engine",
                where,
                "--output_path",
                str(tmp_path / name),
            )
            assert (
                mmeval_process(*words, env=nodes.env, cwd=tmp_path, timeout=600).code
                == EXIT_OK
            )
    local, ray = (
        [*tmp_path.glob(f"{name}/tiny/default/scores/*/*/scores.jsonl")]
        for name in engines
    )
    assert [file.read_bytes() for file in local] == [file.read_bytes() for file in ray]
    assert len(local) == 1


def test_nodes_that_join_are_used_and_are_killed_at_random_moments(
    nodes: Nodes, tmp_path: Path
) -> None:
    runs, draw = RayRuns(tmp_path, nodes, 120), random.Random(29)
    with nodes.node(), runs.begun("workers=auto", delay=0.1, most=100) as running:
        for kill in range(KILLS):
            with nodes.node():
                wait_for(
                    lambda before=kill: len(pids(tmp_path, "start")) > 1 + before,  # type: ignore[misc]
                    "the actor of a new node",
                )
                time.sleep(draw.uniform(0, 0.5))
        with nodes.node():
            wait_for(
                lambda: len(pids(tmp_path, "start")) > 1 + KILLS,
                "the actor of the last node",
            )
            (tmp_path / "go").touch()
            ended = running.ended()
    assert ended.code == EXIT_OK
    runs.check()


def test_an_actor_that_the_kernel_kills_for_memory(
    nodes: Nodes, tmp_path: Path
) -> None:
    runs = RayRuns(tmp_path, nodes, 30)
    with nodes.node(cpus=2), runs.begun(delay=0.1, most=24) as running:
        killed: set[int] = set()

        def newest() -> int:
            """The one that has begun a batch last."""
            return notes(tmp_path, "begin")[-1].pid

        for least in (6, 12):
            wait_for(lambda: runs.at_least(least), "answers")  # noqa: B023
            wait_for(lambda: newest() not in killed, "another actor at work")
            killed.add(victim := newest())
            os.kill(victim, signal.SIGKILL)
        (tmp_path / "go").touch()
        ended = running.ended()
    assert ended.code == EXIT_OK
    assert sum("was lost" in warning for warning in ended.warnings) == 2
    runs.check()


def test_nodes_with_other_code_or_without_the_model_are_left_out(
    nodes: Nodes, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "mmeval"
    shutil.copytree(
        ROOT / "mmeval", other, ignore=shutil.ignore_patterns("__pycache__")
    )
    for part in ("tasks", "metrics", "model_backends"):
        shutil.copytree(
            ROOT / part,
            other / part,
            ignore=shutil.ignore_patterns("__pycache__", "bundled"),
        )
    (other / "errors.py").write_text(
        (other / "errors.py").read_text() + "\n# another version\n"
    )
    runs = RayRuns(tmp_path, nodes, 12)
    old = nodes.node(
        env={"PYTHONPATH": f"{other.parent}:{nodes.env['PYTHONPATH']}"},
        node_name="old-node",
    )
    poor = nodes.node(env={"TOY_BROKEN": "missing"}, node_name="poor-node")
    with (
        nodes.node(),
        old,
        poor,
        runs.begun("workers=auto", delay=0.1, most=4) as running,
    ):
        left_out, _ = running.read_until_all("old-node", "poor-node")
        (tmp_path / "go").touch()
        assert running.ended().code == EXIT_OK
    digests = {
        word.rstrip(",").partition("+")[2] for word in left_out.split() if "+" in word
    }
    assert len(digests) == 2, "both are named"
    runs.check()
    assert len(pids(tmp_path)) == 1


def test_a_run_ends_while_a_node_that_has_joined_is_looked_at(
    nodes: Nodes, tmp_path: Path
) -> None:
    slow, runs = tmp_path / "slow", RayRuns(tmp_path, nodes, 12)
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(
        "import pathlib, sys, time\n"
        "def hook(event, args):\n"
        "    if event == 'open' and '/token-' in str(args[0]):\n"
        f"        pathlib.Path({str(slow / 'looks')!r}).touch()\n"
        f"        time.sleep({10 * DEADLINE})\n"
        "sys.addaudithook(hook)\n"
    )
    with nodes.node(), runs.begun("workers=auto", delay=0.1, most=4) as running:
        wait_for(lambda: runs.at_least(2), "answers")
        with nodes.node(env={"PYTHONPATH": f"{slow}:{nodes.env['PYTHONPATH']}"}):
            wait_for((slow / "looks").exists, "the look at the node that has joined")
            (tmp_path / "go").touch()
            # it would not end if it waited for that look
            assert running.ended().code == EXIT_OK
    runs.check()


def test_a_node_that_does_not_see_the_run_folder_is_named_before_anything_is_asked(
    nodes: Nodes, tmp_path: Path
) -> None:
    blind = tmp_path / "blind"
    blind.mkdir()
    (blind / "sitecustomize.py").write_text(
        "import sys\n"
        "def hook(event, args):\n"
        "    if event == 'open' and '/token-' in str(args[0]):\n"
        "        raise FileNotFoundError(2, 'No such file or directory', "
        "str(args[0]))\n"
        "sys.addaudithook(hook)\n"
    )
    runs = RayRuns(tmp_path, nodes, 4)
    with (
        nodes.node(),
        nodes.node(
            env={"PYTHONPATH": f"{blind}:{nodes.env['PYTHONPATH']}"},
            node_name="far-node",
        ),
    ):
        ended = runs.whole()
    assert (ended.code, answered(tmp_path), runs.segments()) == (EXIT_USAGE, [], 0)
    assert all(
        words in ended.error
        for words in ("far-node", "--shard", "mmeval merge", "--output_path")
    )


def test_the_head_is_lost_and_the_same_command_goes_on_with_another(
    nodes: Nodes, tmp_path: Path
) -> None:
    (loads := tmp_path / "loads").mkdir()
    first = Nodes(tmp_path / "first")
    runs = RayRuns(tmp_path, first, 12)
    loading = RayRuns(loads, first, 1)
    address = first.address
    with (
        closing(first),
        first.node(cpus=2),
        runs.begun("workers=1", delay=0.1, most=6) as running,
        loading.begun("workers=1", broken="hang") as waiting,
    ):
        wait_for(
            lambda: runs.at_least(5) and notes(loads, "start") != [],
            "answers, and a model that is loaded",
        )
        first.lose_head()
        for ended in (running.ended(), waiting.ended()):
            assert ended.code == EXIT_INCOMPLETE
            assert [
                words
                for words in ("head", address, "run the same command")
                if words not in ended.error
            ] == []
    with nodes.node():
        assert runs.moved(nodes).whole("workers=1").code == EXIT_OK
    runs.check()


def test_the_run_is_interrupted_then_killed_and_the_same_command_comes_at_once(
    nodes: Nodes, tmp_path: Path
) -> None:
    runs, go = RayRuns(tmp_path, nodes, 24), tmp_path / "go"
    with nodes.node(cpus=2):
        with runs.begun(delay=0.1, most=6) as running:
            wait_for(lambda: runs.at_least(6), "answers")
            os.killpg(running.process.pid, signal.SIGINT)
            running.read_until("in flight")
            go.touch()
            assert running.ended().code == EXIT_INTERRUPTED
        assert gone(pids(tmp_path, "start"))
        go.unlink()
        with runs.begun(delay=0.1, most=16) as running:
            wait_for(lambda: runs.at_least(12), "answers")
            os.killpg(running.process.pid, signal.SIGKILL)
            before = pids(tmp_path, "start")
            go.touch()
            assert runs.whole(delay=0.01).code == EXIT_OK
        assert gone(before)
    runs.check()
