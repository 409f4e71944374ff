"""Resolves settings. Flags override the file, then the environment, then defaults."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
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
    """A value with its origin for messages; the origin is empty for a default.

    An origin is ``--limit``, ``run.yaml:3: limit`` or ``MMEVAL_LIMIT``. A resolved
    value has the type of its flag.
    """

    value: Any
    origin: str = ""


def resolve(
    flags: Iterable[Flag],
    command_line: Mapping[str, Any],
    environ: Mapping[str, str],
    config: Path | None = None,
    *,
    spelt: str = "--{}",
    other_keys: Collection[str] = (),
    of_model: Mapping[str, Setting] = MappingProxyType({}),
) -> dict[str, Setting]:
    """Resolves the value of every flag.

    ``command_line`` maps names to the values on the command line; ``spelt`` is the form
    of a name in messages. ``other_keys`` are keys of the file that are not flags.
    ``of_model`` are the settings of one of the file's models, which override the file's
    other settings. Raises UsageError for an invalid value, an unknown key of the
    file, or a flag of another harness that has no effect.
    """
    flag_list = list(flags)
    from_command_line = {
        name: Setting(value, spelt.format(name)) for name, value in command_line.items()
    }
    from_file: dict[str, Setting] = {}
    if config is not None:
        names = [flag.name for flag in flag_list]
        from_file = read_config(config, names, other_keys) | dict(of_model)
    variables = _variables()
    # MMEVAL_LOG_LEVEL is an alias of MMEVAL_VERBOSITY
    if not environ.get(variables["verbosity"]):
        variables["verbosity"] = "MMEVAL_LOG_LEVEL"
    from_environment: dict[str, Setting] = {}
    for name, variable in variables.items():
        if environ.get(variable):  # an empty variable counts as not set
            from_environment[name] = Setting(environ[variable], variable)
    sources = (from_command_line, from_file, from_environment)
    for source in sources:
        for name, (value, origin) in source.items():
            if name not in REFUSED:
                continue
            items = value if isinstance(value, list) else [value]
            lower = [str(item).lower() for item in items]
            if len(lower) != 1 or lower[0] not in HARMLESS.get(name, ()):
                raise UsageError(
                    f"{origin} has no effect here: {REFUSED[name]}", name=origin
                )
    settings: dict[str, Setting] = {}
    for flag in flag_list:
        settings[flag.name] = Setting(flag.default)
        for source in sources:
            value, origin = source.get(flag.name, Setting(None))
            if value is not None:
                settings[flag.name] = Setting(typed(flag, value, origin), origin)
                break
    return settings


def config_file(
    command_line: Mapping[str, Any],
    environ: Mapping[str, str],
) -> Path | None:
    """Returns the file that ``--config`` or ``MMEVAL_CONFIG`` names, or None."""
    path = command_line.get("config") or environ.get("MMEVAL_CONFIG")
    return Path(path).expanduser() if path else None


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Returns a warning for each unknown ``MMEVAL_...`` variable.

    A warning suggests similar names.
    """
    known = {*_variables().values(), *OTHER_VARIABLES}
    warnings: list[str] = []
    for name in sorted(environ):
        if name.startswith("MMEVAL_") and name not in known:
            near = did_you_mean(name, known)
            warnings.append(f"the variable {name} has no effect{near}")
    return warnings


def exclude_each_other(
    settings: Mapping[str, Setting],
    name: str,
    other_name: str,
) -> None:
    """Raises UsageError if both settings are given."""
    first, second = settings[name], settings[other_name]
    if first.value not in _UNSET and second.value not in _UNSET:
        message = (
            f"{first.origin} and {second.origin} exclude each other; leave one out"
        )
        raise UsageError(message, name=first.origin)


_UNSET: tuple[Any, ...] = (None, "", 0, {}, ())


def read_config(
    file: Path, flag_names: Iterable[str], other_keys: Collection[str] = ()
) -> dict[str, Setting]:
    """Reads the flags in a configuration file. ``other_keys`` are skipped.

    Raises TaskFileError for an unknown or repeated key, and for ``config``.
    """
    from mmeval.system.yaml_document import read_document

    if not file.is_file():
        raise MissingDataError(
            f"--config: {file} {'is a folder' if file.is_dir() else 'does not exist'}"
        )
    names = set(flag_names) - {"config"}
    document = read_document(file)
    settings: dict[str, Setting] = {}
    for key, value in document.data.items():
        if key in other_keys:
            continue
        name = key.replace("-", "_")
        line = document.place((key,)).line
        if name in settings:
            raise TaskFileError(
                f"{key!r} is given twice", file=file, line=line, name=key
            )
        if name == "config":
            raise TaskFileError(
                "a configuration file cannot name another configuration file",
                file=file,
                line=line,
            )
        if name not in names and name not in REFUSED:
            message = f"unknown key {key!r}{did_you_mean(name, names)}"
            raise TaskFileError(message, file=file, line=line, name=key)
        settings[name] = Setting(value, f"{file}:{line}: {key}")
    return settings


def _variables() -> dict[str, str]:
    """Returns the environment variable of each flag, by the flag's name."""
    names = [flag.name for flag in (*FLAGS, *SCORE_FLAGS)]
    return {name: f"MMEVAL_{name.upper()}" for name in (*names, *REFUSED)}


def typed(
    flag: Flag,
    raw: Any,
    origin: str,
) -> Any:
    """Parses the value of a flag. Error messages begin with ``origin``."""
    try:
        value = flag.read(raw)
    except UsageError as error:
        raise UsageError(f"{origin}: {error}", name=origin) from None
    except MissingDataError as error:
        raise MissingDataError(f"{origin}: {error}", name=origin) from None
    if flag.choices and value not in flag.choices:
        choices = [choice for choice in flag.choices if choice]
        message = (
            f"{origin}: {' or '.join(choices)} is expected, not "
            f"{value!r}{did_you_mean(value, choices)}"
        )
        raise UsageError(message, name=origin)
    return value
