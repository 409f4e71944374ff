"""Scripts and commands in processes of their own: what they print, and what they
register."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.questions import write_benchmark
from tests.support.task_folder import write_files, write_rows

EVALUATED = (
    "mmeval.evaluate(model='reference', tasks='tiny', include_path='.', "
    "score_workers=2)"
)
PLAIN = f"import mmeval\nprint({EVALUATED}.exit_code)"
IN_A_LOOP = (
    f"import asyncio, mmeval\nasync def cell(): return {EVALUATED}\n"
    "print(asyncio.run(cell()).exit_code)"
)
REGISTERING = """
import mmeval
from mmeval.aggregate.scores import Estimate
from mmeval.media.parts import Interleaved
from mmeval.backend.capabilities import Capabilities
from mmeval.records.response import Response

@mmeval.register_metric("words", range=(0, 10))
def words(trial):
    import multiprocessing
    assert FORKED is (multiprocessing.parent_process() is not None), "scored in the wrong process"
    if "die" in trial.output.text:
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
    return len(trial.output.text.split())

@mmeval.register_aggregation("largest")
def largest(scores):
    return Estimate(max(scores.values))

@mmeval.register_model("counting")
class Counting:
    capabilities = Capabilities.of(("text",), ("text",))
    identity, provenance = {"backend": "counting"}, {}
    async def generate(self, request):
        return Response(Interleaved.from_text(request.messages[-1].content.text))
    async def close(self):
        pass

listed = [{"metric": "words", "aggregation": "largest"}]
task = {"task": "counted", "dataset_path": "data", "metric_list": listed, "metadata": {"version": 1}}
BEFORE
found = mmeval.evaluate(model="counting", tasks=task, retry_on_error=0, bootstrap_iters=0)
print([result.value for result in found.results], [result.unscored for result in found.results])
"""
"""A script without a main guard."""
THREAD = (
    "import threading; threading.Thread(target=threading.Event().wait, "
    "daemon=True).start()"
)


def ran(folder: Path, script: str) -> str:
    write_files(folder, {"script.py": script})
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() + (done.stderr if script in (PLAIN, IN_A_LOOP) else "")


@pytest.mark.parametrize("script", [PLAIN, IN_A_LOOP], ids=["plain", "in a loop"])
def test_a_script_that_evaluates_prints_what_it_prints_and_nothing_else(
    script: str, tmp_path: Path
) -> None:
    write_benchmark(tmp_path)
    assert ran(tmp_path, script) == "0"


@pytest.mark.parametrize(
    ("texts", "forked", "before", "shown"),
    [
        (("one", "one two three", "one two"), True, "", "[3.0] [0]"),
        (("one", "to die", "one two"), True, "", "[2.0] [1]"),
        (("one", "one two"), False, THREAD, "[2.0] [0]"),
    ],
    ids=["in scoring processes", "one that is killed", "where none can be forked"],
)
def test_what_a_script_registers_scores(
    texts: tuple[str, ...], forked: bool, before: str, shown: str, tmp_path: Path
) -> None:
    write_rows(tmp_path / "data", *({"input": text} for text in texts))
    assert (
        ran(
            tmp_path,
            REGISTERING.replace("FORKED", str(forked)).replace("BEFORE", before),
        )
        == shown
    )
