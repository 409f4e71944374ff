"""Where nothing holds programs, that is an error before anything runs, with its
reason."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mmeval.errors import MissingDataError
from mmeval.model_backends.sandbox import SandboxBackend
from mmeval.model_backends.sandbox.bubblewrap import _ISOLATION_OPTIONS
from mmeval.model_backends.sandbox.choice import _PROBE, _bubblewrap
from tests.support.sandbox import bubblewrap, open_to_all

CHECK = (
    "from mmeval.model_backends.sandbox import SandboxBackend; "
    "print(SandboxBackend.check_machine())"
)
VERSION = "echo bubblewrap 0.9.0; test $1 = --version"


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program ``bwrap`` that is found before any other."""
    (folder / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bwrap").chmod(0o755)
    open_to_all(folder)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_without_bubblewrap_the_message_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDataError) as failure:
        SandboxBackend()
    assert "apt install bubblewrap" in failure.value.how_to_fix


@pytest.mark.parametrize(
    ("script", "reason", "how_to_fix"),
    [
        ("echo bubblewrap 0.6.1", "too old", "newer release"),
        (
            "echo bubblewrap 0.9.0; test $1 = --version || exec false",
            "no error",
            "machine",
        ),
        (
            f"{VERSION} || {{ echo 'bwrap: setting up uid map: denied' >&2; exit 1; }}",
            "user namespaces are not allowed",
            "apparmor",
        ),
        (
            f"{VERSION} || {{ echo 'bwrap: Cannot mount proc on /newroot/proc' >&2; "
            f"exit 1; }}",
            "/proc is masked",
            "systempaths",
        ),
    ],
    ids=["old", "broken", "no namespaces", "masked"],
)
def test_each_refusal_has_its_reason_and_the_way_out(
    script: str,
    reason: str,
    how_to_fix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(MissingDataError, match=reason) as failure:
        SandboxBackend()
    assert how_to_fix in failure.value.how_to_fix


@pytest.mark.parametrize(
    ("words", "left_out", "note"),
    [
        (
            "Can't mount proc on /newroot/proc: Operation not permitted",
            "--proc",
            "empty /proc",
        ),
        (
            "cannot open /proc/sys/user/max_user_namespaces: Read-only",
            "--disable-userns",
            "filter of system calls",
        ),
    ],
    ids=["proc", "user namespaces"],
)
def test_what_a_machine_refuses_is_left_out_and_stated(
    words: str,
    left_out: str,
    note: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = bubblewrap()
    refusing = f"""tr '\\0' '\\n' </proc/self/fd/$2 | grep -qx -- {left_out} && {{ echo "bwrap: {words}" >&2; exit 1; }}"""
    stand_in(
        tmp_path,
        monkeypatch,
        f'test $1 = --version || {{ {refusing}; }}\nexec {real} "$@"',
    )
    assert note in SandboxBackend.check_machine()


def test_a_fault_of_another_kind_leads_to_no_weaker_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = bubblewrap()
    stand_in(
        tmp_path,
        monkeypatch,
        f'echo "$@" >>{tmp_path}/calls\ntest $1 = --version && exec {real} $1\nexit 1',
    )
    (tmp_path / "calls").touch()
    (tmp_path / "calls").chmod(0o666)
    with pytest.raises(MissingDataError):
        SandboxBackend()
    assert (tmp_path / "calls").read_text().count("--args") == 1


def test_a_sandbox_that_does_not_hold_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bubblewrap()
    open_to_all = tuple(word for word in _ISOLATION_OPTIONS if word != "--unshare-net")
    monkeypatch.setattr("mmeval.model_backends.sandbox.filter._MACHINES", {})
    monkeypatch.setattr(
        "mmeval.model_backends.sandbox.bubblewrap._ISOLATION_OPTIONS", open_to_all
    )
    _bubblewrap.cache_clear()
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(
            "mmeval.model_backends.sandbox.choice._PROBE",
            _PROBE.replace(
                '"192.0.2.1", 80', '"127.0.0.1", ' + str(server.getsockname()[1])
            ),
        )
        with pytest.raises(MissingDataError, match="the network can be reached"):
            SandboxBackend()


def test_where_no_proc_can_be_mounted_the_program_has_an_empty_one() -> None:
    bubblewrap()
    ours = Path(__file__).parents[3]
    masked = (
        f"mount --bind /dev/null /proc/version && exec {sys.executable} -c '{CHECK}'"
    )
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", masked],
        cwd=ours,
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("nothing can be mounted here")
    assert "empty /proc" in done.stdout, done.stderr
