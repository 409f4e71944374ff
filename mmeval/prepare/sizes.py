"""Size of a download before it starts: files, bytes, and the space on the disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from mmeval.dataset import hub
from mmeval.dataset.hub import HubFile, Listing
from mmeval.dataset.hub_cache import cache_folder, cached_snapshot, size_on_disk
from mmeval.errors import MissingDataError, MmevalError
from mmeval.findings.finding import Finding, Subject
from mmeval.metric.model_files import first_of
from mmeval.prepare.sources import HubSource
from mmeval.system.folders import existing, free_bytes
from mmeval.system.wording import size

SPARE_BYTES = 64 * 2**20
"""Bytes that stay free on a disk, for other programs."""


class Download(NamedTuple):
    """A source, its listing on the hub, and the files to fetch.

    ``hub_error`` is why the hub gave no listing; only local files are used then.
    ``damages`` are findings about the files.
    """

    source: HubSource
    listing: Listing | None
    to_fetch: tuple[HubFile, ...] = ()
    hub_error: MmevalError | None = None
    damages: tuple[Finding, ...] = ()

    @property
    def bytes_to_fetch(self) -> int:
        return sum(file.size for file in self.to_fetch)


DownloadState: TypeAlias = Download | MmevalError
"""A source, or why neither hub nor machine has it."""


def plan_download(source: HubSource) -> DownloadState:
    """Measure a source."""
    try:
        listing = hub.listing(source.repo, source.revision, kind=source.kind)
        source = _chosen(source, listing)
    except MmevalError as error:
        # some of its files may be on this machine
        if source.into is not None:
            is_here = source.into.is_dir()
        else:
            snapshot = cached_snapshot(source.repo, source.revision, source.kind)
            is_here = snapshot is not None
        return Download(source, None, hub_error=error) if is_here else error
    files = listing.files
    if source.only:
        files = tuple(file for file in files if file.path in source.only)
    listing = Listing(listing.commit, files)
    if source.into is None:
        to_fetch = hub.not_here(source.repo, listing, kind=source.kind)
        return Download(source, listing, to_fetch)
    missing: list[HubFile] = []
    for file in files:
        if size_on_disk(source.into / file.path) != file.size:
            missing.append(file)
    return Download(source, listing, tuple(missing))


def _chosen(source: HubSource, listing: Listing) -> HubSource:
    there = {file.path for file in listing.files}
    chosen: list[str] = []
    missing: list[str] = []
    for item in source.only:
        name = first_of(item, there.__contains__)
        if name is None:
            missing.append(item.replace("|", " or "))
        else:
            chosen.append(name)
    if missing:
        raise MissingDataError(
            f"{source}: the hub has no file {', '.join(missing)} there; name another "
            "revision, or report it to the metric's author"
        )
    return replace(source, only=tuple(chosen))


def space_findings(found: Sequence[Download]) -> Iterator[Finding]:
    """The disks that a download does not fit on."""
    needed: dict[int, int] = {}
    folders: dict[int, Path] = {}
    for item in found:
        folder = target_folder(item.source)
        device = existing(folder).stat().st_dev
        needed[device] = needed.get(device, 0) + item.bytes_to_fetch
        folders[device] = folder
    for device, count in needed.items():
        free = free_bytes(folders[device])
        if count and count + SPARE_BYTES > free:
            yield Finding(
                "machine",
                Subject(name=str(folders[device])),
                cause=f"too little space: {size(count)} to fetch, {size(free)} free",
                remedy="export HF_HOME=FOLDER",
                severity="error",
            )


def target_folder(source: HubSource) -> Path:
    """The folder for the files of a source."""
    return cache_folder() if source.into is None else source.into
