"""Check whether tasks can run here, and list problems with their remedies.

    mmeval check                                   only the installation
    mmeval check my_task --judge openai,model=m    with any flags of run
    mmeval check my_task.yaml --bounds             your own task
    mmeval check --dist .                          a package of tasks

It checks plugins, packages, the named backends, and the files, rows, media, metrics and
roles of tasks. TASK all is every task. It downloads nothing. With --model it also
estimates the calls and the cost of a run.

A server, as --model or --judge, is asked what it can do: at most 12 calls, which cost
as usual. --probe full also asks models of this machine, and --probe false asks none.

--bounds scores references, references of other samples, and empty answers. --dist
builds the wheel of a project, and checks its tasks as installed.

exit codes: 0 the tasks can run; 1 a plugin fails, or a file is damaged; 2 a task file
or a flag is wrong; 3 rows, kinds of media, bounds or the budget have a problem; 4
something is missing, or this machine does not support it.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval import plugins
from mmeval._version import __version__
from mmeval.cli.parser import Parser, add_flags
from mmeval.errors import MissingError, MmevalError, PluginError, UsageError
from mmeval.findings.brief import brief_lines, label_column
from mmeval.findings.exit_code import exit_code
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.from_error import PREPARE_DATA, finding_of
from mmeval.findings.render import RemedyTarget, terminal_lines
from mmeval.report.log import begin_log
from mmeval.report.terminal import columns, print_text
from mmeval.settings import values
from mmeval.settings.flags import FLAGS, Flag
from mmeval.settings.resolve import Setting, config_file, exclude_each_other, resolve
from mmeval.system.wording import printable, wrapped

if TYPE_CHECKING:  # imported only when the verb runs, so that --help is fast
    from mmeval.authoring.task_checks import CheckTally
    from mmeval.backend.contract import AnyBackend
    from mmeval.backend.probe import Probe
    from mmeval.forecast.records import Forecast
    from mmeval.run.options import BackendSpec
    from mmeval.task.task import Selection, Task

ALL = "all"
"""Every known task."""
MODEL = "model"
_HEADING = "what to check"
OWN_FLAGS = (
    Flag(
        "rows",
        "",
        _HEADING,
        values.integer(1),
        None,
        "command.rows",
        "maximum number of samples to read per task (all)",
        "N",
    ),
    Flag(
        "bounds",
        "",
        _HEADING,
        values.switch,
        False,
        "command.bounds",
        "score references, shuffled references and empty answers (false)",
        "BOOL",
        "?",
    ),
    Flag(
        "dist",
        "",
        _HEADING,
        values.path,
        None,
        "command.dist",
        "build and check the wheel of this project, or check a built wheel",
        "PATH",
    ),
    Flag(
        "devices",
        "",
        _HEADING,
        values.switch,
        False,
        "command.devices",
        "check torch and its devices, which takes seconds (with a local --model)",
        "BOOL",
        "?",
    ),
    Flag(
        "json",
        "",
        _HEADING,
        values.switch,
        False,
        "command.json",
        "print one JSON document (false)",
        "BOOL",
        "?",
    ),
)
"""The flags that only ``check`` has."""
_LABEL = 10
_MAX_LINE = 2000
_LISTED_TASKS = 10
"""Maximum number of tasks that are named if nothing is wrong. More are counted."""
_ALL_FINDINGS = 1_000_000
_HOW_TO_SEE_ALL = "all findings: --verbosity DEBUG, or --json"

Settings = Mapping[str, Setting]
Fact = tuple[str, str]
"""A label and the text that is printed after it."""

_log = logging.getLogger(__name__)


def configure(parser: Parser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="TASK",
        help="a task, group, tag, glob, task file or folder",
    )
    add_flags(parser, (*OWN_FLAGS, *FLAGS))


def run(args: argparse.Namespace) -> int:
    """Prints which tasks can run, and all findings. Returns the exit code of the
    findings."""
    flags = {name: value for name, value in vars(args).items() if name != "words"}
    settings = resolve(
        (*OWN_FLAGS, *FLAGS), flags, os.environ, config_file(flags, os.environ)
    )
    begin_log(settings["verbosity"].value, os.environ)
    exclude_each_other(settings, "data", "data_dir")
    names = (*settings["tasks"].value, *values.words(args.words))
    if settings["dist"].value is not None:
        if names:
            raise UsageError("--dist checks every task of the package; leave out TASK")
        return _Report(settings, names).of_wheel(settings["dist"].value, flags)
    return _Report(settings, names).of_tasks()


class _Report:
    """Runs the checks and collects their facts and findings."""

    def __init__(self, settings: Settings, names: Sequence[str]) -> None:
        from mmeval.authoring.task_checks import CheckTally

        self.settings = settings
        self.names = names
        self.facts: list[Fact] = []
        self.findings: list[Finding] = []
        self.tally: CheckTally = CheckTally()
        self.tables = ""
        self.handshakes: dict[str, list[Probe]] = {}
        self.models: dict[str, str] = {}
        """A sentence about each role that was asked what it can do."""
        self.denied: set[str] = set()
        """The tasks that the model cannot be asked, as its handshake shows."""

    def of_tasks(self) -> int:
        from mmeval.environment import models
        from mmeval.settings.role_flags import model_spec, role_specs

        specs: dict[str, BackendSpec] = {}
        if self.settings["model"].value:
            specs[MODEL] = model_spec(self.settings)
        specs |= role_specs(self.settings)
        for spec in specs.values():  # raises UsageError for an unknown name
            with suppress(MissingError, PluginError):  # reported with the backend
                plugins.load("mmeval.model_backends", spec.name)

        backends: dict[str, AnyBackend] = {}
        self._environment(specs, backends)
        if self.names:
            self._tasks(specs, backends)
        self._handshakes(specs, backends)
        models.close(backends)
        if self.settings["bounds"].value:
            self._bounds(specs)
        if MODEL in backends:
            self._forecasts()
        return self._print()

    def of_wheel(self, place: Path, flags: Mapping[str, Any]) -> int:
        """Checks the content and the tasks of a wheel, and looks for missing files."""
        from mmeval.authoring.package.wheel import check_contents, unpacked, wheel_of

        file = wheel_of(place)
        with unpacked(file) as wheel:
            contents = check_contents(wheel, place if place.is_dir() else None)
            self.facts.append(("wheel", str(file)))
            self.facts += [("inside", line) for line in contents.inside]
            self.findings += contents.findings
            if contents.tasks:
                words = ["mmeval", "check", *contents.tasks]
                for name, value in flags.items():
                    if name not in ("dist", "argv", "json"):
                        items = value if isinstance(value, list) else [value]
                        words += [f"--{name}={item}" for item in items]
                result = wheel.python(*words, "--json")
                prefix = f"{wheel.folder}/"
                try:
                    document = json.loads(result.stdout.replace(prefix, ""))
                except ValueError:  # it ended before it wrote its document
                    raise MmevalError(
                        f"{file}: cannot check the tasks of this wheel; see the log"
                    ) from None
                self.facts.append(("can run", f"{len(document['can_run'])} tasks"))
                self.findings += map(Finding.from_json, document["findings"])
        return self._print()

    def _add(
        self,
        check: Callable[[], Iterable[Finding]],
        name: str,
    ) -> None:
        """Adds the findings of a check. If the check itself fails, adds a finding about
        this."""
        try:
            self.findings.extend(check())
        # plugins, packages, disk and network may raise anything; plugins may call
        # sys.exit
        except (Exception, SystemExit) as error:
            self.findings.append(finding_of(error, Subject(name=name)))

    def _environment(
        self, specs: Mapping[str, BackendSpec], backends: dict[str, AnyBackend]
    ) -> None:
        from mmeval.backend.create import takes_argument
        from mmeval.environment import (
            devices,
            installation,
            machine,
            models,
            network,
            packages,
            registered,
        )

        settings = self.settings
        is_bare = not self.names and not specs
        probe = network.HubProbe(os.environ) if is_bare else None
        self._add(installation.metadata, "installation")
        self._add(installation.copies, "installation")
        self._add(packages.versions, "packages")
        self._add(partial(machine.disks, settings["output_path"].value), "disks")
        used = [spec.name for spec in specs.values()]
        self._add(partial(models.create, specs, backends), "backends")
        self.facts += models.described(specs, backends)
        if is_bare or used:
            self._add(partial(machine.backends, used), "backends")
        if is_bare:
            self.facts.append(("runs", installation.versions()))
            self._add(registered.loaded, "plugins")
            self._add(registered.clashes, "plugins")
            folders = settings["include_path"].value
            self._add(partial(registered.task_files, folders), "task files")
        local = MODEL in specs and takes_argument(specs[MODEL].name, "device")
        if settings["devices"].value or local:
            self._add_facts(devices.devices, "device")
        engine = settings["engine"].value
        if engine is not None:
            self._add_facts(partial(machine.nodes, engine), "node")
        if probe is not None:
            self._add(probe.reachability, "hub")

    def _handshakes(
        self, specs: Mapping[str, BackendSpec], backends: Mapping[str, AnyBackend]
    ) -> None:
        from mmeval.environment import models
        from mmeval.environment.handshakes import probe_rows, probe_words, shake_hands

        probing = self.settings["probe"].value
        self.handshakes, findings = shake_hands(specs, backends, probing)
        self.findings += findings
        for role, probes in self.handshakes.items():
            model = models.named(specs[role], backends[role])
            self.models[role] = f"{model}: {probe_words(probes)}"
            self.facts += [(role, row) for row in probe_rows(probes)]

    def _add_facts(
        self,
        check: Callable[[], tuple[list[str], list[Finding]]],
        label: str,
    ) -> None:
        def run_check() -> list[Finding]:
            lines, findings = check()
            self.facts += [(label, line) for line in lines]
            return findings

        self._add(run_check, label)

    def _tasks(
        self, specs: Mapping[str, BackendSpec], backends: Mapping[str, AnyBackend]
    ) -> None:
        from mmeval.authoring.task_checks import check
        from mmeval.task.index import TaskIndex
        from mmeval.task.task import TaskOverrides

        settings = self.settings
        names = self.names
        if names == (ALL,):
            entries = TaskIndex(settings["include_path"].value).listing()
            names = [entry.full_name for entry in entries if not entry.is_group]
        self.findings += check(
            names,
            settings["include_path"].value,
            TaskOverrides(
                data=settings["data"].value,
                data_dir=settings["data_dir"].value,
                metric_args=settings["metric_args"].value,
                skip_metric=settings["skip_metric"].value,
                profile=settings["profile"].value,
                trust_remote_code=settings["trust_remote_code"].value,
                prompts=settings["prompts"].value,
                judge_prompts=settings["judge_prompts"].value,
            ),
            roles=frozenset(specs) - {MODEL},
            rows=settings["rows"].value,
            strict=settings["strict"].value,
            backends=backends,
            model=specs.get(MODEL),
            tally=self.tally,
        )

    def _forecasts(self) -> None:
        """Adds the price, and notes the tasks that a handshake denies."""
        from mmeval.task.task import Selection

        sound_tasks = tuple(entry.task for entry in self.tally.sound_tasks)
        for task in sound_tasks:
            if self._has_only_unable_judges(task):
                self.tally.unscorable.add(task.name)
        if sound_tasks:
            estimate = self._forecast(Selection(sound_tasks))
            if estimate is not None:
                self.facts.append(("price", estimate.price_words()))
                self.findings += estimate.of_folder
        others = [name for name in self.tally.bundled if name in self.tally.absent]
        if MODEL in self.handshakes and others:
            from mmeval.task.selection import select
            from mmeval.task.task import TaskOverrides

            # the bundled samples show which kinds of media a task has
            selection = select(
                others,
                include_path=self.settings["include_path"].value,
                overrides=TaskOverrides(data="bundled"),
            )
            self._forecast(selection)

    def _has_only_unable_judges(self, task: Task) -> bool:
        """Returns whether no metric can score the task's answers, as the handshakes of
        the judges deny the media of the answers."""
        from mmeval.backend.handshake.inputs import TAKES

        kinds = task.config.get("output_modalities")
        media = {TAKES[kind] for kind in kinds if kind in TAKES} if kinds else set()
        unable: set[str] = set()
        for role, probes in self.handshakes.items():
            denied = {probe.capability for probe in probes if probe.verdict == "no"}
            if role != MODEL and denied & media:
                unable.add(role)
        roles = [
            metric.bound.called_roles(self.handshakes)
            for metric in task.metrics
            if not metric.lacks
        ]
        return bool(roles) and all(unable.intersection(called) for called in roles)

    def _forecast(self, selection: Selection) -> Forecast | None:
        from mmeval.forecast.dry_run import forecast
        from mmeval.settings.plan import make_plan

        plan = make_plan({flag.name: self.settings[flag.name] for flag in FLAGS})
        probes = self.handshakes.get(MODEL, [])
        try:
            estimate = forecast(selection, plan.options, {MODEL: probes})
        except MmevalError as error:
            self.findings.append(finding_of(error, Subject(role=MODEL)))
            return None
        for task in estimate.tasks:
            if probes and task.is_unaskable:
                self.denied.add(task.task.name)
                self.findings += task.findings()
        return estimate

    def _bounds(self, specs: Mapping[str, BackendSpec]) -> None:
        from mmeval.authoring import bounds
        from mmeval.authoring.bounds_text import bounds_means, bounds_table

        limit = int(self.settings["limit"].value or bounds.LIMIT)
        tasks: list[Task] = []
        for entry in self.tally.sound_tasks:
            if entry.task.name not in self.tally.unscorable:
                tasks.append(entry.task)
        roles = {role: spec for role, spec in specs.items() if role != MODEL}
        for role, count in bounds.judge_calls(tasks, roles, limit).items():
            _log.info("bounds: up to %d calls of the %s", 3 * count, role)
        measured = bounds.measure(
            tasks, roles, limit=limit, probe=self.settings["probe"].value
        )
        self.tables = bounds_table(measured) + bounds_means(measured)
        for task in measured:
            self.findings += task.doubts()

    def _print(self) -> int:
        code = exit_code(self.findings)
        if self.settings["json"].value:
            document = {
                "mmeval": __version__,
                "tasks": self.tally.tasks,
                "can_run": self._able(),
                "without_score": sorted(self.tally.unscorable),
                "facts": [list(fact) for fact in self.facts],
                "handshakes": {
                    role: [probe.to_json() for probe in probes]
                    for role, probes in self.handshakes.items()
                },
                "findings": [finding.to_json() for finding in self.findings],
                "exit_code": code,
            }
            print_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        else:
            for line in self._lines():
                print_text(f"{line}\n")
            print_text(self.tables)
        return code

    def _lines(self) -> list[str]:
        """Returns the tasks that can run, the facts and the findings."""
        from mmeval.run.availability import words_for

        width = columns()
        settings = {name: setting.value for name, setting in self.settings.items()}
        tasks = words_for({**settings, "tasks": self.names}, ())
        place = RemedyTarget(tasks)
        able = list(self._able_facts(place))
        if settings["verbosity"] == "DEBUG":
            column = _LABEL
            facts = [*able, *self.facts]
            details = terminal_lines(self.findings, place, width, most=_ALL_FINDINGS)
        else:
            column = max(_LABEL, label_column(self.findings))
            facts = [*able, *self._brief_facts()]
            findings = self.findings
            if self._names_command_for_data():
                findings = [item for item in findings if item.remedy != PREPARE_DATA]
            details = brief_lines(
                findings, place, width, column=column, whole=_HOW_TO_SEE_ALL
            )
        lines: list[str] = []
        for label, text in facts:
            line = printable(f"{label:{column}}{text}", limit=_MAX_LINE)
            lines += wrapped(line, width, " " * column)
        return lines + details

    def _able(self) -> list[str]:
        """Returns the tasks that can run with their own data."""
        return self._can_run([entry.task.name for entry in self.tally.sound_tasks])

    def _can_run(self, tasks: Iterable[str]) -> list[str]:
        """Returns the tasks that the model can be asked. The list is empty if a backend
        cannot be used."""
        for finding in self.findings:
            of_backend = finding.subject.role and not finding.subject.task
            if of_backend and finding.severity == "error":
                return []
        return [name for name in tasks if name not in self.denied]

    def _able_facts(self, place: RemedyTarget) -> Iterator[Fact]:
        """Yields what can run."""
        tasks, able = self.tally.tasks, self._able()
        if tasks and not self.findings and len(tasks) <= _LISTED_TASKS:
            for entry in self.tally.sound_tasks:
                metrics = ", ".join(metric.name for metric in entry.task.metrics)
                text = f"{entry.task.name}: {entry.samples:,} samples; {metrics}"
                yield "can run", text
            return
        if not self.names:
            return
        bundled = self._can_run(self.tally.bundled)
        count = f"of {len(tasks)}"
        text = f"{len(able)} {count} tasks{self._unscored(able)}"
        if self.tally.absent and bundled:
            text = (
                f"with --data bundled {len(bundled)} {count}{self._unscored(bundled)}; "
                f"with the benchmark's own data {len(able)} {count}"
            )
            if self._names_command_for_data():
                text += f": {place.command(PREPARE_DATA)}"
        yield "can run", text

    def _unscored(self, tasks: Sequence[str]) -> str:
        """Returns a remark on the tasks without a metric."""
        count = len(self.tally.unscorable.intersection(tasks))
        return f" ({count} without a score)" if count else ""

    def _names_command_for_data(self) -> bool:
        """Returns whether what can run is followed by the command that fetches data."""
        if self._able() or not self._can_run(self.tally.bundled):
            return False
        return any(finding.remedy == PREPARE_DATA for finding in self.findings)

    def _brief_facts(self) -> Iterator[Fact]:
        """Yields the facts, with one sentence about each handshake."""
        shown: set[str] = set()
        for label, text in self.facts:
            if label not in self.models:
                yield label, text
            elif label not in shown:
                shown.add(label)
                yield label, self.models[label]
