"""UniMA, the agent of UniM.

It describes its input, plans a report, checks the report, and makes the report's items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from mmeval.backend import Tool
from mmeval.backend.agent import AgentAnswer, AgentProgram, Prompts, agent
from mmeval.media import PART_KINDS, Interleaved, PartKind
from mmeval.model_backends.agents.unima.generating import make_answer
from mmeval.model_backends.agents.unima.items import read_question
from mmeval.model_backends.agents.unima.replies import FaultyStep, ReportCheck
from mmeval.model_backends.agents.unima.report import PLANNER, ItemMaker, Report
from mmeval.model_backends.agents.unima.steps import Steps
from mmeval.program import CallFailed, Program, Role
from mmeval.records import GenerationParams, Request
from mmeval.system import OneOrMore, ZeroOrMore

_KINDS = tuple(kind for kind in PART_KINDS if kind != "reasoning")
_WRITTEN: Mapping[PartKind, str] = {
    "code": "writes a program",
    "document": "writes a document of plain text",
}


@agent(takes=_KINDS, gives=_KINDS, version="2", by_kind={"receiver": "planner"})
def unima(
    request: Request,
    planner: Role,
    receiver: Role | None = None,
    detector: Role | None = None,
    code_interpreter: Tool | None = None,
    text_to_image: Tool | None = None,
    image_edit: Tool | None = None,
    text_to_speech: Tool | None = None,
    clone_speech: Tool | None = None,
    text_to_sound: Tool | None = None,
    text_to_music: Tool | None = None,
    text_to_video: Tool | None = None,
    point_completion: Tool | None = None,
    *,
    prompts: Prompts,
    tcdc: bool = True,
    ter: bool = True,
    verification: bool = True,
    judger: bool = True,
    max_cycles: ZeroOrMore = 3,
    max_items: OneOrMore = 32,
) -> AgentProgram:
    """The agent of UniM, whose parts can be switched off.

    ``tcdc=false`` uses plain captions, which are not conditioned on the task.
    ``ter=false`` plans in one unchecked step, from the captions conditioned on the task
    and the paraphrased question. ``verification=false`` skips the check of the report.
    After a failed check, the steps are repeated from the step that the judger blames;
    with ``judger=false`` they are repeated from step 1. After ``max_cycles`` repairs
    the last report is used. ``max_items`` is the maximum number of items in an answer.
    """
    image_tools = (text_to_image, image_edit)
    audio_tools = (text_to_speech, clone_speech, text_to_sound, text_to_music)
    tools = (*image_tools, *audio_tools, text_to_video, point_completion)
    makers = [
        ItemMaker(tool.name, tool.makes, tool.about, tool)
        for tool in tools
        if tool is not None
    ]
    makers += [ItemMaker(PLANNER, kind, about) for kind, about in _WRITTEN.items()]
    makers = [maker for maker in makers if maker.kind in request.wants]
    # Makers that only need text come first.
    makers.sort(key=lambda maker: len(maker.takes))
    params = request.params
    # Limits of an answer (stop, max_tokens) must not apply to steps, whose replies are
    # JSON.
    step_params = GenerationParams(
        temperature=params.temperature, top_p=params.top_p, top_k=params.top_k
    )
    steps = Steps(
        read_question(request),
        replace(planner, params=step_params),
        params,
        prompts,
        makers,
        max_items,
    )
    assert receiver is not None  # the planner is its substitute
    if receiver.name == planner.name:
        receiver = replace(receiver, params=step_params)
    report, exhausted = None, False
    answer, error = Interleaved(), None
    try:
        yield from steps.receive(receiver, detector)
        if ter:
            cycles = max_cycles if verification else None
            report, exhausted = yield from _report(
                steps, code_interpreter, tcdc=tcdc, judger=judger, max_cycles=cycles
            )
        else:
            yield from steps.condition(tcdc=tcdc)
            yield from steps.plan("generate")
            report = steps.report()
        if report is None:
            answer = yield from steps.answer_in_words()
        else:
            answer = yield from make_answer(report, steps)
    except CallFailed as failure:  # the evidence is kept
        error = failure.error
    if exhausted:
        steps.warnings.append(
            "verification_exhausted: the last report is used, although it failed its "
            "check"
        )
    evidence = steps.results.evidence(report if ter else None, exhausted=exhausted)
    return AgentAnswer(answer, evidence, steps.warnings, error)


def _report(
    steps: Steps,
    code_interpreter: Tool | None,
    *,
    tcdc: bool,
    judger: bool,
    max_cycles: int | None,
) -> Program[tuple[Report | None, bool]]:
    """Runs steps 1 to 4, and checks their report.

    If the check fails, the steps are repeated from the faulty step. If a plan's tags,
    captions and tools do not agree, the faulty step is step 3. Code detects this
    without a model. Step 4 is code, so step 3 is repeated if step 4 is blamed. Without
    ``max_cycles`` there is no check. Returns the report (None without a plan), and True
    if its check failed after the last repair.
    """
    step = 1
    for cycle in count():
        if step == 1:
            yield from steps.condition(tcdc=tcdc)
        if step <= 2:
            yield from steps.analyse(code_interpreter)
        has_plan = yield from steps.plan()
        report = steps.report()
        if report is None or max_cycles is None or not has_plan:
            return report, False
        check: ReportCheck | None = ReportCheck(False, report.faults)
        if not report.faults:
            check = yield from steps.check(report)
        if check is None:
            return report, False
        check_row: dict[str, Any] = {"pass": check.passed, "issues": check.issues}
        steps.results.checks.append(check_row)
        if check.passed or cycle == max_cycles:
            return report, not check.passed
        faulty_step = FaultyStep(3 if report.faults else 1, "")
        if judger and not report.faults:
            faulty_step = yield from steps.judge(report, check.issues)
        check_row |= {"faulty_step": faulty_step.step, "reason": faulty_step.reason}
        step = faulty_step.step
        steps.results.feedback = list(check.issues)
        if faulty_step.reason:
            steps.results.feedback.append(faulty_step.reason)
    raise AssertionError("unreachable: count() does not end")
