"""Disks that misbehave: one that is full until it grows, and a folder that takes no
file."""

import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


class SmallDisk:
    """A disk of its own, mounted at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def remount(self, options: str) -> None:
        _run("mount", "-o", f"remount,{options}", str(self.path))


@contextlib.contextmanager
def small_disk(path: Path, *, kibibytes: int) -> Iterator[SmallDisk]:
    """A disk of a given size. Skips the test where nothing may be mounted (a user other
    than root, most containers)."""
    path.mkdir()
    try:
        _run("mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(path))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing can be mounted here")
    try:
        yield SmallDisk(path)
    finally:
        _run("umount", "--lazy", str(path))


@contextlib.contextmanager
def unwritable(path: Path) -> Iterator[Path]:
    """A folder in which the kernel allows no writing, not even to root."""
    if os.geteuid() == 0:
        with small_disk(path, kibibytes=64) as disk:
            disk.remount("ro")
            yield path
        return
    path.mkdir(mode=0o555)
    try:
        yield path
    finally:
        path.chmod(0o755)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@contextlib.contextmanager
def file_limit(size: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes, until the block ends."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
