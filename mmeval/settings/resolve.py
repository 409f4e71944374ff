"""Settings from flags, else the configuration file, the environment, the default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import MissingDataError, TaskFileError, UsageError, did_you_mean
from mmeval.settings.flags import (
    FLAGS,
    HARMLESS,
    OTHER_VARIABLES,
    REFUSED,
    SCORE_FLAGS,
    Flag,
)


class Setting(NamedTuple):
    """A value, typed once it is resolved, and its origin for messages, empty for a
    default. It is ``--limit``, ``run.yaml:3: limit`` or ``MMEVAL_LIMIT``. ``Any``: each
    flag has its own type."""

    value: Any
    origin: str = ""


def resolve(
    flags: Iterable[Flag],
    given: Mapping[str, Any],
    environ: Mapping[str, str],
    config: Path | None = None,
    *,
    spelt: str = "--{}",
) -> dict[str, Setting]:
    """Give every flag its value. ``given`` are the flags of the command line by name;
    ``spelt`` is how messages write them. Raises UsageError for a value that cannot be
    read, an unknown key of the file and a flag that is refused."""
    wanted = list(flags)
    of_command = {
        name: Setting(value, spelt.format(name)) for name, value in given.items()
    }
    of_file: dict[str, Setting] = {}
    if config is not None:
        of_file = read_config(config, [flag.name for flag in wanted])
    variables = _variables()
    if not environ.get(variables["verbosity"]):
        variables["verbosity"] = "MMEVAL_LOG_LEVEL"
    of_environment: dict[str, Setting] = {}
    for name, variable in variables.items():
        if environ.get(variable):  # empty ones are passed over
            of_environment[name] = Setting(environ[variable], variable)
    sources = (of_command, of_file, of_environment)
    for source in sources:
        for name, (value, origin) in source.items():
            if name not in REFUSED:
                continue
            words = value if isinstance(value, list) else [value]
            written = [str(word).lower() for word in words]
            if len(written) != 1 or written[0] not in HARMLESS.get(name, ()):
                raise UsageError(
                    f"{origin} has no effect here: {REFUSED[name]}", name=origin
                )
    settings: dict[str, Setting] = {}
    for flag in wanted:
        settings[flag.name] = Setting(flag.default)
        for source in sources:
            value, origin = source.get(flag.name, Setting(None))
            if value is not None:
                settings[flag.name] = Setting(typed(flag, value, origin), origin)
                break
    return settings


def config_file(
    given: Mapping[str, Any],
    environ: Mapping[str, str],
) -> Path | None:
    """The file that ``--config`` or ``MMEVAL_CONFIG`` names."""
    spelt = given.get("config") or environ.get("MMEVAL_CONFIG")
    return Path(spelt).expanduser() if spelt else None


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """A warning for each ``MMEVAL_...`` variable that nothing reads, with near
    names."""
    known = {*_variables().values(), *OTHER_VARIABLES}
    warnings: list[str] = []
    for name in sorted(environ):
        if name.startswith("MMEVAL_") and name not in known:
            near = did_you_mean(name, known)
            warnings.append(f"the variable {name} has no effect{near}")
    return warnings


def exclude_each_other(
    settings: Mapping[str, Setting],
    one: str,
    other: str,
) -> None:
    """Refuse two settings together. Raises UsageError when both are given."""
    first, second = settings[one], settings[other]
    if first.value not in _NOT_GIVEN and second.value not in _NOT_GIVEN:
        message = (
            f"{first.origin} and {second.origin} exclude each other; leave one out"
        )
        raise UsageError(message, name=first.origin)


_NOT_GIVEN: tuple[Any, ...] = (None, "", 0, {}, ())


def read_config(file: Path, known: Iterable[str]) -> dict[str, Setting]:
    """The keys of a configuration file. Raises TaskFileError with a wrong key's
    line."""
    from mmeval.system.yaml_document import read_document

    if not file.is_file():
        raise MissingDataError(
            f"--config: {file} {'is a folder' if file.is_dir() else 'does not exist'}"
        )
    names = set(known) - {"config"}
    document = read_document(file)
    found: dict[str, Setting] = {}
    for key, value in document.data.items():
        name = key.replace("-", "_")
        line = document.place((key,)).line
        if name in found:
            raise TaskFileError(
                f"{key!r} is given twice", file=file, line=line, name=key
            )
        if name == "config":
            raise TaskFileError(
                "a configuration file cannot name another one", file=file, line=line
            )
        if name not in names and name not in REFUSED:
            message = f"unknown key {key!r}{did_you_mean(name, names)}"
            raise TaskFileError(message, file=file, line=line, name=key)
        found[name] = Setting(value, f"{file}:{line}: {key}")
    return found


def _variables() -> dict[str, str]:
    """The variable of each flag, also of those that are refused, by its name."""
    names = [flag.name for flag in (*FLAGS, *SCORE_FLAGS)]
    return {name: f"MMEVAL_{name.upper()}" for name in (*names, *REFUSED)}


def typed(
    flag: Flag,
    raw: Any,
    origin: str,
) -> Any:
    """A flag's value. Errors (UsageError, MissingDataError) begin with ``origin``."""
    try:
        value = flag.read(raw)
    except UsageError as error:
        raise UsageError(f"{origin}: {error}", name=origin) from None
    except MissingDataError as error:
        raise MissingDataError(f"{origin}: {error}", name=origin) from None
    if flag.choices and value not in flag.choices:
        shown = [choice for choice in flag.choices if choice]
        message = (
            f"{origin}: {' or '.join(shown)} is expected, not "
            f"{value!r}{did_you_mean(value, shown)}"
        )
        raise UsageError(message, name=origin)
    return value
