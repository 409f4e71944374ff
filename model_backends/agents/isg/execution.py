"""Carries out a plan: first its pictures are made, then texts and pictures are put
together as the answer."""

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
    """What went wrong in a step of a plan, counted from 1."""

    step: int
    what: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.what}"


class ToolStep(NamedTuple):
    """A step that calls a tool: its number from 1, the ``<GEN_k>`` of its first
    picture, and the pictures it names."""

    step: int
    first: int
    pictures: Sequence[Part]


@dataclass
class Execution:
    """A plan that is carried out; ``made`` are the pictures by the numbers of
    ``<GEN_k>``."""

    context: AgentContext
    steps: Sequence[PlanStep]
    log: list[Problem] = field(default_factory=list)
    made: dict[int, Part] = field(default_factory=dict)
    first: SelectedTool | None = None
    """The tool of the first step that calls one, once it is chosen and has the pictures
    that it needs."""

    def _make(self) -> Program[None]:
        """The first pass: steps that call tools. It ends with those that are asked
        beside one that has a problem."""
        profile, most = self.context.profile, self.context.max_items
        calls = [
            number for number, step in enumerate(self.steps, 1) if step.label == CALL
        ]
        if len(calls) > most:
            self._note(calls[most], f"a plan calls tools in {most} steps at most")
        calls = calls[:most]
        needs = [self.steps[number - 1].needs for number in calls]
        for wave in profile.waves(needs):
            places = sorted(chain.from_iterable(wave))
            chosen = yield from self._select(calls, places)
            for now in wave:
                jobs: list[tuple[ToolStep, SelectedTool]] = []
                for at in now:
                    if at not in chosen:
                        continue
                    first = profile.first_number(at, len(self.made))
                    pictures = self._pictures(calls[at], first)
                    if pictures is not None:
                        job = ToolStep(calls[at], first, pictures)
                        jobs.append((job, chosen[at]))
                yield from self._draw(jobs)
                failed = {problem.step for problem in self.log}
                if not failed.isdisjoint(calls[at] for at in now):
                    return

    def _select(
        self, calls: Sequence[int], places: Sequence[int]
    ) -> Program[dict[int, SelectedTool]]:
        """The tools of steps, by their places among ``calls``."""
        context, asked = self.context, []
        for at in places:
            step = self.steps[calls[at] - 1]
            below = context.profile.first_number(at, len(self.made))
            what = ""
            for name in step.images:
                is_known = 0 <= made_number(name) < below
                if not is_known and self._picture(name) is None:
                    what = what or _absent(name)
            what = what or context.tools.unplayed(step.text)
            if what:
                self._note(calls[at], what)
                continue
            call = context.call(
                "select",
                read=context.tools.selected,
                example=context.tools.example(step.text),
                step=step.text,
                pictures=len(step.images),
                tools=context.tools.to_json(),
            )
            asked.append((at, call))
        replies = (yield from ask_all([call for _, call in asked])) if asked else []
        chosen: dict[int, SelectedTool] = {}
        for (at, _), reply in zip(asked, replies, strict=True):
            what = reply.problem()
            if what:
                self._note(calls[at], f"no tool is chosen: {what}")
                continue
            selected = context.tools.selected(reply.text)
            needed = selected.kind.pictures
            given = len(self.steps[calls[at] - 1].images)
            if needed != given:
                what = f"it needs {needed} pictures, and has {given}"
            elif at == 0:
                # a tool that is not asked makes no pictures beside those of others
                self.first = selected
            what = what or context.profile.crowded(at, selected, self.first)
            if what:
                self._note(calls[at], f"{selected.kind.name}: {what}")
            else:
                chosen[at] = selected
        return chosen

    def _draw(self, chosen: Sequence[tuple[ToolStep, SelectedTool]]) -> Program[None]:
        """The pictures of steps whose tool is chosen."""
        options = self.context.request.params.options_of("image")
        asked = [selected.call(job.pictures, options) for job, selected in chosen]
        replies = (yield from ask_all(asked)) if asked else []
        for (job, selected), reply in zip(chosen, replies, strict=True):
            reply.problem()  # an outage ends the answer
            parts: Sequence[Part] | str = selected.tool.all_made(reply)
            if not isinstance(parts, str):
                parts = self.context.profile.taken(selected, parts, job.first)
            if isinstance(parts, str):
                self._note(job.step, f"{selected.kind.name}: {parts}")
                continue
            for number, part in enumerate(parts, job.first):
                self.made[number] = bare(part)

    def answer(self) -> Program[Interleaved]:
        """Both passes. The second one has the steps that add pictures and texts."""
        yield from self._make()
        profile = self.context.profile
        steps = self._of_answer()
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
                what = profile.absent(name)
                if what:
                    self._note(number, what)
        end_of_run()
        return Interleaved(tuple(parts))

    def _of_answer(self) -> list[tuple[int, PlanStep]]:
        """The steps that add pictures and texts, up to one with another label, and to
        the most that an answer holds."""
        found: list[tuple[int, PlanStep]] = []
        blocks, most = 0, self.context.max_items
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
            if blocks > most:
                self._note(number, f"an answer has {most} texts and pictures at most")
                break
            found.append((number, step))
        return found

    def _captions(self, numbers: Sequence[int]) -> Program[dict[int, str]]:
        """The texts of steps."""
        context, asked = self.context, []
        texts = dict.fromkeys(numbers, "")
        for number in numbers:
            pictures = self._pictures(number)
            if pictures is None:
                texts[number] = context.profile.failed_caption(self.log[-1].what)
                continue
            call = context.call(
                "caption",
                read=context.profile.caption,
                example="This picture shows a thing.",
                step=self.steps[number - 1].text,
                pictures=Interleaved(tuple(pictures)),
            )
            asked.append((number, call))
        for now in context.profile.order([()] * len(asked)):
            replies = yield from ask_all([asked[at][1] for at in now])
            for at, reply in zip(now, replies, strict=True):
                number = asked[at][0]
                texts[number] = reply.text
                what = reply.problem()
                if what:
                    texts[number] = context.profile.failed_caption(what)
                    self._note(number, what)
        return texts

    def _pictures(
        self,
        number: int,
        below: int | None = None,
    ) -> list[Part] | None:
        """The pictures that a step names, of those that were made ``below`` a number;
        None where one is not there."""
        found: list[Part] = []
        for name in self.steps[number - 1].images:
            part = None
            if below is None or made_number(name) < below:
                part = self._picture(name)
            if part is None:
                self._note(number, _absent(name))
                return None
            found.append(part)
        return found

    def _picture(self, name: str) -> Part | None:
        given = task_number(name)
        if 0 <= given < len(self.context.pictures):
            return self.context.pictures[given]
        return self.made.get(made_number(name))

    def _note(self, number: int, what: str) -> None:
        self.log.append(Problem(number, what))


def _absent(name: str) -> str:
    return f"{name:.40} is no picture of the task, and none that was made before"
