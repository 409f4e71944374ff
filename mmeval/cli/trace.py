"""Show how an answer was made: the request and the reply of each step.

    mmeval trace runs/illustrator/default --task my_task --sample s1

RUN is the folder of a run. The programs of the trial and of its agents run again with
the stored replies. No model is called, and nothing is written. --json prints the steps
as one JSON document.

exit codes: 0 the steps are shown; 2 usage, or the task or the agent has changed; 4 the
run does not exist.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval.backend.agent.limits import MAX_CALLS, AnswerLimits
from mmeval.cli.parser import Parser
from mmeval.errors import EXIT_OK
from mmeval.media.placeholders import render
from mmeval.report.terminal import columns, print_text
from mmeval.system.wording import escaped, shortened

if TYPE_CHECKING:
    from mmeval.media.parts import Interleaved, PartKind
    from mmeval.records.response import Response
    from mmeval.run.rescore.trace import TracedStep

MOST = 300
"""Maximum number of characters of a text that are shown in brief."""


def configure(parser: Parser) -> None:
    parser.add_argument("folder", metavar="RUN", type=Path, help="the folder of a run")
    parser.add_argument("--task", metavar="T", required=True, help="task of the trial")
    parser.add_argument(
        "--sample", metavar="ID", required=True, help="id of the trial's sample"
    )
    parser.add_argument(
        "--repeat", metavar="N", type=int, default=0, help="repeat, from 0 (0)"
    )
    parser.add_argument("--json", action="store_true", help="print the steps as JSON")


def run(args: argparse.Namespace) -> int:
    from mmeval.program.calls import MODEL
    from mmeval.results.stored_run import run_folder
    from mmeval.run.options import BackendSpec
    from mmeval.run.rescore.trace import trace_json, traced
    from mmeval.settings.role_flags import recorded_roles
    from mmeval.store.run_folder import RunFolder

    folder = run_folder(args.folder)
    settings = RunFolder.read_record(folder).get("settings", {})
    model = BackendSpec(settings.get("model", ""), settings.get("model_args", {}))
    tokens = settings.get("max_tokens_per_answer")
    limits = AnswerLimits(settings.get("max_calls_per_answer", MAX_CALLS), tokens)
    specs = {MODEL: model, **recorded_roles(settings)}
    steps = traced(
        folder, specs, limits, task=args.task, sample=args.sample, repeat=args.repeat
    )
    if args.json:
        print_text(json.dumps(trace_json(steps), ensure_ascii=False, indent=1) + "\n")
    else:
        print_text(escaped("\n".join(step_lines(steps))) + "\n")
    return EXIT_OK


def step_lines(
    steps: Sequence[TracedStep], indent: str = "", *, brief: bool = False
) -> Iterator[str]:
    """Yields the request and the reply of each step.

    With ``brief``, system messages are left out, and texts are shortened.
    """
    for step in steps:
        title = f" ({step.call.title})" if step.call.title else ""
        yield f"{indent}{step.path} {step.call.role}{title}"
        for message in step.call.request.messages:
            if not (brief and message.role == "system"):
                text = _written(message.content)
                yield from _block(f"{message.role}:", text, f"{indent}  ", brief=brief)
        yield from step_lines(step.steps, f"{indent}  ", brief=brief)
        if step.response is None:
            yield f"{indent}  the reply is no longer in the journal"
        else:
            yield from reply_lines(step.response, f"{indent}  ", brief=brief)


def reply_lines(
    response: Response,
    indent: str = "",
    *,
    head: str = "reply:",
    brief: bool = False,
    whole: bool = False,
) -> Iterator[str]:
    """Yields the lines below the head of a reply.

    They contain the content or the error of the reply, and its evidence.

    Only replies of agents have evidence. With ``whole``, the reply is not shortened.
    """
    error = response.error
    if error is not None:
        yield from _block(f"{error.kind}:", error.words, indent, brief=brief)
    elif response.output is not None:
        text = _written(response.output)
        yield from _block(head, text, indent, brief=brief and not whole)
    for name, value in response.evidence.items():
        text = json.dumps(value, ensure_ascii=False)
        yield from _block(f"{name}:", text, indent, brief=brief)


def _written(content: Interleaved) -> str:
    """Returns the raw text. A tag is added for each medium without a placeholder."""
    counts: Counter[PartKind] = Counter()
    texts: list[str] = []
    for part in content.parts:
        if part.kind != "reasoning":
            counts[part.kind] += 1
            if part.raw or part.text is not None:
                texts.append(part.raw or "")
            else:
                texts.append(render(part.kind, counts[part.kind]))
    return "".join(texts)


def _block(
    head: str,
    text: str,
    indent: str,
    *,
    brief: bool,
) -> Iterator[str]:
    """Yields a text below its head. A short or ``brief`` text is on the same line."""
    if brief:
        short = shortened(" ".join(text.split()), MOST)
        yield from textwrap.wrap(
            f"{head} {short}",
            columns(),
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_on_hyphens=False,
        )
        return
    first, *others = text.splitlines() or [""]
    if not others:
        yield f"{indent}{head} {first}"
        return
    yield f"{indent}{head}"
    yield from (f"{indent}  {line}" for line in (first, *others))
