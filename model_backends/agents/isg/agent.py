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
from mmeval.model_backends.agents.isg.dispatch import Tools
from mmeval.model_backends.agents.isg.execution import Execution, Problem
from mmeval.model_backends.agents.isg.layout import found_layout, stated_layout
from mmeval.model_backends.agents.isg.plan import Step
from mmeval.model_backends.agents.isg.profiles import Profile
from mmeval.model_backends.agents.isg.smoothing import Smoothed, smoothed
from mmeval.model_backends.agents.isg.team import Team
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
    tools = Tools(
        text_to_image, image_edit, image_to_video, fixed_views, free_views, image_morph
    )
    given = request.params
    # What bounds an answer (stop, max_tokens) is of no use for steps whose replies are
    # JSON.
    sampled = GenerationParams(
        temperature=given.temperature, top_p=given.top_p, top_k=given.top_k
    )
    team = Team(
        request,
        replace(planner, params=sampled),
        roles,
        tools,
        prompts,
        Profile(profile == "official"),
        max_items,
    )
    course = Course()
    error: ErrorInfo | None = None
    try:
        if structure != "none":
            if structure == "prompt":
                course.layout = stated_layout(team)
            else:
                course.layout = yield from found_layout(team)
        yield from _planned(team, course, refine)
        has_text = any(part.kind == "text" for part in course.answer.parts)
        if course.exhausted:
            course.answer = team.profile.given_up(course.answer)
        elif smooth and has_text and not course.problems:
            course.smoothing = yield from smoothed(team, course.answer)
            course.answer = course.smoothing.answer
    except CallFailed as lost:  # its evidence is kept
        error = lost.error
    warnings = [*team.warnings, *map(str, course.problems)]
    if course.exhausted:
        warnings.append("refine_exhausted: the last plan has problems too")
    return AgentAnswer(course.answer, course.evidence(), warnings, error)


@dataclass
class Course:
    """How an answer came about."""

    layout: Sequence[str] = ()
    plans: list[Sequence[Step]] = field(default_factory=list)
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
    team: Team,
    course: Course,
    refine: int,
) -> Program[None]:
    """The answer of a plan, and of those that are made again while there are
    problems."""
    reply = yield from ask_one(_plan(team, course))
    reply.require()
    for left in range(refine, -1, -1):
        course.plans.append(_steps(team, reply.text))
        execution = Execution(team, course.plans[-1])
        course.answer = yield from execution.answer()
        course.problems = sorted(execution.log, key=lambda problem: problem.step)
        for problem in course.problems:
            course.log.append((len(course.plans) - 1, problem))
        if not course.problems or not left:
            break
        reply = yield from ask_one(_plan(team, course))
        what = reply.problem()
        if what:
            team.warnings.append(f"no other plan is made: {what}")
            break
    course.exhausted = bool(course.problems) and refine > 0


def _plan(team: Team, course: Course) -> Call:
    """The call for a plan; after one with problems, for another one."""
    again = bool(course.plans)
    tool, source = team.tools.usual(len(team.pictures))
    title = "plan"
    shown: dict[str, Any] = {"pictures": Interleaved(tuple(team.pictures))}
    if again:
        title = "refine"
        shown = {
            "plan": plan.written(course.plans[-1]),
            "problems": list(map(str, course.problems)),
        }
    return team.call(
        title,
        read=partial(_steps, team),
        example=plan.example(course.layout, tool, source, sound=again),
        structure=" ".join(course.layout),
        tools=team.tools.to_json(),
        **shown,
    )


def _steps(team: Team, text: str) -> list[Step]:
    return plan.steps_of(team.profile.rows(text))
