"""List the worst answers of a run, or show how one of them was made.

    mmeval trace runs/illustrator/default
    mmeval trace runs/illustrator/default --task my_task --sample s1

RUN is the folder of a run. Without --sample, the ten answers with the worst scores in
the headline number of their task are listed, and then answers without a score.

With --sample, the request and the reply of each step are shown, and then the scores.
The programs of the trial and of its agents run again with the stored replies. --json
prints the list, or the steps, as one JSON document.

No model is called, and nothing is written.

exit codes: 0 the answers or the steps are shown; 2 usage, or the task or the agent has
changed; 4 the run or its results do not exist.
"""

from __future__ import annotations

import argparse
import json
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.backend.agent.limits import MAX_CALLS, AnswerLimits
from mmeval.cli.parser import Parser
from mmeval.errors import EXIT_OK, MissingDataError, UnknownNameError, UsageError
from mmeval.findings.render import command_lines
from mmeval.media.placeholders import render
from mmeval.report.terminal import columns, print_text
from mmeval.system.wording import escaped, listed, printable, shortened

if TYPE_CHECKING:
    from mmeval.media.parts import Interleaved, PartKind
    from mmeval.records.response import Response
    from mmeval.report.worst import RankedTrial, WorstTrials
    from mmeval.results.stored_run import StoredRun
    from mmeval.run.rescore.trace import TracedStep

_MAX_BRIEF = 300
"""Maximum number of characters of a text that is shown in brief."""
_MAX_NAME = 60
_MOST_NAMED = 5


def configure(parser: Parser) -> None:
    parser.add_argument("folder", metavar="RUN", type=Path, help="the folder of a run")
    parser.add_argument(
        "--task",
        metavar="T",
        help="task of the answers (all; may be left out in a run of one task)",
    )
    parser.add_argument(
        "--sample", metavar="ID", help="id of the sample whose steps are shown"
    )
    parser.add_argument(
        "--repeat",
        metavar="N",
        type=int,
        help="with --sample: repeat, counted from 0 (0)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Prints the worst answers, or the steps and the scores of one answer."""
    from mmeval.results.stored_run import StoredRun, run_folder

    folder = run_folder(args.folder)
    with closing(StoredRun(folder)) as stored:
        known = list(stored.record["tasks"])
        if args.task is not None and args.task not in known:
            raise UnknownNameError("task of this run", args.task, known)
        if args.sample is None:
            if args.repeat is not None:
                raise UsageError("--repeat only applies to a --sample; leave it out")
            return _list(stored, known if args.task is None else [args.task], args.json)
        if args.task is None and len(known) > 1:
            raise UsageError(
                f"--task is missing; the run has the tasks {listed(known, _MOST_NAMED)}"
            )
        args.task = args.task or known[0]
        args.repeat = args.repeat or 0
        return _show(stored, args)


def _list(stored: StoredRun, tasks: Sequence[str], as_json: bool) -> int:
    from mmeval.report.worst import worst_trials

    if not stored.results:
        raise MissingDataError(
            f"{stored.folder} has no results yet; compute them: mmeval score "
            f"{shlex.quote(str(stored.folder))}"
        )
    trials = worst_trials(stored, tasks)
    if as_json:
        document = {
            "scored": trials.scored,
            "worst": [trial.to_json() for trial in trials.worst],
            "lost": trials.lost,
            "without_score": [trial.to_json() for trial in trials.without_score],
        }
        print_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    else:
        print_text(escaped("\n".join(_list_lines(stored, trials))) + "\n")
    return EXIT_OK


def _list_lines(stored: StoredRun, trials: WorstTrials) -> Iterator[str]:
    shown = [*trials.worst, *trials.without_score]
    if not shown:
        yield f"{stored.name}: no answer has a score"
        return
    if trials.worst:
        which = _which(len(trials.worst), trials.scored, "worst")
        yield from _heading(f"{stored.name}: {which} with a score, worst first")
        yield from _table_lines(trials.worst)
        yield ""
    if trials.without_score:
        which = _which(len(trials.without_score), trials.lost, "first")
        yield from _heading(f"{stored.name}: {which} without a score")
        yield from _table_lines(trials.without_score)
        yield ""
    yield "steps of one answer, here the first:"
    words = ["mmeval", "trace", str(stored.folder)]
    words += ["--task", shown[0].task, "--sample", shown[0].sample]
    if shown[0].repeat:
        words += ["--repeat", str(shown[0].repeat)]
    yield from command_lines(shlex.join(words), "  ", columns())


def _heading(words: str) -> list[str]:
    return textwrap.wrap(
        printable(words, limit=_MAX_BRIEF), columns(), subsequent_indent="  "
    )


def _which(shown: int, count: int, kind: str) -> str:
    if count == 1:
        return "the only answer"
    return (
        f"all {count} answers"
        if shown == count
        else f"{shown} {kind} of {count:,} answers"
    )


def _table_lines(trials: Sequence[RankedTrial]) -> Iterator[str]:
    """Yields a line for each answer, and a line with the reason if it is known."""
    rows: list[tuple[str, str, str, str]] = []
    for trial in trials:
        value = "-" if trial.value is None else f"{trial.value:.3f}"
        metric = printable(trial.metric, limit=_MAX_NAME)
        task = printable(trial.task, limit=_MAX_NAME)
        sample = printable(trial.sample, limit=_MAX_NAME)
        if trial.repeat:
            sample += f", repeat {trial.repeat}"
        rows.append((value, metric, task, sample))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    indent = " " * (widths[0] + 4)
    for trial, (value, *names) in zip(trials, rows, strict=True):
        cells = [value.rjust(widths[0])]
        for name, width in zip(names, widths[1:], strict=True):
            cells.append(name.ljust(width))
        yield from textwrap.wrap(
            f"  {'  '.join(cells)}".rstrip(),
            columns(),
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        if trial.reason:
            yield indent + _one_line(trial.reason, columns() - len(indent))


def _one_line(text: str, width: int) -> str:
    return textwrap.shorten(printable(text, limit=_MAX_BRIEF), width, placeholder=" …")


def _show(stored: StoredRun, args: argparse.Namespace) -> int:
    from mmeval.program.calls import MODEL
    from mmeval.run.options import BackendSpec
    from mmeval.run.rescore.trace import trace_json, traced
    from mmeval.settings.role_flags import recorded_roles

    settings = stored.record.get("settings", {})
    model = BackendSpec(
        settings.get("model", ""),
        settings.get("model_args", {}),
        words=settings.get("prompts", ""),
    )
    tokens = settings.get("max_tokens_per_answer")
    limits = AnswerLimits(settings.get("max_calls_per_answer", MAX_CALLS), tokens)
    specs = {MODEL: model, **recorded_roles(settings)}
    steps = traced(
        stored.folder,
        specs,
        limits,
        task=args.task,
        sample=args.sample,
        repeat=args.repeat,
    )
    if args.json:
        print_text(json.dumps(trace_json(steps), ensure_ascii=False, indent=1) + "\n")
        return EXIT_OK
    lines = list(step_lines(steps))
    lines += _score_lines(_scores(stored, args))
    print_text(escaped("\n".join(lines)) + "\n")
    return EXIT_OK


def _scores(stored: StoredRun, args: argparse.Namespace) -> Mapping[str, Any]:
    """Returns the scores of one answer by number; empty without scores."""
    # a task of an earlier command is not in the newest results
    task = next((task for task in stored.tasks if task.name == args.task), None)
    if task is None:
        return {}
    indices = set()
    for row in task.sample_rows():
        if str(row["sample"]["id"]) == args.sample:
            indices.add(row["i"])

    def is_shown(index: int, repeat: int) -> bool:
        return index in indices and repeat == args.repeat

    scores: Mapping[str, Any] = {}
    for trial in task.trials(is_shown):
        if trial is not None and trial.scores is not None:
            scores = trial.scores.get("scores", {})
    return scores


def _score_lines(scores: Mapping[str, Any]) -> Iterator[str]:
    """Yields each score with its reason. Numbers that were known before the run to be
    unavailable are left out."""
    from mmeval.report.worst import judge_reason

    available: dict[str, Mapping[str, Any]] = {}
    for name, score in scores.items():
        if score.get("status") != "unavailable":
            available[name] = score
    if available:
        yield "scores"
    for name, score in available.items():
        value, reason = score.get("value"), str(score.get("reason", ""))
        if value is None:
            text = f"{score.get('status')}: {reason}"
            yield from _block(f"{name}:", text, "  ", brief=True)
            continue
        yield f"  {name}: {value:.6g}"
        reason = judge_reason(scores, (name,))
        if reason:
            yield from _block("reason:", reason, "    ", brief=True)


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
        short = shortened(" ".join(text.split()), _MAX_BRIEF)
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
