"""ISG-Agent: it plans texts and pictures, carries the plan out, has it made again where
that failed, and smooths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from mmeval.backend import Tool
from mmeval.backend.agent import AgentAnswer, AgentProgram, Prompts, agent
from mmeval.media import Interleaved
from mmeval.model_backends.agents.isg import plan
from mmeval.model_backends.agents.isg.context import AgentContext
from mmeval.model_backends.agents.isg.dispatch import PlanTools
from mmeval.model_backends.agents.isg.execution import Execution, Problem
from mmeval.model_backends.agents.isg.layout import found_layout, stated_layout
from mmeval.model_backends.agents.isg.plan import PlanStep
from mmeval.model_backends.agents.isg.profiles import Profile
from mmeval.model_backends.agents.isg.smoothing import Smoothed, smoothed
from mmeval.program import Call, CallFailed, Program, Role, ask_one
from mmeval.records import ErrorInfo, GenerationParams, Request
from mmeval.system import OneOrMore, ZeroOrMore


@agent(takes=("text", "image"), gives=("text", "image"), version="1")
def isg_agent(
    request: Request,
    planner: Role,
    tool_selector: Role | None = None,
    captioner: Role | None = None,
    refiner: Role | None = None,
    smoother: Role | None = None,
    text_to_image: Tool | None = None,
    image_edit: Tool | None = None,
    image_to_video: Tool | None = None,
    fixed_views: Tool | None = None,
    free_views: Tool | None = None,
    image_morph: Tool | None = None,
    *,
    prompts: Prompts,
    structure: Literal["self", "prompt", "none"] = "self",
    refine: ZeroOrMore = 2,
    smooth: bool = True,
    profile: Literal["standard", "official"] = "standard",
    max_items: OneOrMore = 32,
) -> AgentProgram:
    """The agent of ISG-Bench.

    ``structure``: the planner finds which blocks the answer has (``self``), the task's
    prompt states it (``prompt``), or the plan is made without (``none``). A plan with
    problems is made again up to ``refine`` times. ``smooth=false``: texts stay as they
    were written. ``profile=official``: as the released agent does it. ``max_items`` is
    how many tools a plan calls at most, and how many texts and pictures it adds.
    """
    roles = {
        "select": tool_selector,
        "caption": captioner,
        "refine": refiner,
        "smooth": smoother,
    }
    tools = PlanTools(
        text_to_image, image_edit, image_to_video, fixed_views, free_views, image_morph
    )
    given = request.params
    # What bounds an answer (stop, max_tokens) is of no use for steps whose replies are
    # JSON.
    sampled = GenerationParams(
        temperature=given.temperature, top_p=given.top_p, top_k=given.top_k
    )
    context = AgentContext(
        request,
        replace(planner, params=sampled),
        roles,
        tools,
        prompts,
        Profile(profile == "official"),
        max_items,
    )
    course = AnswerHistory()
    error: ErrorInfo | None = None
    try:
        if structure != "none":
            if structure == "prompt":
                course.layout = stated_layout(context)
            else:
                course.layout = yield from found_layout(context)
        yield from _planned(context, course, refine)
        has_text = any(part.kind == "text" for part in course.answer.parts)
        if course.exhausted:
            course.answer = context.profile.given_up(course.answer)
        elif smooth and has_text and not course.problems:
            course.smoothing = yield from smoothed(context, course.answer)
            course.answer = course.smoothing.answer
    except CallFailed as lost:  # its evidence is kept
        error = lost.error
    warnings = [*context.warnings, *map(str, course.problems)]
    if course.exhausted:
        warnings.append("refine_exhausted: the last plan has problems too")
    return AgentAnswer(course.answer, course.evidence(), warnings, error)


@dataclass
class AnswerHistory:
    """How an answer came about."""

    layout: Sequence[str] = ()
    plans: list[Sequence[PlanStep]] = field(default_factory=list)
    log: list[tuple[int, Problem]] = field(default_factory=list)
    problems: Sequence[Problem] = ()
    """Those of the last plan."""
    exhausted: bool = False
    smoothing: Smoothed | None = None
    answer: Interleaved = field(default_factory=Interleaved)

    def evidence(self) -> dict[str, Any]:
        plans = []
        for steps in self.plans:
            plans.append([step.to_json() for step in steps])
        return {
            "structure": list(self.layout),
            "plan": plans,
            "log": [
                {"round": at, "step": problem.step, "problem": problem.what}
                for at, problem in self.log
            ],
            "rounds": max(len(self.plans) - 1, 0),
            "refine_exhausted": self.exhausted,
            "smoothing": self.smoothing and self.smoothing.to_json(),
        }


def _planned(
    context: AgentContext,
    course: AnswerHistory,
    refine: int,
) -> Program[None]:
    """The answer of a plan, and of those that are made again while there are
    problems."""
    reply = yield from ask_one(_plan(context, course))
    reply.require()
    for left in range(refine, -1, -1):
        course.plans.append(_steps(context, reply.text))
        execution = Execution(context, course.plans[-1])
        course.answer = yield from execution.answer()
        course.problems = sorted(execution.log, key=lambda problem: problem.step)
        for problem in course.problems:
            course.log.append((len(course.plans) - 1, problem))
        if not course.problems or not left:
            break
        reply = yield from ask_one(_plan(context, course))
        what = reply.problem()
        if what:
            context.warnings.append(f"no other plan is made: {what}")
            break
    course.exhausted = bool(course.problems) and refine > 0


def _plan(context: AgentContext, course: AnswerHistory) -> Call:
    """The call for a plan; after one with problems, for another one."""
    again = bool(course.plans)
    tool, source = context.tools.usual(len(context.pictures))
    title = "plan"
    shown: dict[str, Any] = {"pictures": Interleaved(tuple(context.pictures))}
    if again:
        title = "refine"
        shown = {
            "plan": plan.written(course.plans[-1]),
            "problems": list(map(str, course.problems)),
        }
    return context.call(
        title,
        read=partial(_steps, context),
        example=plan.example(course.layout, tool, source, sound=again),
        structure=" ".join(course.layout),
        tools=context.tools.to_json(),
        **shown,
    )


def _steps(context: AgentContext, text: str) -> list[PlanStep]:
    return plan.steps_of(context.profile.rows(text))
