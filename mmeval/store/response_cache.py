"""Cache of answers that several runs share (``--use_cache``).

The cache consists of an SQLite file and a media store. The key combines the whole
identity of the backend, the digest of the request (including its media) and the seed.
If any of these changes, the cache returns no answer. Library versions are not part of
the key.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmeval.errors import CorruptMediaError, MissingDataError, StorageError
from mmeval.media.media import Media
from mmeval.records.digests import digest
from mmeval.records.response import Response
from mmeval.store.media_store import MediaStore
from mmeval.store.segment import portable
from mmeval.system.json_lines import sealed, to_line, unsealed


class ResponseCache:
    """Stored answers of earlier runs. Failures are never stored."""

    def __init__(self, folder: Path) -> None:
        self._media = MediaStore(folder / "media")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(folder / "responses.sqlite", timeout=30)
            # several runs may use a cache at the same time
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS responses (key TEXT PRIMARY KEY, response "
                "BLOB NOT NULL)"
            )
        except (OSError, sqlite3.Error) as error:
            raise StorageError(
                f"the cache {folder} cannot be opened ({error}). Choose a writable "
                "folder for --use_cache"
            ) from None

    @staticmethod
    def key(
        identity: Mapping[str, Any],
        request_digest: str,
        seed: int,
    ) -> str:
        return digest([identity, request_digest, seed])

    def get(self, key: str) -> Response | None:
        """Returns a stored answer with its media in memory; None if missing or damaged.

        Raises StorageError if the database cannot be read.
        """
        try:
            row = self._db.execute(
                "SELECT response FROM responses WHERE key = ?", (key,)
            ).fetchone()
        except sqlite3.Error as error:
            raise StorageError(
                f"the cache cannot be read ({error}). Choose another folder for "
                "--use_cache, or leave it out"
            ) from None
        if row is None:
            return None
        try:
            stored = Response.from_json(unsealed(row[0]), self._media.root)
            return stored.with_media(_loaded)
        except (CorruptMediaError, MissingDataError, ValueError):
            return None

    def put(self, key: str, response: Response) -> None:
        if response.output is None:
            return
        stored = response.with_media(self._media.put)
        row = portable(stored, self._media.root)
        try:
            with self._db:
                self._db.execute(
                    "INSERT OR REPLACE INTO responses VALUES (?, ?)",
                    (key, sealed(to_line(row))),
                )
        except sqlite3.Error as error:
            raise StorageError(
                f"an answer cannot be written to the cache of --use_cache ({error})"
            ) from None

    def close(self) -> None:
        self._db.close()


def _loaded(medium: Media) -> Media:
    return Media.from_bytes(medium.read(), medium.name)
