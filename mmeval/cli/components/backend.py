"""Check that a local model follows the rules of batch backends, with a few dozen calls.

    mmeval try backend process --model_args omni/model.yaml
    mmeval try backend hf --model_args pretrained=tiny --wants text --wants text+image
    mmeval try backend my_model --skip seeds

It prints a line for each check and each combination of kinds. The checks are those of
mmeval.authoring.testing. A model that never samples cannot pass the check seeds. Use a
small model.

exit codes: 0 all checks pass; 2 usage; 3 a check fails; 4 the model cannot be loaded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

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
from mmeval.report.terminal import print_text
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import resolve
from mmeval.system.wording import printable, split_names

if TYPE_CHECKING:  # imported only when the verb runs, so that --help is fast
    from mmeval.backend.contract import BatchBackend
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
    from mmeval.authoring.testing.checks import CHECKS, check_results, start
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
        raise UsageError(
            f"the backend {args.name!r} answers one request at a time, but the checks "
            "are for batch backends"
        )
    rows: list[dict[str, str]] = []
    passed = 0
    try:
        wants = [_kinds(text, backend) for text in args.wants]
        try:
            start(backend)
        # a plugin's backend may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            raise MissingError(
                f"{args.name} cannot be loaded: {message_of(error)}"
            ) from error
        checks = {name: check for name, check in CHECKS.items() if name not in skipped}
        for result in check_results(backend, checks=checks, wants=wants):
            row = {
                "check": result.check,
                "wants": "+".join(result.wants),
                "fault": "" if result.fault is None else str(result.fault),
                "docs": f"{_PAGE}#{DUTIES[result.check]}",
            }
            rows.append(row)
            passed += result.fault is None
            if not args.json:
                print_text(f"{_line(row)}\n")
    finally:
        asyncio.run(backend.close())
    holds = passed == len(rows)
    if args.json:
        document = {
            "backend": args.name,
            "holds": holds,
            "skipped": list(skipped),
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
