"""Carries out a plan.

It first makes the plan's pictures, and then builds the answer from texts and pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from mmeval.media import Interleaved, Part, text_part
from mmeval.model_backends.agents.isg.context import AgentContext, bare
from mmeval.model_backends.agents.isg.dispatch import SelectedTool
from mmeval.model_backends.agents.isg.plan import (
    ADD,
    CALL,
    CAPTION,
    LABELS,
    PlanStep,
    made_number,
    task_number,
)
from mmeval.program import Program, ask_all


class Problem(NamedTuple):
    """A problem in a step of a plan. Steps are numbered from 1."""

    step: int
    text: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.text}"


class ToolStep(NamedTuple):
    """A step that calls a tool.

    ``step`` is its number (from 1), ``first`` is the k of its first picture
    ``<GEN_k>``, and ``pictures`` are the pictures that the step names.
    """

    step: int
    first: int
    pictures: Sequence[Part]


@dataclass
class Execution:
    """Carries out a plan.

    ``made_pictures`` maps the k of ``<GEN_k>`` to its picture.
    """

    context: AgentContext
    steps: Sequence[PlanStep]
    log: list[Problem] = field(default_factory=list)
    made_pictures: dict[int, Part] = field(default_factory=dict)
    first: SelectedTool | None = None
    """The tool of the first step that calls a tool.

    It is None until the tool is chosen and its input pictures are found.
    """

    def _make(self) -> Program[None]:
        """Runs the first pass: the steps that call tools.

        If a step has a problem, the pass ends once the steps that run at the same time
        have ended.
        """
        profile, max_items = self.context.profile, self.context.max_items
        calls = [
            number for number, step in enumerate(self.steps, 1) if step.label == CALL
        ]
        if len(calls) > max_items:
            self._note(
                calls[max_items], f"a plan calls tools in {max_items} steps at most"
            )
        calls = calls[:max_items]
        needs = [self.steps[number - 1].needs for number in calls]
        for wave in profile.waves(needs):
            places = sorted(chain.from_iterable(wave))
            chosen = yield from self._select(calls, places)
            for group in wave:
                tool_steps: list[tuple[ToolStep, SelectedTool]] = []
                for place in group:
                    if place not in chosen:
                        continue
                    first = profile.first_number(place, len(self.made_pictures))
                    pictures = self._named_pictures(calls[place], first)
                    if pictures is not None:
                        tool_step = ToolStep(calls[place], first, pictures)
                        tool_steps.append((tool_step, chosen[place]))
                yield from self._draw(tool_steps)
                failed = {problem.step for problem in self.log}
                if not failed.isdisjoint(calls[place] for place in group):
                    return

    def _select(
        self, calls: Sequence[int], places: Sequence[int]
    ) -> Program[dict[int, SelectedTool]]:
        """Requests the choice of a tool for each step.

        ``places`` are indexes of ``calls``. The result maps these indexes to the tools.
        """
        context, calls_by_place = self.context, []
        for place in places:
            step = self.steps[calls[place] - 1]
            first_number = context.profile.first_number(place, len(self.made_pictures))
            problem = ""
            for name in step.images:
                is_known = 0 <= made_number(name) < first_number
                if not is_known and self._picture(name) is None:
                    problem = problem or _missing_picture(name)
            problem = problem or context.tools.unavailable(step.text)
            if problem:
                self._note(calls[place], problem)
                continue
            call = context.call(
                "select",
                read=context.tools.selected,
                example=context.tools.example(step.text),
                step=step.text,
                pictures=len(step.images),
                tools=context.tools.to_json(),
            )
            calls_by_place.append((place, call))
        replies = []
        if calls_by_place:
            replies = yield from ask_all([call for _, call in calls_by_place])
        chosen: dict[int, SelectedTool] = {}
        for (place, _), reply in zip(calls_by_place, replies, strict=True):
            problem = reply.problem()
            if problem:
                self._note(calls[place], f"no tool is chosen: {problem}")
                continue
            selected = context.tools.selected(reply.text)
            needed = selected.kind.pictures
            named = len(self.steps[calls[place] - 1].images)
            if needed != named:
                problem = f"it needs {needed} pictures, and has {named}"
            elif place == 0:
                # A tool that is not called cannot conflict with other tools.
                self.first = selected
            problem = problem or context.profile.conflict(place, selected, self.first)
            if problem:
                self._note(calls[place], f"{selected.kind.name}: {problem}")
            else:
                chosen[place] = selected
        return chosen

    def _draw(self, chosen: Sequence[tuple[ToolStep, SelectedTool]]) -> Program[None]:
        """Makes the pictures of the steps for which a tool was chosen."""
        options = self.context.request.params.options_of("image")
        calls = [
            selected.call(tool_step.pictures, options) for tool_step, selected in chosen
        ]
        replies = (yield from ask_all(calls)) if calls else []
        for (tool_step, selected), reply in zip(chosen, replies, strict=True):
            reply.problem()  # raises CallFailed on an outage, which ends the answer
            parts: Sequence[Part] | str = selected.tool.all_made(reply)
            if not isinstance(parts, str):
                parts = self.context.profile.accepted(selected, parts, tool_step.first)
            if isinstance(parts, str):
                self._note(tool_step.step, f"{selected.kind.name}: {parts}")
                continue
            for number, part in enumerate(parts, tool_step.first):
                self.made_pictures[number] = bare(part)

    def answer(self) -> Program[Interleaved]:
        """Runs both passes. The second pass adds pictures and texts to the answer."""
        yield from self._make()
        profile = self.context.profile
        steps = self._answer_steps()
        captions = [number for number, step in steps if step.label == CAPTION]
        texts = yield from self._captions(captions)
        parts: list[Part] = []
        run: list[str] = []

        def end_of_run() -> None:
            text = profile.joined(run)
            if text:
                parts.append(text_part(text))
            run.clear()

        for number, step in steps:
            if step.label == CAPTION:
                run.append(texts[number])
                continue
            if step.label != ADD:
                continue
            for name in step.images:
                part = self._picture(name)
                if part is not None:
                    end_of_run()
                    parts.append(part)
                    continue
                problem = profile.missing_picture(name)
                if problem:
                    self._note(number, problem)
        end_of_run()
        return Interleaved(tuple(parts))

    def _answer_steps(self) -> list[tuple[int, PlanStep]]:
        """Returns the steps that add pictures and texts.

        The list ends at the first invalid label, or at the maximum size of an answer.
        """
        steps: list[tuple[int, PlanStep]] = []
        blocks, max_items = 0, self.context.max_items
        for number, step in enumerate(self.steps, 1):
            if step.label not in LABELS:
                self._note(
                    number, f"{step.label[:40]!r} is none of {', '.join(LABELS)}"
                )
                break
            if step.label == ADD:
                blocks += len(step.images)
            elif step.label == CAPTION:
                blocks += 1
            if blocks > max_items:
                self._note(
                    number, f"an answer has {max_items} texts and pictures at most"
                )
                break
            steps.append((number, step))
        return steps

    def _captions(self, numbers: Sequence[int]) -> Program[dict[int, str]]:
        """Requests the texts of caption steps, and maps the steps' numbers to them."""
        context, calls = self.context, []
        texts = dict.fromkeys(numbers, "")
        for number in numbers:
            pictures = self._named_pictures(number)
            if pictures is None:
                texts[number] = context.profile.failed_caption(self.log[-1].text)
                continue
            call = context.call(
                "caption",
                read=context.profile.caption,
                example="This picture shows a thing.",
                step=self.steps[number - 1].text,
                pictures=Interleaved(tuple(pictures)),
            )
            calls.append((number, call))
        for group in context.profile.order([()] * len(calls)):
            replies = yield from ask_all([calls[place][1] for place in group])
            for place, reply in zip(group, replies, strict=True):
                number = calls[place][0]
                texts[number] = reply.text
                problem = reply.problem()
                if problem:
                    texts[number] = context.profile.failed_caption(problem)
                    self._note(number, problem)
        return texts

    def _named_pictures(
        self,
        number: int,
        below: int | None = None,
    ) -> list[Part] | None:
        """Returns the pictures that a step names, or None if one is missing.

        A picture that a tool made must have a number ``below`` the given number.
        """
        pictures: list[Part] = []
        for name in self.steps[number - 1].images:
            part = None
            if below is None or made_number(name) < below:
                part = self._picture(name)
            if part is None:
                self._note(number, _missing_picture(name))
                return None
            pictures.append(part)
        return pictures

    def _picture(self, name: str) -> Part | None:
        number = task_number(name)
        if 0 <= number < len(self.context.pictures):
            return self.context.pictures[number]
        return self.made_pictures.get(made_number(name))

    def _note(self, number: int, text: str) -> None:
        self.log.append(Problem(number, text))


def _missing_picture(name: str) -> str:
    return f"{name:.40} is neither a picture of the task nor one that was made before"
