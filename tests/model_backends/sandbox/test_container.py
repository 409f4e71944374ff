"""Docker by a stand-in: what it is asked for, and that answers come back by the same
way. Not run on the real one."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mmeval.errors import MissingDataError
from mmeval.model_backends.sandbox import SandboxBackend
from mmeval.model_backends.sandbox.container import Container
from mmeval.model_backends.sandbox.limits import Limits
from mmeval.model_backends.sandbox.program import Program
from mmeval.testing.media import small_media
from tests.support.sandbox import bubblewrap, output_of, run_code

IMAGE = "python@sha256:" + "0" * 64
PYTHON = str(Path(sys.executable).resolve())
Said = Callable[[], list[list[str]]]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Said:
    """The stand-in on the PATH; gives the command lines that it was called with."""
    bubblewrap()
    source = Path(__file__).parents[2] / "support/stand_in_docker.py"
    script = Path(shutil.copy(source, tmp_path))
    (tmp_path / "docker").write_text(
        f'#!/bin/sh\nexec {sys.executable} {script} "$@"\n'
    )
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    # a stand-in has the machine's network and folders
    monkeypatch.setattr(
        "mmeval.model_backends.sandbox.choice._PROBE",
        "open('output/x.txt', 'w').write('x')\nprint([])",
    )
    return lambda: [
        json.loads(line)
        for line in (tmp_path / "docker.jsonl").read_text().splitlines()
    ]


def test_a_container_answers_like_any_sandbox(docker: Said) -> None:
    arguments = {"runtime": "docker", "image": IMAGE, "python": PYTHON, "seconds": 10}
    response = run_code(
        "print(open('input/image1.png', 'rb').read(4))\nopen('output/a.md', "
        "'w').write('# x')",
        small_media("image"),
        **arguments,
    )
    assert response.text.startswith(r"b'\x89PNG'")
    assert [part.kind for part in output_of(response).parts] == ["text", "document"]
    assert response.served == "docker"
    assert (
        "exit status 3" in run_code("import sys; sys.exit(3)", **arguments).warnings[0]
    )
    assert all(words[0] in ("run", "--version") for words in docker())


def test_a_container_beyond_its_time_is_killed_by_its_name(docker: Said) -> None:
    backend = {"runtime": "docker", "image": IMAGE, "python": PYTHON, "seconds": 1.5}
    response = run_code(
        "print('first', flush=True)\nimport time; time.sleep(1000)", **backend
    )
    assert "limit of time" in response.warnings[0] and response.text.startswith(
        "first\n"
    )
    started = [words for words in docker() if words[0] == "run"][-1]
    assert docker()[-1] == ["kill", started[started.index("--name") + 1]]


def test_a_container_has_no_network_no_rights_and_bounds(docker: Said) -> None:
    SandboxBackend(
        runtime="docker", image=IMAGE, python=PYTHON, memory_mb=100, processes=5
    )
    [words] = [words for words in docker() if words[0] == "run"]
    line = " ".join(words)
    for wanted in (
        "--network none",
        "--read-only",
        "--cap-drop ALL",
        "--security-opt no-new-privileges",
        "--pull never",
        "--memory ",
        "--memory-swap ",
        "--pids-limit ",
        "--cpus 1",
        "--log-driver none",
        "--rm",
        "nr_inodes=",
        IMAGE,
    ):
        assert wanted in line
    user = words[words.index("--user") + 1]
    assert not user.startswith("0:")


def test_the_folder_of_a_container_is_closed_to_other_users(docker: Said) -> None:
    cell = Container("docker", IMAGE, PYTHON).begin(Program("print(1)"), Limits())
    try:
        assert cell.process.communicate()[0] == b"1\n"
        [words] = [words for words in docker() if words[0] == "run"]
        channel = Path(words[words.index("--volume") + 1].partition(":")[0])
        assert channel.parent.stat().st_mode & 0o077 == 0
    finally:
        cell.close()


def test_the_first_process_of_a_container_is_closed_to_the_program(
    docker: Said,
) -> None:
    code = (
        "for name in ('environ', 'maps', 'mem', 'fd/0'):\n"
        "    try:\n"
        "        print(name, open(f'/proc/1/{name}', 'rb').read(1))\n"
        "    except PermissionError:\n"
        "        print('closed')\n"
    )
    assert (
        run_code(code, runtime="docker", image=IMAGE, python=PYTHON).text
        == "closed\n" * 4
    )


def test_without_the_engine_the_message_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDataError, match="podman is not on the PATH"):
        SandboxBackend(runtime="podman", image=IMAGE)


def test_an_engine_that_is_not_running_is_refused_with_its_reason_and_other_runtimes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = (
        "docker: Cannot connect to the Docker daemon.\n\nRun 'docker run --help' for "
        "more information"
    )
    (tmp_path / "docker").write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exit\necho "{said}" >&2\nexit 125\n'
    )
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(
        MissingDataError,
        match=r"Cannot connect to the Docker daemon\. Take .*: bwrap or podman$",
    ):
        SandboxBackend(runtime="docker", image=IMAGE, python=PYTHON)
