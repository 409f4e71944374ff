"""Finds plugins by their entry points and loads them when they are first used.

| group                   | what the entry point names                                                          |
|-------------------------|-------------------------------------------------------------------------------------|
| `mmeval.tasks`          | a package that contains task files (YAML)                                           |
| `mmeval.loaders`        | `load(source: DataSource) -> Dataset`                                               |
| `mmeval.prompts`        | `prompt(sample: Sample, **options) -> Sequence[Message]`                            |
| `mmeval.protocols`      | a generator `protocol(ask: Ask, **options) -> Program[Interleaved]`                 |
| `mmeval.metrics`        | a function decorated with `@metric(...)`                                            |
| `mmeval.aggregators`    | `aggregate(scores: Scores, **options) -> Estimate`                                  |
| `mmeval.layouts`        | a package with `layout.yaml`, or `layout(run: StoredRun) -> Iterable[Table]`        |
| `mmeval.model_backends` | a class, called with the backend's arguments as keywords, or an `@agent(...)`        |
| `mmeval.loggers`        | a class with `log(outcome: RunOutcome, published: PublishedResults) -> None`         |
| `mmeval.hf_adapters`    | an `Adapter` class, named by the `model_type` of its models                          |
| `mmeval.tools`          | a `Tool`: a call that an agent may make, and the backend that runs it                |
| `mmeval.formats`        | an `AnswerFormat`: answers in files, read for `--model replay`, written by `export` |

mmeval's own plugins are registered in the same way, in ``setup.cfg``. A name that two
distributions register is an error only if it is used; ``distribution/name`` is always
unambiguous. Plugins that a script registers (``mmeval.registration``) belong to the
distribution ``script``.
"""  # noqa: E501

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from mmeval.errors import (
    AmbiguousNameError,
    MissingError,
    MmevalError,
    PluginError,
    UnknownNameError,
    UsageError,
    raised_at,
    sentence,
)
from mmeval.installation import DISTRIBUTION

PluginGroup = Literal[
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
GROUPS: tuple[PluginGroup, ...] = get_args(PluginGroup)
"""All groups of entry points."""
T = TypeVar("T")

SCRIPT = "script"
"""The distribution name of plugins that this process has registered."""


class _RegisteredPlugin(EntryPoint):
    """A plugin that this process has registered, so it does not have to be loaded."""

    def __init__(
        self,
        group: str,
        name: str,
        plugin: Any,
    ) -> None:
        # a metric is a record around its function
        function = getattr(plugin, "function", plugin)
        qualname = getattr(function, "__qualname__", type(function).__qualname__)
        value = f"{function.__module__}:{qualname}"
        super().__init__(name=name, value=value, group=group)
        vars(self)["plugin"] = plugin

    def load(self) -> Any:
        return vars(self)["plugin"]


_of_script: dict[PluginGroup, dict[str, _RegisteredPlugin]] = {
    group: {} for group in GROUPS
}


def register(
    group: PluginGroup,
    name: str,
    plugin: Any,
) -> None:
    """Register a plugin for this process.

    The same definition again (as in a notebook's cell) replaces the earlier one. Raises
    UsageError if this process has registered another plugin under the name."""
    entry = _RegisteredPlugin(group, name, plugin)
    before = _of_script[group].get(name)
    if before is not None and before.value != entry.value:
        message = (
            f"{name!r} ({group}) is registered by {before.value} and by "
            f"{entry.value}; rename one"
        )
        raise UsageError(message, name=name)
    _of_script[group][name] = entry


def any_of_script() -> bool:
    """Returns whether this process has registered any plugin."""
    return any(_of_script.values())


def is_of_script(group: PluginGroup, name: str) -> bool:
    """Returns whether this process has registered the plugin."""
    return name in _of_script[group]


def _claims(group: PluginGroup) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Returns every entry point by name.

    Entry points that this process has registered come last.
    """
    claims = _registered(tuple(sys.path))[group]
    of_script = _of_script[group]
    if not of_script:
        return claims
    all_claims = dict(claims)
    for name, entry in of_script.items():
        all_claims[name] = (*claims.get(name, ()), entry)
    return all_claims


@cache
def _registered(
    path: tuple[str, ...],  # noqa: ARG001  another search path has other plugins
) -> dict[PluginGroup, dict[str, tuple[EntryPoint, ...]]]:
    """Returns every entry point of ``sys.path``, by group and name. A repeated entry
    point (an egg-info) is included once.

    All groups are read together, because reading the metadata of every installed
    distribution takes most of the time.
    """
    installed = entry_points()
    registered: dict[PluginGroup, dict[str, tuple[EntryPoint, ...]]] = {}
    for group in GROUPS:
        claims: dict[str, dict[tuple[str, str], EntryPoint]] = {}
        for entry in installed.select(group=group):
            place = (distribution_of(entry), entry.value)
            claims.setdefault(entry.name, {})[place] = entry
        registered[group] = {
            name: tuple(claims[name].values()) for name in sorted(claims)
        }
    return registered


def distribution_of(entry: EntryPoint) -> str:
    """Returns the distribution that registers an entry point, normalised as the package
    index does."""
    if isinstance(entry, _RegisteredPlugin):
        return SCRIPT
    return "unknown" if entry.dist is None else _name_of(entry.dist)


@cache
def _name_of(distribution: Distribution) -> str:
    """Returns the normalised name of a distribution, cached because reading metadata is
    slow. For mmeval itself, the name of its command is returned."""
    name = re.sub(r"[-_.]+", "-", distribution.name).lower()
    return "mmeval" if name == DISTRIBUTION else name


def names(group: PluginGroup) -> list[str]:
    """Returns all registered names of a group, without loading any of them."""
    return sorted(_claims(group))


def entries(group: PluginGroup) -> list[EntryPoint]:
    """Returns all entry points of a group, including those with clashing names."""
    claims = _claims(group)
    all_entries: list[EntryPoint] = []
    for name in sorted(claims):
        all_entries += claims[name]
    return all_entries


def load(group: PluginGroup, name: str) -> Any:
    """Load a plugin by its name.

    Raises UnknownNameError (with similar names), AmbiguousNameError (with both
    distributions), PluginError if the plugin cannot be imported, and MissingExtraError
    if it needs an extra that is not installed.
    """
    entry = _find(group, name)
    try:
        return entry.load()
    except MissingError:
        raise
    # the code of a plugin may raise anything and call sys.exit
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        if not isinstance(error, MmevalError):
            reason += raised_at(error, importlib.__file__)
        raise PluginError(
            f"the plugin {name!r} ({group}) of {distribution_of(entry)} cannot be "
            f"loaded from {entry.value}: {sentence(reason)} "
            "Correct, reinstall or remove that package.",
            name=name,
        ) from error


def load_as(
    group: PluginGroup,
    name: str,
    kind: type[T],
    how_to: str,
) -> T:
    """Load a plugin that must be an instance of ``kind``. Raises the errors of
    ``load``, and PluginError for another type."""
    plugin = load(group, name)
    if not isinstance(plugin, kind):
        raise PluginError(
            f"the plugin {name!r} ({group}) is a {type(plugin).__name__}; {how_to}",
            name=name,
        )
    return plugin


def _find(group: PluginGroup, name: str) -> EntryPoint:
    registered = _claims(group)
    owner, _, short = name.rpartition("/")
    matches = registered.get(short, ())
    if owner:
        plain = re.sub(r"[-_.]+", "-", owner).lower()
        matches = tuple(entry for entry in matches if distribution_of(entry) == plain)
    if not matches:
        kind = group.removeprefix("mmeval.")
        what = kind.removesuffix("s").replace("_", " ")
        listed = kind.removeprefix("model_").removeprefix("hf_")
        hint = f"'mmeval ls {listed}' lists them"
        if not registered:
            hint = (
                "No plugin of this kind is installed: run pip install -e . in the "
                "checkout"
            )
        raise UnknownNameError(what, name, registered, hint)
    if len(matches) > 1:
        owners = " and ".join(sorted(distribution_of(entry) for entry in matches))
        raise AmbiguousNameError(
            f"{name!r} ({group}) is registered by {owners}; write "
            f"{distribution_of(matches[0])}/{short} to choose one",
            name=name,
        )
    return matches[0]


def package_folder(package: str) -> Path | None:
    """Returns the folder of a package, without importing it; only its parents are
    imported."""
    try:
        spec = importlib.util.find_spec(package)
    # a parent package may raise anything and call sys.exit; the caller reports the
    # missing tasks
    except (Exception, SystemExit):
        return None
    locations = [] if spec is None else list(spec.submodule_search_locations or ())
    if not locations or not Path(locations[0]).is_dir():
        return None
    return Path(locations[0])
