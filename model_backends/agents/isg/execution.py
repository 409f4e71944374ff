"""Carries out a plan: first its pictures are made, then texts and pictures are put together as the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from mmeval.content import Interleaved, Part, text_part
from mmeval.judge import ReplyError
from mmeval.model_backends.agents.isg.dispatch import Selected
from mmeval.model_backends.agents.isg.plan import ADD, CALL, CAPTION, LABELS, Step, made_number, task_number
from mmeval.model_backends.agents.isg.team import Team, in_order, shown, words
from mmeval.program import Program, ask_all


class Problem(NamedTuple):
    """What went wrong in a step of a plan, counted from 1."""

    step: int
    what: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.what}"


@dataclass
class Execution:
    """A plan that is carried out; ``made`` are the pictures by the numbers of ``<GEN_k>``."""

    team: Team
    steps: Sequence[Step]
    log: list[Problem] = field(default_factory=list)
    made: dict[int, Part] = field(default_factory=dict)
    makers: dict[int, int] = field(default_factory=dict)
    """Which of the steps that call tools has made each picture."""

    def answer(self) -> Program[Interleaved]:
        """Both passes."""
        yield from self._make()
        return (yield from self._put_together())

    def _make(self) -> Program[None]:
        """The first pass: steps that call tools."""
        calls = [number for number, step in enumerate(self.steps, 1) if step.label == CALL]
        if len(calls) > self.team.max_items:
            self._note(calls[self.team.max_items], f"a plan calls tools in {self.team.max_items} steps at most")
            calls = calls[: self.team.max_items]
        for now in self.team.rules.order([self.steps[number - 1].needs for number in calls]):
            failed = len(self.log)
            sources = {at: found for at in now if (found := self._sources(calls[at], at)) is not None}
            chosen = yield from self._select({at: calls[at] for at in sources}, sources, len(calls))
            yield from self._draw(chosen, calls, sources)
            if self.team.rules.stops(len(self.log) > failed):
                return

    def _sources(self, number: int, at: int) -> list[Part] | None:
        """The pictures that a step is given, the one at this place among those that call tools. None without them."""
        step = self.steps[number - 1]
        found = [self._picture(name) if self._maker(name) < at else None for name in step.images]
        for name, part in zip(step.images, found, strict=True):
            if part is None:
                self._note(number, f"{name:.40} is no picture of the task, and none that was made before")
        pictures = [part for part in found if part is not None]
        return pictures if len(pictures) == len(found) else None

    def _select(
        self, numbers: Mapping[int, int], sources: Mapping[int, Sequence[Part]], calls: int
    ) -> Program[dict[int, Selected]]:
        """The tools of steps, with their arguments."""
        team, asked = self.team, {}
        for at, number in numbers.items():
            text = self.steps[number - 1].text
            try:
                team.tools.named(text)
            except ReplyError as error:
                self._note(number, str(error))
                continue
            values = {"step": text, "pictures": len(sources[at]), "tools": team.tools.to_json()}
            example = team.tools.example(text)
            asked[at] = team.call("select", read=team.tools.selected, example=example, **values)
        replies = (yield from ask_all(list(asked.values()))) if asked else []
        chosen: dict[int, Selected] = {}
        for at, reply in zip(asked, replies, strict=True):
            what = team.problem(reply)
            if not what:
                found = team.tools.selected(reply.text)
                needed, given = found.kind.pictures, len(sources[at])
                crowded = team.rules.crowded(found.tool, calls)
                what = crowded and f"{found.kind.name}: {crowded}"
                if needed != given:
                    what = f"{found.kind.name} takes {needed} pictures, and the step has {given}"
                chosen |= {} if what else {at: found}
            if what:
                self._note(numbers[at], what)
        return chosen

    def _draw(
        self, chosen: Mapping[int, Selected], calls: Sequence[int], sources: Mapping[int, Sequence[Part]]
    ) -> Program[None]:
        """The pictures of tools that were chosen."""
        rules, options = self.team.rules, self.team.request.params.options_of("image")
        asked = [selected.call(sources[at], options) for at, selected in chosen.items()]
        replies = (yield from ask_all(asked)) if asked else []
        for (at, selected), reply in zip(chosen.items(), replies, strict=True):
            self.team.problem(reply)
            found = selected.tool.all_made(reply)
            parts = found if isinstance(found, str) else rules.taken(selected, found)
            if isinstance(parts, str):
                self._note(calls[at], parts)
                continue
            if what := rules.discarded(at, len(parts)):
                self._note(calls[at], f"{selected.kind.name}: {what}")
                continue
            first = rules.first_number(at, len(self.made))
            for number, part in enumerate(parts, first):
                self.made[number], self.makers[number] = shown(part), at

    def _put_together(self) -> Program[Interleaved]:
        """The second pass: steps that add pictures and texts."""
        steps = self._of_answer()
        texts = yield from self._captions([(number, step) for number, step in steps if step.label == CAPTION])
        blocks: list[Part] = []
        for number, step in steps:
            if step.label == CAPTION:
                text = texts[number]
                if isinstance(text, Problem):
                    self.log.append(text)
                    text = self.team.rules.failed_caption(text.what)
                blocks.append(text_part(text))
            for name in step.images if step.label == ADD else ():
                part = self._picture(name)
                if part is not None:
                    blocks.append(part)
                elif what := self.team.rules.absent(name):
                    self._note(number, what)
        return self._joined(blocks)

    def _of_answer(self) -> list[tuple[int, Step]]:
        """The steps that add pictures and texts, up to one with another label, and to the most that an answer holds."""
        found: list[tuple[int, Step]] = []
        blocks = 0
        for number, step in enumerate(self.steps, 1):
            if step.label not in LABELS:
                self._note(number, f"{step.label:.40} is none of {', '.join(LABELS)}")
                break
            blocks += len(step.images) if step.label == ADD else step.label == CAPTION
            if blocks > self.team.max_items:
                self._note(number, f"an answer has {self.team.max_items} texts and pictures at most")
                break
            found += [(number, step)] if step.label != CALL else []
        return found

    def _captions(self, steps: Sequence[tuple[int, Step]]) -> Program[dict[int, str | Problem]]:
        """The texts of steps, or what went wrong."""
        found: dict[int, str | Problem] = {}
        asked = {}
        for number, step in steps:
            absent = next((name for name in step.images if self._picture(name) is None), "")
            if absent:
                found[number] = Problem(number, f"{absent:.40} is no picture of the task, and none that was made")
                continue
            pictures = [part for name in step.images if (part := self._picture(name)) is not None]
            asked[number] = self.team.call(
                "caption",
                read=words,
                example="This picture shows a thing.",
                step=step.text,
                pictures=in_order(pictures),
            )
        numbers = [*asked]
        for now in self.team.rules.order([()] * len(numbers)):
            replies = yield from ask_all([asked[numbers[at]] for at in now])
            for at, reply in zip(now, replies, strict=True):
                what = self.team.problem(reply)
                found[numbers[at]] = Problem(numbers[at], what) if what else reply.text
        return found

    def _joined(self, blocks: Sequence[Part]) -> Interleaved:
        parts: list[Part] = []
        for is_text, run in groupby(blocks, key=lambda part: part.kind == "text"):
            members = list(run)
            if is_text:
                text = self.team.rules.joined([part.text or "" for part in members])
                members = [text_part(text)] if text else []
            parts += members
        return Interleaved(tuple(parts))

    def _maker(self, name: str) -> int:
        """The place of the step that has made a picture, before all for those of the task."""
        number = made_number(name)
        return -1 if number is None else self.makers.get(number, -1)

    def _picture(self, name: str) -> Part | None:
        made, given = made_number(name), task_number(name)
        if made is not None:
            return self.made.get(made)
        pictures = self.team.pictures
        return pictures[given] if given is not None and 0 <= given < len(pictures) else None

    def _note(self, number: int, what: str) -> None:
        self.log.append(Problem(number, what))
