"""Determines the size of a download before it starts, and checks the disk space."""

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
"""Number of bytes that must stay free on a disk for other programs."""


class Download(NamedTuple):
    """A source, the hub's listing of its files, and the files to fetch.

    If the hub returned no listing, ``hub_error`` is the error, and only local files are
    used. ``damages`` are findings about damaged files.
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
"""A download, or the error if neither the hub nor this machine has the source."""


def plan_download(source: HubSource) -> DownloadState:
    """Lists a source on the hub and compares the listing with the local files."""
    try:
        listing = hub.listing(source.repo, source.revision, kind=source.kind)
        source = _with_listed_files(source, listing)
    except MmevalError as error:
        # some of its files may be local
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


def _with_listed_files(source: HubSource, listing: Listing) -> HubSource:
    listed = {file.path for file in listing.files}
    names: list[str] = []
    missing: list[str] = []
    for alternatives in source.only:
        name = first_of(alternatives, listed.__contains__)
        if name is None:
            missing.append(alternatives.replace("|", " or "))
        else:
            names.append(name)
    if missing:
        raise MissingDataError(
            f"{source}: the hub does not have {', '.join(missing)}. Choose another "
            "revision, or report it to the metric's author"
        )
    return replace(source, only=tuple(names))


def space_findings(downloads: Sequence[Download]) -> Iterator[Finding]:
    """Yields a finding for each disk without enough space for the downloads."""
    needed: dict[int, int] = {}
    folders: dict[int, Path] = {}
    for download in downloads:
        folder = target_folder(download.source)
        device = existing(folder).stat().st_dev
        needed[device] = needed.get(device, 0) + download.bytes_to_fetch
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
    """Returns the folder that a source is fetched into."""
    return cache_folder() if source.into is None else source.into
