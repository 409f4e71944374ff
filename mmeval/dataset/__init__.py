"""Data sets: the contract of loaders, and code that loaders share."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.dataset.archive import unpacked
    from mmeval.dataset.contract import BadRow, Dataset, DataSource, Loader
    from mmeval.dataset.hub_cache import cached_snapshot
    from mmeval.dataset.loaders.interleaved import InterleavedDataset, MediaFolder
    from mmeval.dataset.loaders.parquet_rows import parquet_file
    from mmeval.dataset.loaders.row import row_id
    from mmeval.dataset.loaders.row_files import read_jsonl, row_files
    from mmeval.dataset.loaders.same_stem import FoundMedia, SameStem
    from mmeval.dataset.sampling import Subset

__all__ = [
    "BadRow",
    "DataSource",
    "Dataset",
    "FoundMedia",
    "InterleavedDataset",
    "Loader",
    "MediaFolder",
    "SameStem",
    "Subset",
    "cached_snapshot",
    "parquet_file",
    "read_jsonl",
    "row_files",
    "row_id",
    "unpacked",
]

__getattr__, __dir__ = door(__name__)
