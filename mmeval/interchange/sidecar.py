"""Reads and writes manifests, and the exact parts of answers that exported rows contain
under the key ``mmeval``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from mmeval.errors import MissingDataError, MmevalError, UsageError
from mmeval.interchange.contract import MANIFEST
from mmeval.media.media import MAX_MEDIA_BYTES, Media, path_inside
from mmeval.media.parts import PART_KINDS, Interleaved, Part
from mmeval.records.digests import DIGEST_CHARS
from mmeval.system.foreign_lines import document_of

OWN = "mmeval"
"""The key that mmeval adds to a line or record. Scripts of the benchmark ignore it."""
MAX_MEDIUM_BYTES = MAX_MEDIA_BYTES
"""The maximum size of a medium, in bytes."""
DAMAGED = (
    f"its parts under {OWN!r} are damaged; export the answers again, or remove the key"
)
"""The message for a row whose exact parts cannot be read."""


def exact_parts(
    output: Interleaved,
    files: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Returns the parts of an answer as JSON.

    ``files`` maps the digests of media to file names.
    """
    rows = []
    for part in output.parts:
        row = part.to_json()
        if part.media is not None:
            row["file"] = files[part.media.sha256]
            del row["media"]
        rows.append(row)
    return rows


def exact_part(row: object, medium: Callable[[str], Media | None]) -> Part:
    """Reads a part that ``exact_parts`` has written. Raises UsageError if damaged.

    ``medium`` opens a file by name, or returns None.
    """
    if not isinstance(row, dict) or row.get("type") not in PART_KINDS:
        raise UsageError(DAMAGED)
    text: Any = row.get("text")
    file: Any = row.get("file")
    raw: Any = row.get("raw", text or "")
    label: Any = row.get("label", "")
    for value in (text, file):
        if value is not None and not isinstance(value, str):
            raise UsageError(DAMAGED)
    if not isinstance(raw, str) or not isinstance(label, str):
        raise UsageError(DAMAGED)
    media = None if file is None else medium(file)
    return Part(row["type"], text, media, raw, label)


def medium_inside(folder: Path, name: str) -> Media:
    """Opens a medium in a folder.

    Raises UsageError for a path that leads out of the folder, and MissingDataError for
    a file that is missing or too large.
    """
    file = path_inside(folder, name)
    medium = Media.from_path(file)
    if medium.size > MAX_MEDIUM_BYTES:
        raise MissingDataError(
            f"{file} is larger than {MAX_MEDIUM_BYTES >> 20} MiB, the maximum for a "
            "medium"
        )
    return medium


def exact_files(sidecar: Mapping[str, Any]) -> list[str]:
    """Returns the distinct files that the parts under the key ``mmeval`` name."""
    names: dict[str, None] = {}
    for row in sidecar.get("parts", ()):
        if isinstance(row, dict) and isinstance(row.get("file"), str):
            names[row["file"]] = None
    return list(names)


def own_of(
    row: Mapping[str, Any],
    *,
    parts: type = list,
) -> Mapping[str, Any]:
    """Returns the object under the key ``mmeval``. Raises UsageError if damaged.

    ``parts`` is the required type of the object's value ``parts``.
    """
    value = row.get(OWN, {})
    if isinstance(value, dict) and isinstance(value.get("parts", parts()), parts):
        return value
    raise UsageError(
        f"{OWN!r} must be an object; remove the key, or export the answers again"
    )


def read_manifest(
    folder: Path, how_to: str = "remove it, or export the answers again"
) -> Mapping[str, Any]:
    """Returns the manifest of an export, or an empty mapping if there is none.

    Raises UsageError if it is damaged.
    """
    file = path_inside(folder, MANIFEST)
    if not file.is_file():
        return {}
    try:
        document = document_of(file)
    except MmevalError as error:
        raise UsageError(f"{error}; {how_to}") from None
    return document if isinstance(document, dict) else {}


def model_of(manifest: Mapping[str, Any], folder: Path) -> str:
    """Returns the model that an export names, else the name of the folder.

    Scripts of benchmarks also use the folder's name.
    """
    model = manifest.get("model")
    return model if isinstance(model, str) and model else folder.resolve().name


def files_digest(
    folder: Path,
    names: Iterable[str],
    head: Iterable[bytes] = (),
) -> str:
    """Returns a digest of the names and bytes of files in a folder.

    Raises UsageError for a file outside the folder, and MissingDataError for a file
    that cannot be read.
    """
    sha256 = hashlib.sha256()
    for piece in head:
        sha256.update(piece)
    for name in names:
        path = path_inside(folder, name)
        try:
            with path.open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
                sha256.update(f"{name}:{content}\n".encode())
        except OSError as error:
            raise MissingDataError(
                f"{path}: cannot be read ({error.strerror}); restore it, or remove it"
            ) from None
    return sha256.hexdigest()[:DIGEST_CHARS]
