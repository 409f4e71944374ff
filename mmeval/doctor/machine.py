"""Check programs other than Python, and the disks for output."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mmeval import plugins
from mmeval.cluster.engine import RayEngine
from mmeval.cluster.ray_cluster import RayCluster, check_installed
from mmeval.doctor.finding import Finding
from mmeval.errors import MissingError, PluginError
from mmeval.system.folders import existing, free_bytes, own_cache
from mmeval.wording import size

LITTLE = 2**30
"""Bytes; a run with pictures or sounds soon needs more."""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def programs() -> Iterator[Finding]:
    yield from _backends()
    yield _program(
        CHROMIUM,
        "chromium",
        "the browser tests of the report page; nothing else needs it",
    )
    yield Finding("ok", "ffmpeg is not needed: the extra video brings its own")


def _backends() -> Iterator[Finding]:
    """What backends need of the machine, such as a sandbox. Of those that cannot be
    loaded the plugins' check tells."""
    for entry in plugins.entries("mmeval.model_backends"):
        with suppress(MissingError, PluginError):
            factory = plugins.load(
                "mmeval.model_backends",
                f"{plugins.distribution_of(entry)}/{entry.name}",
            )
            if not hasattr(factory, "check_machine"):
                continue
            try:
                yield Finding("ok", factory.check_machine())
            except MissingError as error:
                yield Finding(
                    "note",
                    str(error).removesuffix(error.how_to_fix).strip(),
                    error.how_to_fix,
                )


def _program(names: tuple[str, ...], package: str, purpose: str) -> Finding:
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is not None:
        return Finding("ok", f"{package}: {found}")
    return Finding(
        "note",
        f"{package} is not installed; it is for {purpose}",
        f"apt install {package}, on Debian or Ubuntu",
    )


def nodes(engine: RayEngine) -> Iterator[Finding]:
    """The nodes of a Ray cluster, and the places that an engine has there."""
    check_installed()
    found = RayCluster(engine).seen()
    yield from (Finding("ok", str(node)) for node in found)
    if not any(node.places for node in found):
        yield Finding(
            "missing",
            "no node has room for a worker",
            "give fewer to each, as in --engine ray,cpus=1,gpus=0",
        )


def disks(output_path: Path) -> Iterator[Finding]:
    """Check the disks of runs, models and data."""
    yield _disk("runs", output_path, "--output_path FOLDER")
    yield _disk("our cache", own_cache(), "MMEVAL_CACHE_DIR=FOLDER")
    from huggingface_hub.constants import HF_HUB_CACHE

    yield _disk("the hub's cache", Path(HF_HUB_CACHE), "HF_HOME=FOLDER")


def _disk(what: str, folder: Path, elsewhere: str) -> Finding:
    nearest, free = existing(folder), free_bytes(folder)
    shown = f"{what}: {folder.absolute()}, {size(free)} free"
    if not os.access(nearest, os.W_OK):
        return Finding(
            "broken",
            f"{shown}; {nearest} cannot be written to",
            f"give another folder: {elsewhere}",
        )
    if free < LITTLE:
        return Finding(
            "note",
            f"{shown}, which is little",
            f"free space, or give another folder: {elsewhere}",
        )
    return Finding("ok", shown)
