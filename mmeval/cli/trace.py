"""Show how an answer came about: what each step was asked, and what it said.

    mmeval trace runs/illustrator/default --task my_task --sample s1

RUN is the folder of a run. The program of the trial, and those of agents in it, are run again on the kept replies:
nobody is asked, and nothing is written. --json prints the steps as one JSON document.

exit codes: 0 the steps are shown; 2 usage, or the task or the agent was changed since; 4 there is no run.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval.agent.limits import MAX_CALLS, AnswerLimits
from mmeval.cli.parser import Parser
from mmeval.content.placeholders import render
from mmeval.errors import EXIT_OK
from mmeval.report.terminal import print_text
from mmeval.wording import escaped

if TYPE_CHECKING:
    from mmeval.content.parts import Interleaved, PartKind
    from mmeval.rescore.trace import TracedStep


def configure(parser: Parser) -> None:
    parser.add_argument("folder", metavar="RUN", type=Path, help="the folder of a run")
    parser.add_argument("--task", metavar="T", required=True, help="the task of the trial")
    parser.add_argument("--sample", metavar="ID", required=True, help="the id of its sample")
    parser.add_argument("--repeat", metavar="N", type=int, default=0, help="which repeat, from 0 (0)")
    parser.add_argument("--json", action="store_true", help="print the steps as JSON")


def run(args: argparse.Namespace) -> int:
    from mmeval.program.calls import MODEL
    from mmeval.rescore.trace import trace_json, traced
    from mmeval.run.options import BackendSpec
    from mmeval.settings.role_flags import recorded_roles
    from mmeval.store.run_folder import RunFolder

    settings = RunFolder.read_record(args.folder).get("settings", {})
    model = BackendSpec(settings.get("model", ""), settings.get("model_args", {}))
    tokens = settings.get("max_tokens_per_answer")
    limits = AnswerLimits(settings.get("max_calls_per_answer", MAX_CALLS), tokens)
    specs = {MODEL: model, **recorded_roles(settings)}
    steps = traced(args.folder, specs, limits, task=args.task, sample=args.sample, repeat=args.repeat)
    if args.json:
        print_text(json.dumps(trace_json(steps), ensure_ascii=False, indent=1) + "\n")
    else:
        print_text(escaped("\n".join(_lines(steps, ""))) + "\n")
    return EXIT_OK


def _lines(steps: Sequence[TracedStep], indent: str) -> Iterator[str]:
    for step in steps:
        title = f" ({step.call.title})" if step.call.title else ""
        yield f"{indent}{step.path} {step.call.role}{title}"
        for message in step.call.request.messages:
            yield from _block(f"{message.role}:", _written(message.content), f"{indent}  ")
        yield from _lines(step.steps, f"{indent}  ")
        response = step.response
        if response is None:
            yield f"{indent}  its reply is no longer in the journal"
        elif response.error is not None:
            yield f"{indent}  {response.error.kind}: {response.error.message}"
        elif response.output is not None:
            yield from _block("reply:", _written(response.output), f"{indent}  ")
        for name, value in step.evidence.items():
            yield f"{indent}  {name}: {json.dumps(value, ensure_ascii=False)}"


def _written(content: Interleaved) -> str:
    """The text as it was written, and a tag for each medium beside it."""
    seen: Counter[PartKind] = Counter()
    texts: list[str] = []
    for part in content.parts:
        if part.kind != "reasoning":
            seen[part.kind] += 1
            texts.append(part.raw or ("" if part.text is not None else render(part.kind, seen[part.kind])))
    return "".join(texts)


def _block(head: str, text: str, indent: str) -> Iterator[str]:
    """A text below its head, or beside it where it is one line."""
    first, *others = text.splitlines() or [""]
    if not others:
        yield f"{indent}{head} {first}"
        return
    yield f"{indent}{head}"
    yield from (f"{indent}  {line}" for line in (first, *others))
