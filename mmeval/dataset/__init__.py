"""Data sets: the contract of a loader, and what loaders share."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.dataset.contract import Dataset, DataSource, Loader
    from mmeval.dataset.hub_cache import cached_snapshot
    from mmeval.dataset.loaders.row_files import read_jsonl
    from mmeval.dataset.sampling import Subset

__all__ = ["DataSource", "Dataset", "Loader", "Subset", "cached_snapshot", "read_jsonl"]

__getattr__, __dir__ = door(__name__)
