"""UniMA, the agent of UniM: it describes what it is given, plans a report, checks it,
and has its items made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from mmeval.backend import Tool
from mmeval.backend.agent import AgentAnswer, AgentProgram, Prompts, agent
from mmeval.media import PART_KINDS, Interleaved, PartKind
from mmeval.model_backends.agents.unima.generating import generated
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
    """The agent of UniM, with its parts to switch off.

    ``tcdc=false``: plain captions, none conditioned on the task. ``ter=false``: the
    plan is made of captions, conditioned on the task, and the question in other words
    alone, in one step that nobody checks. ``verification=false``: no check of the
    report. ``judger=false``: a failed check begins again at step 1, instead of the step
    that the judger blames. After ``max_cycles`` repairs the last report is used.
    ``max_items`` is how many items an answer has at most.
    """
    drawn = (text_to_image, image_edit)
    heard = (text_to_speech, clone_speech, text_to_sound, text_to_music)
    tools = (*drawn, *heard, text_to_video, point_completion)
    makers = [
        ItemMaker(tool.name, tool.makes, tool.about, tool)
        for tool in tools
        if tool is not None
    ]
    makers += [ItemMaker(PLANNER, kind, about) for kind, about in _WRITTEN.items()]
    makers = [maker for maker in makers if maker.kind in request.wants]
    # those that need words alone come first
    makers.sort(key=lambda maker: len(maker.takes))
    given = request.params
    # What bounds an answer (stop, max_tokens) is of no use for steps whose replies are
    # JSON.
    sampled = GenerationParams(
        temperature=given.temperature, top_p=given.top_p, top_k=given.top_k
    )
    steps = Steps(
        read_question(request),
        replace(planner, params=sampled),
        given,
        prompts,
        makers,
        max_items,
    )
    assert receiver is not None  # as the planner stands in
    if receiver.name == planner.name:
        receiver = replace(receiver, params=sampled)
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
            answer = yield from generated(report, steps)
    except CallFailed as lost:  # its evidence is kept
        error = lost.error
    if exhausted:
        steps.warnings.append(
            "verification_exhausted: the last report is used, which did not pass its "
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
    """Steps 1 to 4, and the check of what they give. Where it fails they are repeated
    from the step that is at fault.

    That is step 3 for a plan in which tags, captions and tools do not agree, which is
    found without asking. Step 4 is code, so that step 3 is repeated where it is blamed.
    No check where ``max_cycles`` is None; None without any plan. Returned with the
    report is whether its check failed when no repair was left.
    """
    step = 1
    for cycle in count():
        if step == 1:
            yield from steps.condition(tcdc=tcdc)
        if step <= 2:
            yield from steps.analyse(code_interpreter)
        planned = yield from steps.plan()
        report = steps.report()
        if report is None or max_cycles is None or not planned:
            return report, False
        verdict: ReportCheck | None = ReportCheck(False, report.faults)
        if not report.faults:
            verdict = yield from steps.check(report)
        if verdict is None:
            return report, False
        noted: dict[str, Any] = {"pass": verdict.passed, "issues": verdict.issues}
        steps.results.checks.append(noted)
        if verdict.passed or cycle == max_cycles:
            return report, not verdict.passed
        fault = FaultyStep(3 if report.faults else 1, "")
        if judger and not report.faults:
            fault = yield from steps.judge(report, verdict.issues)
        noted |= {"faulty_step": fault.step, "reason": fault.reason}
        step = fault.step
        steps.results.feedback = list(verdict.issues)
        if fault.reason:
            steps.results.feedback.append(fault.reason)
    raise AssertionError("it counts for ever")
