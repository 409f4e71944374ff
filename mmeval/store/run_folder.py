"""A run's folder: its writer, its origin, and what was asked and answered there.

run.json               what the run is: identity, provenance, resolved task files,
                       settings as the last command gave them, every command that
                       extended it
run.lock               held by the process that works here
workers/               logs of its worker processes, and the lock that each of them
                       shares
journal/               answers (see mmeval.store.journal)
media/                 produced media, by content
samples/<task>.jsonl   the samples as they were asked: labels and references, so that
                       the folder explains itself
trials/<task>.jsonl    which journalled answers make up each trial
scores/<task>/<set>/   score rows (see mmeval.metric.scoring.score_set)
"""

from __future__ import annotations

import itertools
import json
import platform
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from mmeval._version import __version__
from mmeval.errors import IdentityChangedError, RunLockedError, StorageError, UsageError
from mmeval.findings.finding import Finding
from mmeval.records.score import FORMAT_VERSION
from mmeval.store.journal import Journal
from mmeval.store.lock import Lock, LockHeldError
from mmeval.store.media_store import MediaStore
from mmeval.store.shard import MERGED
from mmeval.store.writer_lock import wait_for_writers
from mmeval.system.folders import write_atomic
from mmeval.system.json_lines import sealed_document, unsealed_document
from mmeval.system.wording import shortened

ANOTHER = "--model_tag NAME keeps both, --run_id NAME starts another run"
WAYS_OUT = f"{ANOTHER}, --fresh starts this one over"
ASKED_AGAIN = "asked_again"
"""The field of ``run.json`` with the digests of the damaged lines of the journal for
which the run has asked again."""


class RunFolder:
    """A run's folder, for one process at a time. Raises RunLockedError for a second."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._record: dict[str, Any] = {}
        self._lock = _locked(path)
        try:
            self._record = self.read_record(path)
        except UsageError:
            self.close()
            raise

    journal = property(lambda self: self.path / "journal")
    media = property(lambda self: self.path / "media")

    @staticmethod
    def read_record(path: Path) -> dict[str, Any]:
        """``run.json``; empty for a new folder. Raises UsageError for an unreadable
        one."""
        file = path / "run.json"
        if not file.is_file():
            return {}
        try:
            record = json.loads(file.read_bytes())
            is_record = isinstance(record, dict)
            if is_record and record.get("format", FORMAT_VERSION) != FORMAT_VERSION:
                raise UsageError(
                    f"{file}: is of another format than this mmeval reads; use the "
                    "mmeval that wrote it "
                    f"({record.get('mmeval')}), or start over with --fresh"
                )
            return unsealed_document(record)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"{file}: is damaged ({error}); restore it, or start over with --fresh"
            ) from None

    @property
    def record(self) -> Mapping[str, Any]:
        return self._record

    def changed_data(self, data: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """The tasks whose data are not those that this run began with."""
        before = self._record.get("data", {})
        changed: list[str] = []
        for name, record in data.items():
            known = before.get(name)
            if known is not None and known["fingerprint"] != record["fingerprint"]:
                changed.append(name)
        return changed

    def describe(
        self,
        *,
        identity: Mapping[str, Any],
        provenance: Mapping[str, Any],
        tasks: Mapping[str, Mapping[str, Any]],
        groups: Mapping[str, Mapping[str, Any]],
        data: Mapping[str, Mapping[str, Any]],
        options: Mapping[str, Any],
        left_out: Mapping[str, Mapping[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
        command: str,
    ) -> None:
        """Write ``run.json``: the first identity stays, this session is added. The
        configurations of ``tasks`` and ``groups`` join those of earlier sessions."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        session = {
            "started": now,
            "command": command,
            "mmeval": __version__,
            "provenance": dict(provenance),
        }
        self._record.update(
            format=FORMAT_VERSION,
            mmeval=__version__,
            created=self._record.get("created", now),
            nonce=self._record.get("nonce") or secrets.token_hex(8),
            identity=dict(identity),
            options=dict(options),
            settings=dict(settings or {}),
            tasks={**self._record.get("tasks", {}), **tasks},
            groups={**self._record.get("groups", {}), **groups},
            data={
                **self._record.get("data", {}),
                **{name: dict(record) for name, record in data.items()},
            },
            left_out=dict(left_out or {}),
            finished=False,
            stopped=[],
            sessions=[*self._record.get("sessions", []), session],
        )
        self._write()

    def note(self, **fields: Any) -> None:
        """Set fields of ``run.json``; ``finished``: every trial of the last command was
        made."""
        self._record.update(fields)
        self._write()

    def check_present(self) -> None:
        """Raises StorageError where the folder was removed or moved since it was
        opened."""
        if self._lock.lasts:
            return
        if (self.path / "run.lock").exists():
            raise StorageError(
                f"{self.path}: another process took this run over, as this one gave "
                "no sign for a minute; what was "
                "answered is kept, and the other one goes on"
            )
        raise StorageError(
            f"{self.path}: the run folder was removed or moved while the run went on, "
            "so its results are not whole. "
            "Put it back, or run the same command to ask again what it held"
        )

    def _write(self) -> None:
        self.check_present()
        write_atomic(self.path / "run.json", sealed_document(self._record))

    def close(self) -> None:
        self._lock.close()


def last_command(record: Mapping[str, Any]) -> str:
    """The command that goes on with a run: that of its latest session; ``record`` is
    the run's. Empty for a run of shards, whose commands are several."""
    sessions = record.get("sessions") or [{}]
    return "" if MERGED in record else continue_command(sessions[-1].get("command", ""))


def journal_findings(journal: Journal, record: Mapping[str, Any]) -> Iterator[Finding]:
    """The damaged lines of a run's journal for which its command has not asked again;
    ``record`` is the run's."""
    return journal.findings(last_command(record), record.get(ASKED_AGAIN, ()))


def continue_command(command: str) -> str:
    """A run's command as one that keeps what is answered. The later flag counts."""
    starts_over = "--fresh" in command
    return f"{command} --fresh false" if starts_over else command


def check_identity(
    path: Path,
    record: Mapping[str, Any],
    identity: Mapping[str, Any],
    answers: int,
    ways: str = WAYS_OUT,
) -> None:
    """Raise IdentityChangedError when a run with answers changes its identity.
    The error names what changed; ``record`` is the run's."""
    if answers and (changes := _changes(record, identity)):
        raise IdentityChangedError(
            f"{path}: the run changed ({changes}); calls answered before: {answers:,}. "
            f"{ways}"
        )


def check_others(others: Iterable[Path], identity: Mapping[str, Any]) -> None:
    """Raise IdentityChangedError where a folder that a shard reads has answers of
    another identity."""
    for path in others:
        record = RunFolder.read_record(path)
        if _changes(record, identity):
            with closing(
                Journal(path / "journal", MediaStore(path / "media"), writable=False)
            ) as journal:
                check_identity(path, record, identity, len(journal), ANOTHER)


def _changes(record: Mapping[str, Any], identity: Mapping[str, Any]) -> str:
    before = record.get("identity")
    if before is None:
        return ""
    return "; ".join(differences(before, json.loads(json.dumps(identity))))


def _locked(folder: Path) -> Lock:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as failed:
            lock = Lock(folder / "run.lock")
            failed.callback(lock.close)
            wait_for_writers(folder)
            failed.pop_all()
            return lock
    except LockHeldError as held:
        raise RunLockedError(
            f"{folder}: another process is working here ({held}). Wait for it, or "
            "name another --run_id"
        ) from None
    except OSError as error:
        raise UsageError(
            f"the run folder {folder} cannot be written or locked ({error.strerror}); "
            "make it writable, or choose "
            "another --output_path"
        ) from None


def provenance() -> dict[str, Any]:
    """The record of machine and libraries; it never decides what may be reused."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "argv0": Path(sys.argv[0]).name,
    }


def set_aside(path: Path) -> Path | None:
    """For ``--fresh``: move an earlier run aside whole; paid answers are not deleted.

    Raises RunLockedError when another process works there.
    """
    if not path.exists():
        return None
    lock = _locked(path)
    moment = f"{path.name}.{time.strftime('%Y%m%d-%H%M%S')}"
    names = itertools.chain(
        [moment], (f"{moment}-{number}" for number in itertools.count(2))
    )
    target = next(
        target for name in names if not (target := path.with_name(name)).exists()
    )
    try:
        path.rename(target)
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be moved aside ({error.strerror})"
        ) from None
    finally:
        lock.close()
    return target


def differences(
    before: Any,
    now: Any,
    name: str = "",
) -> Iterator[str]:
    """The fields in which two records differ, with both values."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in sorted({*before, *now}):
            yield from differences(
                before.get(key), now.get(key), f"{name}.{key}" if name else str(key)
            )
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for place, pair in enumerate(zip(before, now, strict=True)):
            yield from differences(*pair, f"{name}[{place}]")
    elif before != now:
        yield f"{name} {_short(before)} -> {_short(now)}"


def _short(value: Any) -> str:
    return (
        shortened(json.dumps(value, ensure_ascii=False), 60)
        if value is not None
        else "none"
    )
