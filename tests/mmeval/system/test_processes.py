import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
from concurrent.futures import ProcessPoolExecutor
from mmeval.system.processes import FreshContext

print("the script runs")
main = sys.modules["__main__"]
with ProcessPoolExecutor(1, mp_context=FreshContext()) as pool:
    print(pool.submit(abs, -3).result(), sys.modules["__main__"] is main)
"""
"""A script without a main guard: a usual spawned process would run it again, and die of it."""


def test_a_fresh_process_does_not_run_the_script_again(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("the script runs\n3 True\n", "")
