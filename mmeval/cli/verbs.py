"""Verbs of the command line. Only the module of the used verb is imported."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from mmeval.cli.parser import Parser, add_flags
from mmeval.errors import PluginError, UsageError, did_you_mean
from mmeval.settings.flags import BY_NAME, FLAGS

VERBS: dict[str, str] = {
    "run": "run a model on the samples of tasks and score its answers (the default)",
    "ls": "list tasks, groups, tags, metrics, backends, adapters, tools and other "
    "plugins",
    "check": "check tasks, their data, metrics and backends, and the installation",
    "prepare": "fetch and check the data of tasks, so that they run offline",
    "score": "score a run again, without the model",
    "merge": "merge the shards of a run (--shard) and compute its results",
    "trace": "show the request and the reply of each step of an answer",
    "report": "write the page of a run, its tables or its charts",
    "compare": "compare runs: differences, their uncertainty and detectable sizes",
    "export": "write the answers of a run in the format of another program",
    "try metric": "compute one metric on given files or answers",
    "try agent": "run an agent offline, with prepared replies",
    "try backend": "check that a local model follows the rules of batch backends",
    "init": "write a new package (benchmark, metric, backend or agent), or the worker "
    "of a model",
}
"""The verbs, with their help. The module of a verb in ``mmeval.cli`` defines
``configure(parser)`` and ``run(args) -> exit code``."""

TRY = "try"
"""The first word of verbs with modules in ``mmeval.cli.components``."""

REFUSED_VERBS: dict[str, str] = {
    "validate": "'mmeval check TASK' checks task files",
    "metric": "'mmeval try metric NAME' computes one metric",
    "agent": "'mmeval try agent NAME' runs an agent",
    "check-backend": "'mmeval try backend NAME' checks a local model",
    "doctor": "'mmeval check' checks the installation, and with TASK also a task",
    "view": "'mmeval report RUN' writes a page that a browser opens from disk",
}
"""Verbs of other harnesses and of earlier versions, with the verb to use instead."""


def dispatch(argv: Sequence[str]) -> int:
    """Runs a command line and returns its exit code.

    Raises MmevalError for errors that the user can fix.
    """
    if argv and argv[0] == "--version":
        from mmeval import __version__

        sys.stdout.write(f"mmeval {__version__}\n")
        return 0
    verb, rest = _split(argv)
    if verb == "run" and ("-h" in rest or "--help" in rest):
        return _help()
    module = module_of(verb)
    parser = Parser(f"mmeval {verb}", module.__doc__ or VERBS[verb])
    module.configure(parser)
    verbosity = BY_NAME["verbosity"]
    is_simple = not parser.knows("--verbosity")
    if is_simple:
        add_flags(parser, (verbosity,))
    args = parser.read(rest)
    args.argv = list(argv)
    if is_simple:
        from mmeval.report.log import begin_log
        from mmeval.settings.resolve import resolve

        flags = {"verbosity": getattr(args, "verbosity", None)}
        settings = resolve((verbosity,), flags, os.environ)
        begin_log(settings["verbosity"].value, os.environ)
    try:
        code: int = module.run(args)
    # the command line is already parsed, so only a plugin can have called sys.exit
    except SystemExit as stop:
        raise PluginError(
            f"a plugin tried to end the process with exit code {stop.code}"
        ) from stop
    return code


def module_of(verb: str) -> ModuleType:
    first, _, component = verb.partition(" ")
    name = f"components.{component}" if first == TRY else verb
    return importlib.import_module(f"mmeval.cli.{name}")


def _split(argv: Sequence[str]) -> tuple[str, Sequence[str]]:
    if not argv or argv[0].startswith("-"):
        return "run", argv
    word = argv[0]
    if word == TRY:
        verb = " ".join(argv[:2])
        if verb in VERBS:
            return verb, argv[2:]
        known = [name.removeprefix(f"{TRY} ") for name in VERBS if name.startswith(TRY)]
        near = did_you_mean("".join(argv[1:2]), known)
        raise UsageError(
            f"after mmeval try, write {', '.join(known)}, then a name{near} ('mmeval "
            "try metric --help' explains)"
        )
    if word in VERBS:
        return word, argv[1:]
    if word in REFUSED_VERBS:
        raise UsageError(f"mmeval {word}: {REFUSED_VERBS[word]}")
    raise UsageError(
        f"unknown verb {word!r}{did_you_mean(word, VERBS)} ('mmeval --help' lists the "
        "verbs)"
    )


def _help() -> int:
    """Prints the help of ``run`` and of mmeval, made only from the table of flags."""
    verbs = "\n".join(f"  {name:<15}{what}" for name, what in VERBS.items())
    parser = Parser(
        "mmeval",
        "Evaluate models that answer in any modality, interleaved.\n\n"
        f"verbs ('mmeval VERB --help' explains each):\n{verbs}\n\n"
        "The flags below are those of run. Each can also be given as MMEVAL_<FLAG> in "
        "the environment or as a key\n"
        "of a --config file. A flag overrides the file, and the file overrides the "
        "environment.",
    )
    parser.usage = "mmeval [VERB] [FLAGS]"
    add_flags(parser, FLAGS)
    parser.add_argument(
        "--version", action="store_true", help="print the version and exit"
    )
    parser.epilog = (
        "exit codes: 0 everything available was scored; 1 unexpected error; 2 usage "
        "or invalid task; 3 failed or\n"
        "unscored above --max_unscored, a lost server, or a spent budget;\n"
        "4 a key, extra or data is missing; 5 a run is worse than allowed (mmeval "
        "compare); 130 interrupted, state saved."
    )
    parser.print_help()
    return 0
