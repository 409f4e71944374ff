"""Checks the machine: requirements of backends, disks for output, and a cluster."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mmeval import plugins
from mmeval.broker.cluster.engine import RayEngine
from mmeval.broker.cluster.ray_cluster import RayCluster, check_installed
from mmeval.errors import MissingError, PluginError
from mmeval.findings.finding import Finding, Severity, Subject
from mmeval.findings.from_error import finding_of
from mmeval.system.folders import existing, free_bytes, own_cache
from mmeval.system.wording import size

LITTLE = 2**30
"""Minimum free disk space in bytes. Less space is reported, since media need space."""


def backends(requested: Collection[str] = ()) -> Iterator[Finding]:
    """Yields findings about features that backends need but this machine lacks.

    An example is a feature of the kernel that a sandbox needs. A finding is an error
    for a ``requested`` backend, else a note. Backends that cannot be loaded are
    reported with the plugins.
    """
    for entry in plugins.entries("mmeval.model_backends"):
        with suppress(MissingError, PluginError):
            name = f"{plugins.distribution_of(entry)}/{entry.name}"
            factory = plugins.load("mmeval.model_backends", name)
            if not hasattr(factory, "check_machine"):
                continue
            try:
                factory.check_machine()
            except MissingError as error:
                severity: Severity = "error" if entry.name in requested else "note"
                finding = finding_of(error, Subject(name=entry.name), severity)
                yield replace(finding, kind="machine")


def nodes(engine: RayEngine) -> tuple[list[str], list[Finding]]:
    """Describes the nodes of a Ray cluster, and returns findings about them."""
    check_installed()
    cluster_nodes = RayCluster(engine).nodes_with_places()
    faults = []
    if not any(node.places for node in cluster_nodes):
        faults.append(
            Finding(
                "machine",
                Subject(name=str(engine)),
                cause="no node has room for a worker",
                remedy="--engine ray,cpus=1,gpus=0",
                severity="error",
            )
        )
    return [str(node) for node in cluster_nodes], faults


def disks(output_path: Path) -> Iterator[Finding]:
    """Checks that the disks of runs, models and data have space and are writable."""
    from huggingface_hub.constants import HF_HUB_CACHE

    yield from _disk(output_path, "--output_path FOLDER")
    yield from _disk(own_cache(), "export MMEVAL_CACHE_DIR=FOLDER")
    yield from _disk(Path(HF_HUB_CACHE), "export HF_HOME=FOLDER")


def _disk(folder: Path, elsewhere: str) -> Iterator[Finding]:
    nearest, free = existing(folder), free_bytes(folder)
    subject = Subject(name=str(folder.absolute()))
    if not os.access(nearest, os.W_OK):
        cause = f"{nearest} cannot be written"
        yield Finding("machine", subject, 0, 0, cause, elsewhere, "error")
    elif free < LITTLE:
        cause = f"only {size(free)} are free"
        yield Finding("machine", subject, 0, 0, cause, elsewhere, "note")
