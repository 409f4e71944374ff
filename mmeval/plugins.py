"""Plugins: everything that is found by an entry point, loaded only when it is used.

| group                   | what the entry point names                                                          |
|-------------------------|-------------------------------------------------------------------------------------|
| `mmeval.tasks`          | a package that holds task files (YAML)                                              |
| `mmeval.loaders`        | `load(source: DataSource) -> Dataset`                                               |
| `mmeval.prompts`        | `prompt(sample: Sample, **options) -> Sequence[Message]`                            |
| `mmeval.protocols`      | a generator `protocol(ask: Ask, **options) -> Program[Interleaved]`                 |
| `mmeval.metrics`        | a function decorated with `@metric(...)`                                            |
| `mmeval.aggregators`    | `aggregate(scores: Scores, **options) -> Estimate`                                  |
| `mmeval.model_backends` | a class, called with the backend's arguments as keywords                            |

mmeval's own plugins are registered in the same way, in ``setup.cfg``. A name that two distributions claim is an error
only for the user of that name; ``distribution/name`` always says which one is meant.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Any, Literal, get_args

from mmeval.errors import AmbiguousNameError, MissingError, PluginError, UnknownNameError

Group = Literal[
    "mmeval.tasks",
    "mmeval.loaders",
    "mmeval.prompts",
    "mmeval.protocols",
    "mmeval.metrics",
    "mmeval.aggregators",
    "mmeval.model_backends",
]
GROUPS: tuple[Group, ...] = get_args(Group)


@cache
def _registered() -> dict[Group, dict[str, tuple[EntryPoint, ...]]]:
    """Every claim to a name, by group; the same claim seen twice (an egg-info beside an installation) counts once.

    All groups at once: the metadata of every installed distribution are read for it, which takes most of the time.
    """
    found = entry_points()
    registered: dict[Group, dict[str, tuple[EntryPoint, ...]]] = {}
    for group in GROUPS:
        claims: dict[str, dict[tuple[str, str], EntryPoint]] = {}
        for entry in found.select(group=group):
            claims.setdefault(entry.name, {})[(distribution_of(entry), entry.value)] = entry
        registered[group] = {name: tuple(entries.values()) for name, entries in sorted(claims.items())}
    return registered


def distribution_of(entry: EntryPoint) -> str:
    """The distribution that registers an entry point, normalised as the package index does."""
    return "unknown" if entry.dist is None else _name_of(entry.dist)


@cache
def _name_of(distribution: Distribution) -> str:
    """Reads its metadata, which takes a while for each of dozens of entry points."""
    return re.sub(r"[-_.]+", "-", distribution.name).lower()


def names(group: Group) -> list[str]:
    """All registered names of a group, without loading any of them."""
    return list(_registered()[group])


def entries(group: Group) -> list[EntryPoint]:
    """All entry points of a group, those with clashing names included."""
    return [entry for found in _registered()[group].values() for entry in found]


def load(group: Group, name: str) -> Any:
    """The object that a plugin name stands for.

    Raises UnknownNameError (with near names), AmbiguousNameError (naming both distributions), PluginError when the
    plugin cannot be imported, MissingExtraError when it needs an extra that is not installed.
    """
    entry = _find(group, name)
    try:
        return entry.load()
    except MissingError:
        raise
    except Exception as error:  # any import may fail in any way; the plugin is reported by name
        raise PluginError(
            f"the plugin {name!r} ({group}) of {distribution_of(entry)} cannot be loaded from {entry.value}: "
            f"{type(error).__name__}: {error}. Reinstall or remove that package."
        ) from error


def _find(group: Group, name: str) -> EntryPoint:
    registered = _registered()[group]
    owner, _, short = name.rpartition("/")
    found = registered.get(short, ())
    if owner:
        found = tuple(entry for entry in found if distribution_of(entry) == re.sub(r"[-_.]+", "-", owner).lower())
    if not found:
        what = group.removeprefix("mmeval.").removesuffix("s").replace("_", " ")
        listed = "backends" if group == "mmeval.model_backends" else group.removeprefix("mmeval.")
        hint = f"'mmeval ls {listed}' lists them"
        if not registered:
            hint = "No plugin of this kind is installed: run pip install -e . in the checkout"
        raise UnknownNameError(what, name, registered, hint)
    if len(found) > 1:
        owners = " and ".join(sorted(distribution_of(entry) for entry in found))
        raise AmbiguousNameError(
            f"{name!r} ({group}) is registered by {owners}; write {distribution_of(found[0])}/{short} to say which"
        )
    return found[0]
