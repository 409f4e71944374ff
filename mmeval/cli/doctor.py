"""Check the installation and whether tasks can run here, with how to fix the rest."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from mmeval import plugins
from mmeval._version import __version__
from mmeval.backend.contract import AnyBackend
from mmeval.backend.create import takes_argument
from mmeval.cli.parser import add_flags
from mmeval.doctor import (
    devices,
    installation,
    machine,
    models,
    network,
    packages,
    registered,
    tasks,
)
from mmeval.doctor.finding import Section, section, sound
from mmeval.doctor.page import as_json, as_text
from mmeval.errors import EXIT_MISSING, EXIT_OK, MissingError, PluginError
from mmeval.prepare.sources import WantedTask, wanted
from mmeval.report.log import begin_log
from mmeval.report.terminal import print_text
from mmeval.run.options import BackendSpec
from mmeval.settings import values
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import Setting, exclude_each_other, resolve
from mmeval.settings.role_flags import model_spec, role_specs
from mmeval.task.file import word_for
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides
from mmeval.wording import counted

_FLAGS = tuple(
    BY_NAME[name]
    for name in (
        "tasks",
        "model",
        "model_args",
        "device",
        "trust_remote_code",
        "include_path",
        "data",
        "data_dir",
        "role",
        "judge",
        "judge_args",
        "judge_base_url",
        "captioner",
        "strict",
        "output_path",
        "verbosity",
        "engine",
    )
)
MODELS = "Models"
ALL = "all"
"""``--tasks all``: every known task."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="*", metavar="TASK", help="tasks to check, as with --tasks"
    )
    add_flags(parser, _FLAGS)
    parser.add_argument(
        "--devices",
        action="store_true",
        help="check torch and its devices, which takes seconds (also with --model)",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text for people, or json (text)",
    )
    parser.epilog = (
        "TASK all checks every task. Nothing is fetched, sent or loaded; the hub is "
        "asked whether it answers.\n"
        "exit codes: 0 the asked tasks can run, or none was asked and nothing is "
        "broken; 4 otherwise;\n"
        "2 usage. A metric that cannot be computed is listed, and counts as missing "
        "with --strict, or if no other can."
    )


def run(args: argparse.Namespace) -> int:
    settings = resolve(_FLAGS, vars(args), os.environ)
    begin_log(settings["verbosity"].value, os.environ)
    exclude_each_other(settings, "data", "data_dir")
    specs = _specs(settings)
    named = (*settings["tasks"].value, *values.words(args.words))
    asked = _asked(named, settings, frozenset(specs) - {tasks.MODEL})
    sections = list(_sections(settings, specs, asked, look=args.devices))
    is_sound = sound(sections, asked=bool(asked or specs or settings["engine"].value))
    if args.format == "json":
        print_text(as_json(sections, is_sound=is_sound, version=__version__))
    else:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print_text(
            f"{as_text(sections, colour=colour)}\n"
            f"{_verdict(sections, asked, specs, is_sound=is_sound)}\n"
        )
    return EXIT_OK if is_sound else EXIT_MISSING


def _specs(settings: Mapping[str, Setting]) -> dict[str, BackendSpec]:
    """The named backends, the model's first. Raises UsageError for an unknown name."""
    model = {tasks.MODEL: model_spec(settings)} if settings["model"].value else {}
    found = {**model, **role_specs(settings)}
    for spec in found.values():
        with suppress(MissingError, PluginError):  # reported with the backend
            plugins.load("mmeval.model_backends", spec.name)
    return found


def _asked(
    names: tuple[str, ...], settings: Mapping[str, Setting], roles: frozenset[str]
) -> list[WantedTask]:
    """The tasks to check. Raises UsageError for unknown names and unreadable files."""
    include = settings["include_path"].value
    if not names:
        return []
    overrides = TaskOverrides(
        data=settings["data"].value, data_dir=settings["data_dir"].value
    )
    if names == (ALL,):
        entries = TaskIndex(include).listing()
        names = tuple(
            entry.full_name
            for entry in entries
            if not entry.is_group and entry.problem is None
        )
    return wanted(choose(names, TaskIndex(include)), overrides, roles=roles)


def _sections(
    settings: Mapping[str, Setting],
    specs: Mapping[str, BackendSpec],
    asked: Sequence[WantedTask],
    *,
    look: bool,
) -> Iterator[Section]:
    probe = network.HubProbe(os.environ)
    include, output = settings["include_path"].value, settings["output_path"].value
    local = tasks.MODEL in specs and takes_argument(specs[tasks.MODEL].name, "device")
    yield section(
        "Installation",
        installation.versions,
        installation.metadata,
        installation.copies,
    )
    backends: dict[str, AnyBackend] = {}
    extras = {extra for item in asked for extra in tasks.extras(item)}
    made = section(MODELS, partial(models.made, specs, backends, extras), required=True)
    yield section("Packages", partial(packages.extras, extras))
    yield section("Devices", devices.devices if look or local else devices.unlooked)
    yield section("Programs", machine.programs)
    if (engine := settings["engine"].value) is not None:
        yield section("Engine", partial(machine.nodes, engine), required=True)
    yield section("Disks", partial(machine.disks, output))
    yield section(
        "Plugins",
        registered.loaded,
        registered.clashes,
        partial(registered.task_files, include),
    )
    yield made
    for item in asked:
        yield section(
            f"Task {item.task.name}",
            partial(tasks.data, item),
            partial(tasks.metrics, item, strict=settings["strict"].value),
            partial(tasks.roles, item, backends),
            partial(tasks.kinds, item, backends),
            required=True,
            word=word_for(item.file),
        )
    models.close(backends)
    environ = os.environ
    yield section(
        "Network",
        probe.reachability,
        partial(network.token, environ),
        partial(network.keys, environ),
        partial(network.proxies, environ),
    )


def _verdict(
    sections: Sequence[Section],
    asked: Sequence[WantedTask],
    specs: Mapping[str, BackendSpec],
    *,
    is_sound: bool,
) -> str:
    """The last line of the text."""
    if not asked and not specs:
        broken = sum(
            finding.status == "broken" or finding.blocks
            for item in sections
            for finding in item.findings
        )
        return (
            "nothing is broken"
            if is_sound
            else f"{broken} {'thing is' if broken == 1 else 'things are'} broken"
        )
    blocked = {
        item.name
        for item in sections
        if any(finding.blocks for finding in item.findings)
    }
    if MODELS in blocked:
        return "a backend that was asked for cannot be made, so that nothing can run"
    able = len(asked) - len(blocked)
    return (
        f"{able} of {counted(len(asked), 'task')} can run here"
        if asked
        else "they can be asked"
    )
