"""The file with what has to stay the same while people rate."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from mmeval.errors import StorageError, UsageError

FILE = "session.json"
_SECRET_BYTES = 32


@dataclass(frozen=True)
class SessionRecord:
    """The secret of links and opaque names, and the digest of the question."""

    secret: bytes
    question: str


def session_record(folder: Path, question: str) -> SessionRecord:
    """Returns the record in the folder of ratings. Without one, a new one is written.

    Raises UsageError if the ratings in the folder answer another question, and
    StorageError if the file cannot be written.
    """
    file = folder / FILE
    if file.exists():
        record = _read(file)
        if record.question != question:
            raise UsageError(
                f"{folder} has ratings of another question; choose another --name"
            )
        return record
    record = SessionRecord(secrets.token_bytes(_SECRET_BYTES), question)
    document = {"v": 1, "secret": record.secret.hex(), "question": question}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = file.with_suffix(".new")
        # who can read the secret can rate in every rater's name
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(document, stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        raise StorageError(f"{file}: cannot be written ({error.strerror})") from None
    return record


def _read(file: Path) -> SessionRecord:
    try:
        document = json.loads(file.read_bytes())
        return SessionRecord(bytes.fromhex(document["secret"]), document["question"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"{file}: damaged; remove it, then raters need new links"
        ) from None
