"""Size of a download before it starts: files, bytes, and the space on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mmeval.dataset import hub
from mmeval.dataset.hub import HubFile, Listing
from mmeval.dataset.hub_cache import cache_folder, cached_snapshot, size_on_disk
from mmeval.errors import MissingDataError, MmevalError
from mmeval.metric.model_files import first_of
from mmeval.prepare.sources import Source
from mmeval.system.folders import existing, free_bytes
from mmeval.wording import size

SPARE_BYTES = 64 * 2**20
"""Bytes that stay free on a disk, for other programs."""


class Measured(NamedTuple):
    """A source and its listing on the hub, or None for the reason ``unasked``. That is
    where the hub was not asked or did not answer; then only local files are used."""

    source: Source
    listing: Listing | None
    to_fetch: tuple[HubFile, ...] = ()
    unasked: str = ""

    @property
    def bytes_to_fetch(self) -> int:
        return sum(file.size for file in self.to_fetch)

    @property
    def is_unpinned(self) -> bool:
        """Whether its revision may change: a branch, or a tag."""
        return self.listing is not None and self.source.revision != self.listing.commit


def measured(source: Source) -> Measured:
    """Measure a source. Raises MissingDataError if neither hub nor machine has it."""
    if variable := hub.offline(source.kind):
        _require_here(
            source,
            f"{source}: it is not here and {variable} is set; run once with "
            f"{variable}=0",
        )
        return Measured(source, None, unasked=f"{variable} is set")
    try:
        listing = hub.listing(source.repo, source.revision, kind=source.kind)
    except MmevalError as error:
        _require_here(source, str(error))
        return Measured(source, None, unasked=str(error))
    source = _chosen(source, listing)
    files = tuple(
        file for file in listing.files if not source.only or file.path in source.only
    )
    listing = Listing(listing.commit, files)
    if (into := source.into) is not None:
        return Measured(
            source,
            listing,
            tuple(
                file for file in files if size_on_disk(into / file.path) != file.size
            ),
        )
    return Measured(
        source, listing, hub.not_here(source.repo, listing, kind=source.kind)
    )


def _chosen(source: Source, listing: Listing) -> Source:
    there = {file.path for file in listing.files}
    chosen = {item: first_of(item, there.__contains__) for item in source.only}
    lacking = [
        item.replace("|", " or ") for item, name in chosen.items() if name is None
    ]
    if lacking:
        raise MissingDataError(
            f"{source}: the hub has no file {', '.join(lacking)} there; name another "
            "revision, or report it to the "
            "metric's author"
        )
    return replace(source, only=tuple(name for name in chosen.values() if name))


def require_space(found: Sequence[Measured]) -> None:
    """Check each disk's space. Raises MissingDataError if the download does not fit."""
    needed: dict[int, int] = {}
    folders: dict[int, Path] = {}
    for item in found:
        folder = existing(target_folder(item.source))
        device = folder.stat().st_dev
        needed[device] = needed.get(device, 0) + item.bytes_to_fetch
        folders[device] = folder
    for device, count in needed.items():
        free = free_bytes(folders[device])
        if count and count + SPARE_BYTES > free:
            raise MissingDataError(
                f"{size(count)} are to be fetched, and the disk of {folders[device]} "
                f"has {size(free)} free; free some, "
                "set HF_HOME to a larger disk, or give --data_dir FOLDER. Nothing was "
                "fetched"
            )


def target_folder(source: Source) -> Path:
    """The folder for the files of a source."""
    return cache_folder() if source.into is None else source.into


def _require_here(source: Source, otherwise: str) -> None:
    here = (
        source.into
        if source.into is not None
        else cached_snapshot(source.repo, source.revision, source.kind)
    )
    if here is None or not here.is_dir():
        raise MissingDataError(otherwise)
