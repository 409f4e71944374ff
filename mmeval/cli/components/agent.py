"""Run an agent offline, with prepared replies.

    mmeval try agent illustrator --prompt "draw a hare" --model_args pictures=1
    mmeval try agent illustrator --cases cases.jsonl --json
    mmeval try agent painter data.csv --prompt "draw the mean" --role code_interpreter=sandbox

Only the roles of --role are called. Each line of a cases file is a JSON object. Its
optional keys are prompt, files, wants, args and replies; id and name are copied to the
result. FILEs are media of the prompt and fill its tags in order. In a cases file, paths
of media are relative to its folder.

replies maps roles to their replies, in order: {"planner": ["a plan", {"error":
"timeout"}]}. A reply is a text, a list of parts, or an error. Without replies, a tool
returns a small medium, and any other role returns the example of the agent's call. A
role that is null does not exist.

The steps are shown in brief, without system prompts. With --json, each result is a line
of JSON: answer (its raw text), parts, error, warnings, evidence, and steps with path,
role, title, text, media and options of the request.

exit codes: 0 all cases were answered; 2 usage, or a line that cannot be read; 3 some
cases failed; 4 a file or a key is missing.
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.cli.parser import Parser, add_flags
from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, MissingDataError, UsageError
from mmeval.report.terminal import print_text
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import resolve
from mmeval.settings.values import arguments
from mmeval.system.wording import escaped

if TYPE_CHECKING:  # imported only when the verb runs, so that --help is fast
    from mmeval.authoring.agent_bench import AgentCase, AgentResult

_FLAGS = (BY_NAME["role"],)


def configure(parser: Parser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        help="a registered agent ('mmeval ls backends' lists them)",
    )
    parser.add_argument("files", metavar="FILE", nargs="*", help="media of the prompt")
    parser.add_argument("--prompt", metavar="P", help="prompt for the agent")
    parser.add_argument(
        "--model_args",
        "-a",
        metavar="ARGS",
        nargs="+",
        help="arguments of the agent: k=v,k2=v2, JSON or YAML",
    )
    parser.add_argument(
        "--cases",
        metavar="FILE.jsonl",
        type=Path,
        help="run the agent on each line of this file instead",
    )
    parser.add_argument(
        "--json", action="store_true", help="print each result as one line of JSON"
    )
    add_flags(parser, _FLAGS)


def run(args: argparse.Namespace) -> int:
    """Prints the result of each case. Returns 0 if all cases were answered."""
    from mmeval.authoring.agent_bench import (
        drive,
        load_agent,
        replies_of_backends,
        result_of,
    )
    from mmeval.run.options import BackendSpec

    agent = load_agent(args.name)
    cases = list(_cases(args))
    code = EXIT_OK
    flags = {"role": args.role} if hasattr(args, "role") else {}
    roles = resolve(_FLAGS, flags, os.environ)["role"].value
    specs = {role: BackendSpec(*spec) for role, spec in roles.items()}
    folder = args.cases.parent if args.cases else Path()
    with replies_of_backends(agent, specs) as replies_by_role:
        for place, case in cases:
            try:
                result = drive(agent, args.name, case, folder, replies_by_role)
            except UsageError as error:
                raise UsageError(f"{place}{error}") from None
            except MissingDataError as error:
                raise MissingDataError(f"{place}{error}") from None
            if args.json:
                document = {**case.labels, **result_of(result)}
                print_text(json.dumps(document, ensure_ascii=False) + "\n")
            else:
                print_text(_lines_for_people(case.labels, result))
            if result.response.error is not None:
                code = EXIT_INCOMPLETE
    return code


def _cases(args: argparse.Namespace) -> Iterator[tuple[str, AgentCase]]:
    """Yields each case with a prefix for messages, which locates the case.

    Raises UsageError for a case that cannot be read.
    """
    from mmeval.authoring.agent_bench import AgentCase, read_agent_case
    from mmeval.authoring.metric_cases import case_lines, refuse_beside_cases

    if args.cases is None:
        if args.prompt is None and not args.files:
            raise UsageError("the input is missing; add --prompt, FILE... or --cases")
        model_args = arguments(args.model_args) if args.model_args else {}
        yield "", AgentCase(args.prompt or "", tuple(args.files), args=model_args)
        return
    refuse_beside_cases(args, ("files", "prompt", "model_args"))
    for place, values in case_lines(args.cases):
        try:
            case = read_agent_case(values)
        except UsageError as error:
            raise UsageError(f"{place}: {error}") from None
        yield f"{place}: ", case


def _lines_for_people(labels: Mapping[str, Any], result: AgentResult) -> str:
    from mmeval.cli.trace import reply_lines, step_lines
    from mmeval.run.rescore.trace import TracedStep

    steps = [
        TracedStep(reply.path, call, reply.response) for call, reply in result.steps
    ]
    lines = [f"{name}: {value}" for name, value in labels.items()]
    lines += step_lines(steps, brief=True)
    lines += reply_lines(result.response, head="answer:", brief=True, whole=True)
    lines += [f"warning: {text}" for text in result.response.warnings]
    return escaped("\n".join(lines)) + "\n"
