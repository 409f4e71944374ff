"""ISG-Agent plans texts and pictures, carries out the plan, and smooths the texts.

If the plan fails, the agent makes a new plan.
"""

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
from mmeval.model_backends.agents.isg.smoothing import SmoothedAnswer, smoothed
from mmeval.program import Call, CallFailed, Program, Role, ask_one
from mmeval.records import ErrorInfo, GenerationParams, Request
from mmeval.system import OneOrMore, ZeroOrMore


@agent(takes=("text", "image"), gives=("text", "image"), version="2")
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

    ``structure`` selects what determines the answer's blocks in advance: the planner
    (``self``), the task's prompt (``prompt``), or nothing (``none``). A plan with
    problems is refined up to ``refine`` times. ``smooth=false`` leaves the texts
    unchanged. With ``profile=official`` the agent behaves like the released one.
    ``max_items`` limits both the tool calls in a plan and the texts and pictures in an
    answer.
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
    params = request.params
    # Limits of an answer (stop, max_tokens) must not apply to steps, whose replies are
    # JSON.
    step_params = GenerationParams(
        temperature=params.temperature, top_p=params.top_p, top_k=params.top_k
    )
    context = AgentContext(
        request,
        replace(planner, params=step_params),
        roles,
        tools,
        prompts,
        Profile(profile == "official"),
        max_items,
    )
    history = AnswerHistory()
    error: ErrorInfo | None = None
    try:
        if structure != "none":
            if structure == "prompt":
                history.layout = stated_layout(context)
            else:
                history.layout = yield from found_layout(context)
        yield from _make_and_carry_out(context, history, refine)
        has_text = any(part.kind == "text" for part in history.answer.parts)
        if history.exhausted:
            history.answer = context.profile.after_exhaustion(history.answer)
        elif smooth and has_text and not history.problems:
            history.smoothing = yield from smoothed(context, history.answer)
            history.answer = history.smoothing.answer
    except CallFailed as failure:  # the evidence is kept
        error = failure.error
    warnings = [*context.warnings, *map(str, history.problems)]
    if history.exhausted:
        warnings.append("refine_exhausted: the last plan still has problems")
    return AgentAnswer(history.answer, history.evidence(), warnings, error)


@dataclass
class AnswerHistory:
    """The plans, problems and results that led to an answer."""

    layout: Sequence[str] = ()
    reply: str = ""
    """The planner's last reply."""
    plans: list[Sequence[PlanStep]] = field(default_factory=list)
    log: list[tuple[int, Problem]] = field(default_factory=list)
    problems: Sequence[Problem] = ()
    """The problems that occurred in the last plan."""
    exhausted: bool = False
    smoothing: SmoothedAnswer | None = None
    answer: Interleaved = field(default_factory=Interleaved)

    def evidence(self) -> dict[str, Any]:
        plans = []
        for steps in self.plans:
            plans.append([step.to_json() for step in steps])
        return {
            "structure": list(self.layout),
            "plan": plans,
            "log": [
                {"round": round_number, "step": problem.step, "problem": problem.text}
                for round_number, problem in self.log
            ],
            "rounds": max(len(self.plans) - 1, 0),
            "refine_exhausted": self.exhausted,
            "smoothing": self.smoothing and self.smoothing.to_json(),
        }


def _make_and_carry_out(
    context: AgentContext,
    history: AnswerHistory,
    refine: int,
) -> Program[None]:
    """Makes a plan, carries it out, and refines the plan as long as problems occur."""
    reply = yield from ask_one(_plan(context, history))
    reply.require()
    for refinements_left in range(refine, -1, -1):
        history.reply = reply.text
        history.plans.append(_steps(context, history.reply))
        execution = Execution(context, history.plans[-1])
        history.answer = yield from execution.answer()
        history.problems = sorted(execution.log, key=lambda problem: problem.step)
        for problem in history.problems:
            history.log.append((len(history.plans) - 1, problem))
        if not history.problems or not refinements_left:
            break
        reply = yield from ask_one(_plan(context, history))
        problem_text = reply.problem()
        if problem_text:
            context.warnings.append(f"the plan is not refined: {problem_text}")
            break
    history.exhausted = bool(history.problems) and refine > 0


def _plan(context: AgentContext, history: AnswerHistory) -> Call:
    """Returns the call that requests a plan, or a refinement of the last plan."""
    is_refinement = bool(history.plans)
    tool, source = context.tools.default(len(context.pictures))
    title = "plan"
    values: dict[str, Any] = {"pictures": Interleaved(tuple(context.pictures))}
    if is_refinement:
        title = "refine"
        values = {
            "plan": plan.plan_text(history.plans[-1]),
            "reply": history.reply,
            "problems": list(map(str, history.problems)),
            "error_log": "".join(f"{problem}\n" for problem in history.problems),
        }
    return context.call(
        title,
        read=partial(_steps, context),
        example=plan.example(history.layout, tool, source, sound=is_refinement),
        structure=" ".join(history.layout),
        tools=context.tools.to_json(),
        **values,
    )


def _steps(context: AgentContext, text: str) -> list[PlanStep]:
    return plan.steps_of(context.profile.rows(text))
