"""Plugins: everything that is found by an entry point, loaded only when it is used.

| group                   | what the entry point names                                                          |
|-------------------------|-------------------------------------------------------------------------------------|
| `mmeval.tasks`          | a package that holds task files (YAML)                                              |
| `mmeval.loaders`        | `load(source: DataSource) -> Dataset`                                               |
| `mmeval.prompts`        | `prompt(sample: Sample, **options) -> Sequence[Message]`                            |
| `mmeval.protocols`      | a generator `protocol(ask: Ask, **options) -> Program[Interleaved]`                 |
| `mmeval.metrics`        | a function decorated with `@metric(...)`                                            |
| `mmeval.aggregators`    | `aggregate(scores: Scores, **options) -> Estimate`                                  |
| `mmeval.layouts`        | `layout(run: StoredRun) -> Iterable[Table]`: a paper's tables of a run              |
| `mmeval.model_backends` | a class, called with the backend's arguments as keywords                            |
| `mmeval.loggers`        | `log(published: Published, **arguments) -> None`                                    |
| `mmeval.hf_adapters`    | an `Adapter` class, under the `model_type` of the models that it speaks to          |
| `mmeval.tools`          | a `Tool`: what an agent may call, and who plays it                                  |
| `mmeval.formats`        | an `AnswerFormat`: answers in files, read for `--model replay`, written by `export` |

mmeval's own plugins are registered in the same way, in ``setup.cfg``. A name that two distributions claim is an error
only for the user of that name; ``distribution/name`` always says which one is meant. What a script registers
(``mmeval.registration``) counts as a distribution of the name ``script``.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, get_args

from mmeval.errors import AmbiguousNameError, Caught, MissingError, PluginError, UnknownNameError, UsageError, sentence

Group = Literal[
    "mmeval.tasks",
    "mmeval.loaders",
    "mmeval.prompts",
    "mmeval.protocols",
    "mmeval.metrics",
    "mmeval.aggregators",
    "mmeval.layouts",
    "mmeval.model_backends",
    "mmeval.loggers",
    "mmeval.hf_adapters",
    "mmeval.tools",
    "mmeval.formats",
]
GROUPS: tuple[Group, ...] = get_args(Group)


SCRIPT = "script"
"""The owner of what this process has registered itself."""


class _Registered(EntryPoint):
    """A plugin that is here already."""

    def __init__(self, group: str, name: str, plugin: Any) -> None:
        described = getattr(plugin, "function", plugin)  # a metric is a record around its function
        value = f"{described.__module__}:{getattr(described, '__qualname__', type(described).__qualname__)}"
        super().__init__(name=name, value=value, group=group)
        vars(self)["plugin"] = plugin

    def load(self) -> Any:
        return vars(self)["plugin"]


_of_script: dict[Group, dict[str, _Registered]] = {group: {} for group in GROUPS}


def register(group: Group, name: str, plugin: Any) -> None:
    """Make a plugin known to this process. The same definition again (a notebook's cell that is run anew) replaces the
    earlier one. Raises UsageError for a name that something else in this process has."""
    entry = _Registered(group, name, plugin)
    before = _of_script[group].get(name)
    if before is not None and before.value != entry.value:
        raise UsageError(f"{name!r} ({group}) is registered by {before.value} and by {entry.value}; rename one")
    _of_script[group][name] = entry


def any_of_script() -> bool:
    """Whether this process has registered anything itself: a fresh process would not know it."""
    return any(_of_script.values())


def is_of_script(group: Group, name: str) -> bool:
    """Whether this process has registered a plugin itself."""
    return name in _of_script[group]


def _claims(group: Group) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Every claim to a name, those of this process last."""
    claims, own = _registered()[group], _of_script[group]
    return {**claims, **{name: (*claims.get(name, ()), entry) for name, entry in own.items()}} if own else claims


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
    if isinstance(entry, _Registered):
        return SCRIPT
    return "unknown" if entry.dist is None else _name_of(entry.dist)


def owner(group: Group, name: str) -> str:
    """The distribution that registers a name. Raises as ``load`` does for one that is unknown or claimed twice."""
    return distribution_of(_find(group, name))


@cache
def _name_of(distribution: Distribution) -> str:
    """Reads its metadata, which takes a while for each of dozens of entry points."""
    return re.sub(r"[-_.]+", "-", distribution.name).lower()


def names(group: Group) -> list[str]:
    """All registered names of a group, without loading any of them."""
    return sorted(_claims(group))


def entries(group: Group) -> list[EntryPoint]:
    """All entry points of a group, those with clashing names included."""
    return [entry for _, found in sorted(_claims(group).items()) for entry in found]


def load(group: Group, name: str) -> Any:
    """The object that a plugin name stands for.

    Raises UnknownNameError (with near names), AmbiguousNameError (naming both distributions), PluginError when the
    plugin cannot be imported, MissingExtraError when it needs an extra that is not installed.
    """
    entry = _find(group, name)
    with Caught(MissingError) as failure:
        return entry.load()
    raise PluginError(
        f"the plugin {name!r} ({group}) of {distribution_of(entry)} cannot be loaded from {entry.value}: "
        f"{sentence(failure.reason)} Reinstall or remove that package."
    ) from failure.error


def _find(group: Group, name: str) -> EntryPoint:
    registered = _claims(group)
    owner, _, short = name.rpartition("/")
    found = registered.get(short, ())
    if owner:
        found = tuple(entry for entry in found if distribution_of(entry) == re.sub(r"[-_.]+", "-", owner).lower())
    if not found:
        what = group.removeprefix("mmeval.").removesuffix("s").replace("_", " ")
        listed = {"mmeval.model_backends": "backends", "mmeval.hf_adapters": "adapters"}.get(group)
        listed = listed or group.removeprefix("mmeval.")
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


def package_folder(package: str) -> Path | None:
    """Where a package lies, found without importing it (its parents are)."""
    spec = None
    with Caught():  # of a parent package; the caller says which tasks are missing
        spec = importlib.util.find_spec(package)
    locations = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(locations[0]) if locations and Path(locations[0]).is_dir() else None
