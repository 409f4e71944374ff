"""The runtimes ``docker`` and ``podman``: a container of an image that is known by its
digest."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Literal

from mmeval.errors import MissingDataError, UsageError
from mmeval.model_backends.sandbox.limits import INODES, MIB, Limits
from mmeval.model_backends.sandbox.program import Program
from mmeval.model_backends.sandbox.runtime import (
    ENVIRONMENT,
    FRONT,
    WORK,
    Load,
    received,
)

Engine = Literal["docker", "podman"]
_DIGEST = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")
_CHANNEL = "/mmeval/line"
_PROGRAM = f"{WORK}/program.py"
_KILLED = (137, 247)


class Container:
    """The engine's own control groups keep memory and processes; time, output and files
    are kept from here."""

    notes = ()

    def __init__(self, engine: Engine, image: str, python: str) -> None:
        """Raises UsageError for an image without a digest, MissingDataError where the
        engine is not installed."""
        if not _DIGEST.fullmatch(image):
            raise UsageError(
                f"the backend 'sandbox': image={image!r} must be an image with its "
                "digest, as in "
                "image=python@sha256:... (docker image ls --digests)",
                name="image",
            )
        self.name: str = engine
        self._image, self._python = image, python or "python3"
        self._engine = shutil.which(engine) or ""
        if not self._engine:
            raise MissingDataError(
                f"{engine} is not on the PATH; install it, or use runtime=bwrap"
            )
        shown = subprocess.run(
            [self._engine, "--version"], capture_output=True, text=True, check=False
        ).stdout
        found = re.search(r"[\d.]+", shown)
        self.version = found[0] if found else ""

    def begin(self, program: Program, limits: Limits) -> _ContainerCell:
        folder = tempfile.TemporaryDirectory(prefix="mmeval-sandbox-")
        listener = socket.socket(socket.AF_UNIX)
        with contextlib.ExitStack() as kept:
            kept.enter_context(folder)
            kept.enter_context(listener)
            root, name = Path(folder.name), f"mmeval-{uuid.uuid4().hex}"
            (root / "input").mkdir()
            (root / "front.py").write_bytes(FRONT.read_bytes())
            (root / "program.py").write_bytes(program.code.encode("utf-8", "replace"))
            for file, media in program.inputs:
                (root / "input" / file).write_bytes(media.read())
            listener.bind(str(root / "line"))
            listener.listen(1)
            # the folder itself stays closed to other users; the engine binds what lies
            # in it
            for path in root.rglob("*"):
                path.chmod(0o777 if path.name == "line" else 0o755)
            process = subprocess.Popen(
                self.command(name, root, limits),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            kept.pop_all()  # the cell closes them
        return _ContainerCell(process, listener, [self._engine, "kill", name], folder)

    def command(self, name: str, folder: Path, limits: Limits) -> list[str]:
        """The command line of a container that runs what lies in ``folder``."""
        owner = f"{os.getuid()}:{os.getgid()}" if os.getuid() else "65534:65534"
        sized = (
            f"rw,nosuid,nodev,mode=1777,size={limits.folder_bytes},nr_inodes={INODES}"
        )
        memory = f"{limits.memory_mb * MIB}b"
        words = [
            self._engine,
            "run",
            "--rm",
            "--name",
            name,
            "--pull",
            "never",
            "--log-driver",
            "none",
        ]
        words += [
            "--network",
            "none",
            "--read-only",
            "--user",
            owner,
            "--hostname",
            "sandbox",
        ]
        words += [
            "--cap-drop",
            "ALL",
            "--security-opt",
            "no-new-privileges",
            "--ipc",
            "private",
        ]
        words += [
            "--memory",
            memory,
            "--memory-swap",
            memory,
            "--pids-limit",
            str(limits.processes + 2),
        ]
        # then processor time is never more than the time that is kept from here
        words += ["--cpus", "1"]
        words += [
            "--tmpfs",
            f"{WORK}:{sized}",
            "--tmpfs",
            f"/tmp:{sized}",
            "--tmpfs",
            f"/dev/shm:{sized}",
        ]
        for source, target in (
            ("front.py", "/front.py"),
            ("program.py", _PROGRAM),
            ("input", f"{WORK}/input"),
        ):
            words += ["--volume", f"{folder / source}:{target}:ro"]
        words += ["--volume", f"{folder / 'line'}:{_CHANNEL}"]
        for variable, value in ENVIRONMENT.items():
            words += ["--env", f"{variable}={value}"]
        front = [self._image, "-I", "-S", "-B", "/front.py", _CHANNEL]
        bounds = json.dumps(limits.of_process(own_namespace=False))
        return [
            *words,
            "--entrypoint",
            self._python,
            *front,
            bounds,
            self._python,
            "-B",
            "-u",
            _PROGRAM,
        ]


class _ContainerCell:
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        listener: socket.socket,
        kill: list[str],
        folder: tempfile.TemporaryDirectory[str],
    ) -> None:
        self.process, self.line = process, listener
        self._kill, self._folder = kill, folder
        self._connection: socket.socket | None = None

    def receive(self) -> list[int]:
        """The connection stays open: when it ends, with the run, the container ends."""
        self.line.setblocking(False)
        with contextlib.suppress(OSError):
            self._connection = self.line.accept()[0]
            self._connection.settimeout(10)
            return received(self._connection)
        return []

    def load(self) -> Load | None:
        return None

    def end(self) -> bool:
        if self.process.poll() is not None:
            return True
        done = subprocess.run(
            self._kill,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        # there is no container yet; without its line it would end by itself
        if done.returncode:
            self.process.kill()
        return False

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self.line.close()
        self._folder.cleanup()

    def reached_memory(self, status: int) -> bool:
        # killed by the kernel: what is ended from here has another reason
        return status in _KILLED
