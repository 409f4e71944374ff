"""A stand-in for docker: notes its command lines, and makes its containers with
bubblewrap, without any bound."""

import json
import os
import shutil
import signal
import sys
from itertools import pairwise
from pathlib import Path

NOTES = Path(__file__).with_name("docker.jsonl")
PID = Path(__file__).with_name("docker.pid")


def options(words: list[str], name: str) -> list[str]:
    return [value for option, value in pairwise(words) if option == name]


def main(words: list[str]) -> None:
    with NOTES.open("a") as file:
        file.write(json.dumps(words) + "\n")
    if words == ["--version"]:
        print("Docker version 28.2.2, build 0")
    elif words[0] == "kill":
        os.kill(int(PID.read_text()), signal.SIGKILL)
    else:
        run(words)


def run(words: list[str]) -> None:
    PID.write_text(str(os.getpid()))
    image = next(at for at, word in enumerate(words) if "@sha256:" in word)
    command = [
        "bwrap",
        "--unshare-user",
        "--unshare-pid",
        "--as-pid-1",
        "--die-with-parent",
        "--clearenv",
    ]
    command += ["--cap-drop", *options(words, "--cap-drop")]
    for path in sorted(Path("/").iterdir()):
        if (
            path.name not in ("work", "dev", "proc", "tmp", "sys")
            and not path.is_symlink()
        ):
            command += ["--ro-bind", str(path), str(path)]
        elif path.is_symlink():
            command += ["--symlink", str(path.readlink()), str(path)]
    command += [
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/work",
        "--tmpfs",
        "/dev/shm",
    ]
    for volume in options(words, "--volume"):
        source, target = volume.split(":")[:2]
        command += ["--bind", source, target]
    for variable in options(words, "--env"):
        command += ["--setenv", *variable.partition("=")[::2]]
    os.execv(
        shutil.which("bwrap") or "",
        [*command, "--", *options(words, "--entrypoint"), *words[image + 1 :]],
    )


if __name__ == "__main__":
    main(sys.argv[1:])
