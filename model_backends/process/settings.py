"""Checks the backend's arguments, and computes digests of the worker's files."""

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
"""Maximum length of a path in a message."""
_MACHINE_CODE = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""The first bytes of compiled programs, such as the Python interpreter."""


class TimeSetting(NamedTuple):
    """A time limit in seconds, and the argument that sets it."""

    seconds: float
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.seconds:g} seconds ({self.argument})"


@dataclass(frozen=True)
class ProcessSettings:
    """The settings for starting and calling the worker.

    Raises UsageError for a time limit that is not above 0.
    """

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
                    f"{argument}={seconds} must be a number of seconds above 0",
                    name=argument,
                )

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.env}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets in the arguments. No file of a run may contain them."""
        arguments = {"command": self.command, "env": self.env, "args": self.args}
        return tuple(sorted(secret_values(arguments)))


def words_of(command: str | Sequence[str]) -> tuple[str, ...]:
    """Splits a command into words.

    Raises UsageError for an empty command or an unclosed quote.
    """
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        raise UsageError(
            f"command: {error}. Close each opened quote", name="command"
        ) from None
    if not words:
        raise UsageError(
            "command is empty. Set it to the model's program, such as command='python "
            "omni/serve.py'"
        )
    return words


def check_program(settings: ProcessSettings) -> None:
    """Raises MissingDataError for a missing folder or program."""
    if not _is_kind(Path.is_dir, settings.cwd):
        raise MissingDataError(
            f"cwd={shortened(str(settings.cwd), _SHOWN_CHARS)} is not a folder",
            name="cwd",
        )
    name = settings.command[0]
    place = settings.cwd / name if os.sep in name else name
    if shutil.which(place, path=settings.environment.get("PATH")) is None:
        raise MissingDataError(
            f"command: the program {shortened(name, _SHOWN_CHARS)!r} does not exist. "
            "Set command to its path, or install it",
            name=name,
        )


def devices_of(devices: str, copies: int | None) -> tuple[str, ...]:
    """Returns the devices of each copy, or empty strings if no devices are given.

    Raises UsageError if the numbers of devices and copies differ.
    """
    device_sets = tuple(devices.split("+")) if devices else ()
    count = (len(device_sets) or 1) if copies is None else copies
    if count < 1:
        raise UsageError(
            f"copies={copies} must be a whole number of at least 0", name="copies"
        )
    if device_sets and len(device_sets) != count:
        raise UsageError(
            f"devices={devices} is for {len(device_sets)} copies, not for "
            f"copies={count}. Give a device for each copy, such as devices=0+1 (or two "
            "for each copy: devices=0,1+2,3)",
            name="devices",
        )
    return device_sets or ("",) * count


def code_digests(settings: ProcessSettings, code: Sequence[str]) -> dict[str, str]:
    """Computes the digests of the files in the command and in ``code``, by name.

    For a folder, the digests of its Python files are computed. Raises MissingDataError
    for a missing file in ``code``.
    """
    files: dict[Path, str] = {}
    for word in settings.command:
        file = settings.cwd / word
        if _is_kind(Path.is_file, file):
            with file.open("rb") as opened:
                is_machine_code = opened.read(4) in _MACHINE_CODE
            if not is_machine_code:
                files[file.resolve()] = file.name
    for word in code:
        place = settings.cwd / Path(word).expanduser()
        if _is_kind(Path.is_dir, place):
            for file in sorted(place.rglob("*.py")):
                files[file.resolve()] = str(file.relative_to(place))
        elif _is_kind(Path.is_file, place):
            files[place.resolve()] = place.name
        else:
            raise MissingDataError(
                f"code={shortened(word, _SHOWN_CHARS)} does not exist",
                name="code",
            )
    digests: dict[str, list[str]] = defaultdict(list)
    for file, name in files.items():
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        digests[name].append(digest[:DIGEST_CHARS])
    names = sorted(digests)
    return {name: "+".join(sorted(digests[name])) for name in names}


def _is_kind(kind: Callable[[Path], bool], place: Path) -> bool:
    """Returns ``kind(place)``, or False for a string that cannot be a path."""
    try:
        return kind(place)
    except (OSError, ValueError):  # a word that cannot be a file name
        return False
