"""The backend's arguments, checked, and the digests of the files that make the
worker."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mmeval.errors import MissingDataError, UsageError
from mmeval.records import DIGEST_CHARS
from mmeval.system.secrets import secret_values
from mmeval.system.wording import shortened

MediaTravel = Literal["path", "inline"]
_SHOWN_CHARS = 200
"""Limit of a path in a message, in characters."""
_MACHINE_CODE = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""How programs begin that no author writes, such as the interpreter."""


class TimeSetting(NamedTuple):
    """How long something may take, and the argument that sets it."""

    seconds: float
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.seconds:g} seconds ({self.argument})"


@dataclass(frozen=True)
class Settings:
    """How the program is started and asked. Raises UsageError for a time that is not
    above 0."""

    command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    args: Mapping[str, Any]
    media: MediaTravel
    hello: TimeSetting
    load: TimeSetting
    batch: TimeSetting

    def __post_init__(self) -> None:
        for seconds, argument in (self.hello, self.load, self.batch):
            if not seconds > 0:
                raise UsageError(
                    f"{argument}={seconds}: must be a number of seconds above 0",
                    name=argument,
                )

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.env}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys among its arguments, which no file of a run may hold."""
        given = {"command": self.command, "env": self.env, "args": self.args}
        return tuple(sorted(secret_values(given)))


def words_of(command: str | Sequence[str]) -> tuple[str, ...]:
    """The words of a command. Raises UsageError for one without words or with an open
    quote."""
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        raise UsageError(
            f"command: {error}; close each quote that is opened", name="command"
        ) from None
    if not words:
        raise UsageError(
            "command is empty: name the program of the model, as in command='python "
            "omni/serve.py'"
        )
    return words


def check_program(settings: Settings) -> None:
    """Raises MissingDataError for a folder or a program that is not there."""
    if not _is(Path.is_dir, settings.cwd):
        raise MissingDataError(
            f"cwd={shortened(str(settings.cwd), _SHOWN_CHARS)}: there is no such "
            "folder",
            name="cwd",
        )
    name = settings.command[0]
    place = settings.cwd / name if os.sep in name else name
    if shutil.which(place, path=settings.environment.get("PATH")) is None:
        raise MissingDataError(
            f"command: there is no program {shortened(name, _SHOWN_CHARS)!r} here; "
            "give its path, or install it",
            name=name,
        )


def devices_of(devices: str, copies: int | None) -> tuple[str, ...]:
    """The devices of each copy, empty ones where none are named. Raises UsageError for
    another number of them."""
    named = tuple(devices.split("+")) if devices else ()
    count = (len(named) or 1) if copies is None else copies
    if count < 1:
        raise UsageError(
            f"copies={copies}: must be a whole number, 0 or more", name="copies"
        )
    if named and len(named) != count:
        raise UsageError(
            f"devices={devices} are those of {len(named)} copies, and copies={count}; "
            "write one for each, as in "
            "devices=0+1 (two devices of one copy: devices=0,1+2,3)",
            name="devices",
        )
    return named or ("",) * count


def code_digests(settings: Settings, code: Sequence[str]) -> dict[str, str]:
    """A digest for each name of a file that the command or ``code`` names; of a folder
    its Python files count. Raises MissingDataError for what ``code`` names and is not
    there."""
    files: dict[Path, str] = {}
    for word in settings.command:
        file = settings.cwd / word
        if _is(Path.is_file, file):
            with file.open("rb") as opened:
                is_machine_code = opened.read(4) in _MACHINE_CODE
            if not is_machine_code:
                files[file.resolve()] = file.name
    for word in code:
        place = settings.cwd / Path(word).expanduser()
        if _is(Path.is_dir, place):
            for file in sorted(place.rglob("*.py")):
                files[file.resolve()] = str(file.relative_to(place))
        elif _is(Path.is_file, place):
            files[place.resolve()] = place.name
        else:
            raise MissingDataError(
                f"code={shortened(word, _SHOWN_CHARS)}: there is no such file or "
                "folder",
                name="code",
            )
    digests: dict[str, list[str]] = defaultdict(list)
    for file, name in files.items():
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        digests[name].append(digest[:DIGEST_CHARS])
    names = sorted(digests)
    return {name: "+".join(sorted(digests[name])) for name in names}


def _is(kind: Callable[[Path], bool], place: Path) -> bool:
    """Whether a place is there, a file or a folder."""
    try:
        return kind(place)
    except (OSError, ValueError):  # a word that no file can have as its name
        return False
