"""The folder of a run: its lock, its record and its files.

run.json               identity, provenance, resolved task files, settings of the last
                       command, and all commands of the run
run.lock               lock of the process that works on the run
workers/               logs of worker processes, and their shared lock
journal/               answers (see mmeval.store.journal)
media/                 produced media, by content
samples/<task>.jsonl   the samples of the run, with labels and references
trials/<task>.jsonl    the answers in the journal that make up each trial
scores/<task>/<set>/   rows of scores (see mmeval.metric.scoring.score_set)
ratings/<name>/        ratings of people, and numbers that they correct
kept/<key>.json        outcomes of finished commands (see mmeval.run.kept.outcome)
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
"""The field of ``run.json`` with the digests of damaged journal lines.

The calls of these lines were sent again.
"""


class RunFolder:
    """The folder of a run, which only one process can open at a time.

    Raises RunLockedError if another process has opened it.
    """

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
        """Reads ``run.json``; returns an empty record if the file is missing.

        Raises UsageError if the file cannot be read.
        """
        file = path / "run.json"
        if not file.is_file():
            return {}
        try:
            record = json.loads(file.read_bytes())
            is_record = isinstance(record, dict)
            if is_record and record.get("format", FORMAT_VERSION) != FORMAT_VERSION:
                raise UsageError(
                    f"{file} has a format that this version of mmeval cannot read. Use "
                    f"version {record.get('mmeval')}, which wrote it, or start over "
                    "with --fresh"
                )
            return unsealed_document(record)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"{file} is damaged ({error}). Restore it, or start over with --fresh"
            ) from None

    @property
    def record(self) -> Mapping[str, Any]:
        return self._record

    def changed_data(self, data: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Returns the tasks whose data have changed since the start of the run."""
        before = self._record.get("data", {})
        changed: list[str] = []
        for name, record in data.items():
            earlier = before.get(name)
            if earlier is not None and earlier["fingerprint"] != record["fingerprint"]:
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
        """Writes ``run.json`` and adds this session to it.

        ``tasks``, ``groups`` and ``data`` are merged with those of earlier sessions.
        """
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
        """Sets fields of ``run.json``.

        ``finished`` is True if the last command has completed all its trials.
        """
        self._record.update(fields)
        self._write()

    def check_present(self) -> None:
        """Raises StorageError if the folder was removed, moved or taken over."""
        if self._lock.is_held:
            return
        if (self.path / "run.lock").exists():
            raise StorageError(
                f"{self.path}: another process took over this run, because this one "
                "did not touch its lease for a minute. All answers are kept, and the "
                "other process continues"
            )
        raise StorageError(
            f"{self.path}: the run folder was removed or moved during the run, so its "
            "results are incomplete. Put it back, or run the same command to send the "
            "requests again"
        )

    def _write(self) -> None:
        self.check_present()
        write_atomic(self.path / "run.json", sealed_document(self._record))

    def close(self) -> None:
        self._lock.close()


def last_command(record: Mapping[str, Any]) -> str:
    """Returns the command of a run's last session, which continues the run.

    The command is empty for merged shards, which have several commands. ``record`` is
    the content of the run's ``run.json``.
    """
    sessions = record.get("sessions") or [{}]
    return "" if MERGED in record else continue_command(sessions[-1].get("command", ""))


def journal_findings(journal: Journal, record: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields findings for damaged journal lines whose calls were not sent again.

    ``record`` is the content of the run's ``run.json``.
    """
    return journal.findings(last_command(record), record.get(ASKED_AGAIN, ()))


def continue_command(command: str) -> str:
    """Returns a run's command in a form that continues the run, even after ``--fresh``.

    The command ends with ``--fresh false``, since the last value of a flag is used.
    """
    starts_over = "--fresh" in command
    return f"{command} --fresh false" if starts_over else command


def check_identity(
    path: Path,
    record: Mapping[str, Any],
    identity: Mapping[str, Any],
    answers: int,
    ways: str = WAYS_OUT,
) -> None:
    """Raises IdentityChangedError if a run with answers has another identity.

    The message names the changes. ``record`` is the content of the run's ``run.json``.
    """
    if answers and (changes := _changes(record, identity)):
        raise IdentityChangedError(
            f"{path}: the model or its settings changed ({changes}); calls answered "
            f"before: {answers:,}. {ways}"
        )


def check_others(others: Iterable[Path], identity: Mapping[str, Any]) -> None:
    """Raises IdentityChangedError if a folder that a shard reads has another identity.

    A folder without answers is accepted.
    """
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
            f"{folder}: another process is using this run ({held}). Wait until it "
            "ends, or choose another --run_id"
        ) from None
    except OSError as error:
        raise UsageError(
            f"the run folder {folder} cannot be written or locked ({error.strerror}); "
            "make it writable, or choose another --output_path"
        ) from None


def provenance() -> dict[str, Any]:
    """Returns facts about the machine and Python.

    These facts do not affect which answers are reused.
    """
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "argv0": Path(sys.argv[0]).name,
    }


def set_aside(path: Path) -> Path | None:
    """Renames the folder of an earlier run for ``--fresh``, to keep its answers.

    Returns the new path, or None without an earlier run. Raises RunLockedError if
    another process works on it.
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
            f"{path} cannot be renamed for --fresh ({error.strerror})"
        ) from None
    finally:
        lock.close()
    return target


def differences(
    before: Any,
    now: Any,
    name: str = "",
) -> Iterator[str]:
    """Yields the fields in which two records differ, with both values."""
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
