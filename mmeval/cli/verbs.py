"""Verbs of the command line. Only the module of the used verb is imported."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from types import ModuleType

from mmeval.errors import PluginError, UsageError, did_you_mean
from mmeval.report.terminal import print_text

VERBS: dict[str, str] = {
    "run": "run a model on tasks and score its answers (the default)",
    "ls": "list tasks, groups, tags, metrics, backends and other plugins",
    "check": "check tasks, their data and metrics, and the installation",
    "prepare": "fetch and check the data of tasks, so that they run offline",
    "score": "score a run again, without the model",
    "merge": "merge the shards of a run (--shard) and compute its results",
    "trace": "list the worst answers of a run, or show the steps of an answer",
    "report": "write the page of a run, its tables or its charts",
    "compare": "compare runs: differences, and their uncertainty",
    "correlate": "correlate numbers with another board, or with ratings of people",
    "annotate": "let people rate answers on a local page",
    "agree": "compare a metric with people's ratings, or rank models",
    "calibrate": "correct a metric by people's ratings of few answers",
    "bridge": "carry numbers of an old judge over to a new one",
    "audit": "check a judge: does it repeat itself, look, and keep to the answer?",
    "export": "write answers or ratings of a run in another program's format",
    "try metric": "compute one metric on given files or answers",
    "try agent": "run an agent offline, with prepared replies",
    "try backend": "check the rules of a local model, or ask a server what it can do",
    "init": "write a new benchmark, metric, backend, agent or worker",
}
"""The verbs, each with one line of help. The module of a verb in ``mmeval.cli`` defines
``configure(parser)`` and ``run(args) -> exit code``."""

EXAMPLES = (
    "mmeval ls tasks",
    "mmeval run --tasks unim_hard --data bundled --model reference",
    "mmeval run --tasks unim_hard --data bundled --model empty",
    "mmeval compare runs/reference/default runs/empty/default",
)
"""Commands for a first try, in this order. They work without a server and network."""

TRY = "try"
"""The first word of verbs with modules in ``mmeval.cli.components``."""

JUDGES = ("bridge", "audit")
"""The verbs about judges, which share a line of the help."""

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

        print_text(f"mmeval {__version__}\n")
        return 0
    if argv and argv[0] in ("-h", "--help"):
        print_text(overview())
        return 0
    # slow imports that --help and --version do not need
    from mmeval.cli.parser import Parser, add_flags
    from mmeval.settings.flags import BY_NAME

    verb, rest = _split(argv)
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
    known_words = [*VERBS, *REFUSED_VERBS]
    raise UsageError(
        f"unknown verb {word!r}{did_you_mean(word, known_words)} ('mmeval --help' "
        "lists the verbs)"
    )


def overview() -> str:
    """Returns the help of mmeval: its verbs, and examples."""
    lines = [
        "mmeval evaluates models that answer in any modality, interleaved.",
        "mmeval VERB [FLAGS]: 'mmeval VERB --help' explains a verb and its flags",
    ]
    for verb, purpose in VERBS.items():
        if not verb.startswith(f"{TRY} ") and verb not in JUDGES:
            lines.append(f"  {verb:<14}{purpose}")
    judges = ", ".join(JUDGES)
    lines.append(f"  {judges:<14}change the judge of kept answers, or check a judge")
    lines.append(f"  {TRY:<14}run a metric, an agent or a backend alone")
    lines += ["", "examples, in this order:"]
    lines += [f"  {example}" for example in EXAMPLES]
    return "\n".join(lines) + "\n"
