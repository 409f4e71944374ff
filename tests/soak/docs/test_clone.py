"""What the pages have a reader type in a clone: it is made, installed, run and measured
there, as it is printed."""

import json
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from mmeval.installation import DISTRIBUTION
from tests.soak.support.doc_examples import (
    blocks_run_by,
    commands,
    matches,
    said_in_passing,
)
from tests.soak.support.fresh_environment import (
    OFFLINE_PIP,
    ROOT,
    FreshEnvironment,
    clean_environ,
    closure,
    copy_of_tree,
)
from tests.support.models import embedded_cache

HERE = "tests/soak/docs/test_clone.py"
DEMO = "test_the_demo_runs_in_a_fresh_clone"
INSTALLED = "test_the_clone_is_installed_with_its_extras"
MEASURED = "test_a_benchmark_prints_its_table"
STANDS_IN = "test_a_stand_in_server_answers"


def printed(test: str) -> list[str]:
    """The commands that the pages leave to one test of this file, in their order; each
    once, as several pages begin with the demo."""
    found = [
        command.text
        for block in blocks_run_by(f"{HERE}::{test}")
        for command in commands(block.text)
    ]
    return list(dict.fromkeys(found))


def clone(folder: Path, extra: str = "all") -> FreshEnvironment:
    """A copy of the checkout with an environment ``.venv`` that holds pip, and what
    mmeval needs with an extra."""
    copy_of_tree(folder)
    environment = FreshEnvironment.create(folder / ".venv")
    needed = closure(requires(DISTRIBUTION) or [], (extra,), installed_only=True) - {
        DISTRIBUTION
    }
    environment.link({*needed, "pip", "setuptools"})
    environment.add_commands("pip")
    return environment


def typed_by_a_reader() -> dict[str, str]:
    """The variables of this process without those of the make that may run it, and
    without a network for pip."""
    of_make = {
        "MAKEFLAGS",
        "MFLAGS",
        "MAKELEVEL",
        "MAKEOVERRIDES",
        "VENV",
        "PYTHON",
        "TESTS",
    }
    kept = {
        name: value for name, value in clean_environ().items() if name not in of_make
    }
    return kept | OFFLINE_PIP | {"HF_HUB_OFFLINE": "1"}


def bash(script: str, folder: Path, **environ: str) -> str:
    """What a shell prints that runs the script in the folder; each line has to
    succeed."""
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=folder,
        env=typed_by_a_reader() | environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_demo_runs_in_a_fresh_clone(tmp_path: Path) -> None:
    clone(tmp_path, "hf")
    demo, entered = printed(DEMO)
    first, again, narrow = (
        bash(
            f"{demo} 2>&1",
            tmp_path,
            MMEVAL_CACHE_DIR=str(embedded_cache()),
            COLUMNS=columns,
        )
        for columns in ("80", "80", "60")
    )
    lines = [said.splitlines() for said in (first, again, narrow)]
    assert [
        max(map(len, said)) <= width
        for said, width in zip(lines, (80, 80, 60), strict=True)
    ] == [True] * 3, narrow
    assert [len(said) <= 30 for said in lines[:2]] == [True] * 2, first
    for word in (
        "comparable",
        "compares",
        "unavailable",
        "unsupported",
        "bundled samples",
    ):
        assert first.count(word) <= 1, first
    (shown, *_) = (
        command.output
        for block in blocks_run_by(f"{HERE}::{DEMO}")
        for command in commands(block.text)
    )
    assert matches(f"...\n{shown}...\n", first)
    asked = 'python -c "import sys, mmeval; print(sys.prefix, mmeval.__file__)"'
    assert (
        bash(f"{entered}\n{asked}", tmp_path)
        == f"{tmp_path}/.venv {tmp_path}/mmeval/__init__.py\n"
    )
    check_numbers_of_the_demo(tmp_path / "runs" / "tiny" / "default")


def check_numbers_of_the_demo(run: Path) -> None:
    """Each metric of sound that can be computed has a number; answers hold text,
    picture and sound in turn."""
    found = json.loads(max(run.glob("results_*.json")).read_text())["mmeval"]
    rows = {
        (row["task"], row["metric"]): row
        for row in found["results"]
        if not row["slice"]
    }
    subjects = (one["subject"] for one in found["findings"])
    lacking = {(one.get("task"), one.get("metric")) for one in subjects}
    metrics = {
        (task, metric)
        for task, metrics in found["metrics"].items()
        for metric in metrics
        if task.startswith("mmmg_")
    }
    sound = metrics - lacking
    assert sound >= {
        ("mmmg_sound_silence", "silence_segments"),
        ("mmmg_music_intensity", "overall"),
    }
    assert [key for key in sound if rows[key]["value"] is None] == []
    hard = rows["unim_hard", "strict_structure"]
    assert (hard["scored"], hard["n"]) == (8, 8)
    samples = map(
        json.loads, max(run.glob("samples_unim_hard_*.jsonl")).read_text().splitlines()
    )
    kinds = {tuple(part["type"] for part in row["parts"][0]) for row in samples}
    assert {of_answer[:4] for of_answer in kinds} == {
        ("text", "image", "text", "audio")
    }


@pytest.mark.parametrize(
    "command",
    dict.fromkeys(
        [
            *printed(INSTALLED),
            *said_in_passing("pip install -e ."),
            *said_in_passing("pip install ."),
        ]
    ),
)
def test_the_clone_is_installed_with_its_extras(command: str, tmp_path: Path) -> None:
    environment = clone(tmp_path)
    said = bash(
        command, tmp_path, PATH=f"{environment.python.parent}:{os.environ['PATH']}"
    )
    assert f"Successfully installed {DISTRIBUTION}" in said
    assert environment.run("mmeval", "ls", "groups", cwd=tmp_path).returncode == 0


def beside_python() -> dict[str, str]:
    """The same, where ``python`` is the one that runs this test."""
    return typed_by_a_reader() | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    }


@pytest.mark.parametrize("command", printed(MEASURED))
def test_a_benchmark_prints_its_table(command: str) -> None:
    """Whether the figures meet their goals (exit code 1: not all) is no question for a
    machine that runs tests."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=beside_python(),
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    rows = re.findall(
        r"^\| ratio \| .* \| (?:yes|NO) \| [\d.]+ \|$", done.stdout, re.MULTILINE
    )
    assert len(rows) >= 4, done.stdout + done.stderr


@pytest.mark.parametrize("command", printed(STANDS_IN))
def test_a_stand_in_server_answers(command: str) -> None:
    # another program may have the port of the page
    elsewhere = re.sub(r"--port 800\d", "--port 0", command)
    assert elsewhere != command
    with subprocess.Popen(
        ["bash", "-c", f"exec {elsewhere}"],
        cwd=ROOT,
        env=beside_python(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        body = {"model": "m", "messages": [{"role": "user", "content": "Is it met?"}]}
        request = Request(
            f"{url}/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urlopen(request, timeout=20) as response:
            said = json.load(response)["choices"][0]["message"]["content"]
        process.send_signal(signal.SIGINT)

    assert (
        said == '{"reason": "so it is", "met": "yes"}'
        if "--reply" in command
        else said.startswith("mock ")
    )
