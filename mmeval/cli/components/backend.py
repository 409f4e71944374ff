"""Check a backend with a few calls of its own.

    mmeval try backend process --model_args omni/model.yaml
    mmeval try backend hf --model_args pretrained=tiny --wants text --wants text+image
    mmeval try backend my_model --skip seeds
    mmeval try backend openai --model_args model=m,base_url=http://localhost:8000/v1

A batch backend, such as hf or process, gets a few dozen calls. A line is printed for
each check of mmeval.authoring.testing and each combination of kinds. A model that never
samples cannot pass seeds. Use a small model.

Any other backend, such as openai, is asked what it can do, with at most 12 calls. The
first exchange is printed as it was sent and received, then a line for each capability.

exit codes: 0 all checks hold; 2 usage; 3 a check fails; 4 the model cannot be loaded or
reached.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mmeval.cli.parser import add_flags
from mmeval.errors import (
    EXIT_INCOMPLETE,
    EXIT_OK,
    MissingError,
    UnknownNameError,
    UsageError,
    message_of,
)
from mmeval.report.log import begin_log
from mmeval.report.terminal import columns, print_text
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import resolve
from mmeval.system.wording import printable, split_names

if TYPE_CHECKING:  # imported only when the verb runs, so that --help is fast
    from mmeval.authoring.testing.checks import BatchCheck
    from mmeval.backend.contract import AnyBackend, BatchBackend
    from mmeval.media.parts import PartKind


_FLAGS = tuple(BY_NAME[name] for name in ("model_args", "verbosity"))
_PAGE = "docs/writing-a-backend.md"
DUTIES: Mapping[str, str] = {
    "rows": "three-kinds-of-backend",
    "kinds": "what-every-backend-has",
    "batch": "three-kinds-of-backend",
    "seeds": "checked",
    "neighbours": "checked",
    "order": "checked",
    "refusals": "errors",
}
"""The section of the page that explains a check."""
_MOST_CHARS = 1000
MODEL = "model"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="a backend ('mmeval ls backends' lists them)"
    )
    add_flags(parser, _FLAGS)
    parser.add_argument(
        "--wants",
        metavar="KINDS",
        action="append",
        default=[],
        help="combination of output kinds to request, as in text+image",
    )
    parser.add_argument(
        "--skip",
        metavar="CHECK",
        action="append",
        default=[],
        help="check to leave out",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Prints the result of each check."""
    from mmeval.authoring.testing.checks import CHECKS
    from mmeval.backend.contract import BatchBackend
    from mmeval.backend.create import create_backend

    settings = resolve(_FLAGS, vars(args), os.environ)
    begin_log(settings["verbosity"].value, os.environ)
    skipped = split_names(args.skip)
    for name in skipped:
        if name not in CHECKS:
            raise UnknownNameError(
                "check", name, CHECKS, f"The checks are: {', '.join(CHECKS)}."
            )
    backend = create_backend(args.name, settings["model_args"].value)
    if not isinstance(backend, BatchBackend):
        for flag in ("wants", "skip"):
            if getattr(args, flag):
                raise UsageError(
                    f"--{flag} is for batch backends; {args.name!r} takes one request "
                    "at a time. Leave it out"
                )
        return _ask(args.name, backend, settings["model_args"].value, args.json)
    wants = [_kinds(text, backend) for text in args.wants]
    checks = {name: check for name, check in CHECKS.items() if name not in skipped}
    return _check(args.name, backend, checks, wants, args.json)


def _ask(
    name: str, backend: AnyBackend, arguments: Mapping[str, Any], as_json: bool
) -> int:
    """Asks a model what it can do. The model takes one request at a time."""
    from mmeval.backend.contract import Watchable
    from mmeval.environment.handshakes import probe_rows, shake_hands
    from mmeval.findings.exit_code import exit_code
    from mmeval.findings.render import terminal_lines
    from mmeval.run.options import BackendSpec

    exchanges: list[tuple[bytes, bytes]] = []
    if isinstance(backend, Watchable):
        backend.watch = lambda sent, received: exchanges.append((sent, received))
    specs = {MODEL: BackendSpec(name, arguments)}
    handshakes, findings = shake_hands(specs, {MODEL: backend}, "full")
    probes = handshakes.get(MODEL, [])
    raw = [
        {"sent": _raw(sent), "received": _raw(received)} for sent, received in exchanges
    ]
    if as_json:
        document = {
            "backend": name,
            "probes": [probe.to_json() for probe in probes],
            "exchanges": raw,
            "findings": [finding.to_json() for finding in findings],
        }
        print_text(json.dumps(document) + "\n")
    else:
        for exchange in raw[:1]:
            print_text(f"sent      {exchange['sent']}\n")
            print_text(f"received  {exchange['received']}\n\n")
        for row in probe_rows(probes):
            print_text(f"{row}\n")
        for line in terminal_lines(findings, width=columns()):
            print_text(f"{line}\n")
    return exit_code(findings)


def _raw(body: bytes) -> str:
    """Returns the beginning of a body, with control characters escaped."""
    return printable(body.decode("utf-8", "replace"), limit=_MOST_CHARS)


def _check(
    name: str,
    backend: BatchBackend,
    checks: Mapping[str, BatchCheck],
    wants: Sequence[Sequence[PartKind]],
    as_json: bool,
) -> int:
    """Checks a batch backend."""
    from mmeval.authoring.testing.checks import CHECKS, check_results, start

    rows: list[dict[str, str]] = []
    passed = 0
    try:
        try:
            start(backend)
        # a plugin's backend may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            raise MissingError(
                f"{name} cannot be loaded: {message_of(error)}"
            ) from error
        for result in check_results(backend, checks=checks, wants=wants):
            row = {
                "check": result.check,
                "wants": "+".join(result.wants),
                "fault": "" if result.fault is None else str(result.fault),
                "docs": f"{_PAGE}#{DUTIES[result.check]}",
            }
            rows.append(row)
            passed += result.fault is None
            if not as_json:
                print_text(f"{_line(row)}\n")
    finally:
        asyncio.run(backend.close())
    holds = passed == len(rows)
    skipped = [check for check in CHECKS if check not in checks]
    if as_json:
        document = {
            "backend": name,
            "holds": holds,
            "skipped": skipped,
            "checks": rows,
        }
        print_text(json.dumps(document) + "\n")
    else:
        ending = f"; skipped: {', '.join(skipped)}" if skipped else ""
        print_text(f"checks that hold: {passed} of {len(rows)}{ending}\n")
    return EXIT_OK if holds else EXIT_INCOMPLETE


def _kinds(text: str, backend: BatchBackend) -> tuple[PartKind, ...]:
    outputs = list(backend.capabilities.outputs)
    kinds = tuple(kind for name in text.split("+") for kind in outputs if kind == name)
    if "+".join(kinds) != text:
        raise UsageError(
            f"--wants {text}: the backend's output kinds are {', '.join(outputs)}; "
            "combine them with +, as in text+image"
        )
    return kinds


def _line(row: Mapping[str, str]) -> str:
    what = f"{row['check']:<11} {row['wants']}"
    if not row["fault"]:
        return f"holds  {what}"
    return (
        f"FAILS  {what}: {printable(row['fault'], limit=_MOST_CHARS)}; see "
        f"{row['docs']}"
    )
