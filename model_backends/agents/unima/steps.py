"""The steps before anything is made: each asks the planner, or the receiver, and reads
what it replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from mmeval.backend import TO_DESCRIBE, Tool
from mmeval.backend.agent import Prompts
from mmeval.media import Interleaved, Part
from mmeval.metric.judge import accepts
from mmeval.model_backends.agents.unima import replies
from mmeval.model_backends.agents.unima.items import TaggedQuestion
from mmeval.model_backends.agents.unima.report import ItemMaker, Report, read_report
from mmeval.program import Call, Program, Reply, Role, ask_all, ask_one
from mmeval.records import GenerationParams, Response

if TYPE_CHECKING:  # Jinja is slow to import
    from mmeval.program import Value

T = TypeVar("T")


@dataclass
class StepResults:
    """What the steps have found so far; None for a step that was not asked, or has no
    usable reply."""

    captions: Mapping[str, str] = field(default_factory=dict)
    tcdc: Mapping[str, str] | None = None
    paraphrased: str | None = None
    data_report: Mapping[str, Any] | None = None
    plan: Mapping[str, Any] | None = None
    checks: list[dict[str, Any]] = field(default_factory=list)
    feedback: list[str] = field(default_factory=list)
    """What was wrong when a step is asked again."""

    def values(self, question: TaggedQuestion) -> dict[str, Value]:
        """What the prompts of the steps may read."""
        return {
            "question": question.words,
            "paraphrased_question": self.paraphrased or question.words,
            "captions": written({**self.captions, **(self.tcdc or {})}),
            "data_report": written(self.data_report),
            "plan": written(self.plan),
            "feedback": self.feedback,
        }

    def evidence(self, report: Report | None, *, exhausted: bool) -> dict[str, Any]:
        """What is recorded with an answer that was made of the report."""
        return {
            "tcdc": self.tcdc,
            "paraphrased_question": self.paraphrased,
            "data_report": self.data_report,
            "plan": report and self.plan,
            "final_report": report and report.to_json(),
            "checks": self.checks,
            "verification_exhausted": exhausted,
        }


@dataclass
class Steps:
    """Asks the steps, and notes on ``warnings`` which had no usable reply."""

    question: TaggedQuestion
    planner: Role
    params: GenerationParams
    """Of the request: their options are those of the tools."""
    prompts: Prompts
    makers: Sequence[ItemMaker]
    max_items: int
    results: StepResults = field(default_factory=StepResults)
    warnings: list[str] = field(default_factory=list)

    def receive(self, receiver: Role, detector: Role | None) -> Program[None]:
        """A caption of each item, and of pictures the objects in it."""
        calls: list[tuple[str, Call]] = []
        for label, part in self.question.items.items():
            asked = [("receive", receiver.variant(part.kind))]
            if detector is not None and part.kind == "image":
                asked.append(("detect", detector))
            item = Interleaved((bare(part),))
            for prompt, role in asked:
                messages = self.prompts.messages(prompt, kind=part.kind, item=item)
                call = role.send(
                    messages,
                    title="receive",
                    accept=not_empty,
                    example="a thing",
                    convert=TO_DESCRIBE,
                )
                calls.append((label, call))
        answers = (yield from ask_all([call for _, call in calls])) if calls else []
        captions: dict[str, str] = {}
        for (label, call), reply in zip(calls, answers, strict=True):
            if self.usable(reply, f"{label} is not described by the role {call.role}"):
                lines = filter(None, (captions.get(label), reply.text.strip()))
                captions[label] = "\n".join(lines)
        self.results.captions = captions

    def condition(self, *, tcdc: bool) -> Program[None]:
        """Step 1: captions conditioned on the task, and the question in other words, at
        the same time."""
        results, captions = self.results, self.results.captions
        read = replies.tcdc(captions)
        calls = []
        if tcdc and captions:
            example = {"tcdc": dict.fromkeys(captions, "a thing")}
            calls.append(self._call("tcdc", read, example))
        reworded = {"paraphrased_question": "What is it?"}
        calls.append(self._call("paraphrase", replies.paraphrase, reworded))
        *first, last = yield from ask_all(calls)
        for reply in first:
            results.tcdc = self._read(reply, read, "the plain captions are used")
        results.paraphrased = self._read(
            last, replies.paraphrase, "the question is used as it was asked"
        )

    def analyse(self, code_interpreter: Tool | None) -> Program[None]:
        """Step 2: a report on data where one is needed, with what a program found,
        where one is written and run."""
        report = {"inputs": "two numbers", "steps": "add them", "results": "4"}
        example = {"needs_data_analysis": True, "data_report": report}
        runs = int(code_interpreter is not None)
        if runs:
            example["code"] = "print(4)"
        read = replies.data_analysis
        reply = yield from ask_one(self._call("data", read, example, runs=runs))
        found = self._read(reply, read, "there is no data report")
        self.results.data_report = None if found is None else found.report
        if found is None or found.report is None or not found.code:
            return
        if code_interpreter is None:
            self.warnings.append(
                "a program was written that nothing runs (--role "
                "code_interpreter=BACKEND)"
            )
            return
        items = self.question.items.values()
        files = [bare(part) for part in items if part.media is not None]
        program = Part("code", found.code, raw=found.code)
        ran = yield from ask_one(code_interpreter.call(program, *files, title="data"))
        error = ran.response.error
        if error is not None:
            self.warnings.append(
                f"{error.kind}: {error.message:.200}: the data report lacks its results"
            )
        self.results.data_report = {
            **found.report,
            "code": found.code,
            "results": ran.text,
        }

    def plan(self, title: str = "plan") -> Program[bool]:
        """Step 3: the plan of the answer. Without one that can be read the last one
        stays, and False is returned."""
        makers = [maker.to_json() for maker in self.makers]
        labels: dict[str, str] = {
            maker.kind: self.question.next_label(maker.kind) for maker in self.makers
        }
        # an item of each kind that is made of words alone
        first: dict[str, ItemMaker] = {}
        for maker in reversed(self.makers):
            if not maker.takes:
                first[maker.kind] = maker
        tags = [f"<<{labels[kind]}>>" for kind in first]
        example = {
            "modalities_content": {kind: {labels[kind]: "a thing"} for kind in first},
            "text_content": " ".join(["It is:", *tags]),
            "tool_list": {labels[kind]: maker.name for kind, maker in first.items()},
        }
        call = self._call(
            "plan",
            replies.plan,
            example,
            title,
            makers=makers,
            labels=labels,
        )
        reply = yield from ask_one(call)
        found = self._read(reply, replies.plan, "no plan can be read")
        self.results.plan = found or self.results.plan
        return found is not None

    def report(self) -> Report | None:
        """Step 4: the report of the plan, if there is one."""
        if self.results.plan is None:
            return None
        report = read_report(
            self.results.plan, self.question, self.makers, self.max_items
        )
        self.warnings += [f"fault of a plan: {fault}" for fault in report.faults]
        return report

    def check(self, report: Report) -> Program[replies.ReportCheck | None]:
        """The checker's verdict, who sees the question and the report alone. None where
        there is none."""
        call = self._call(
            "check",
            replies.verdict,
            {"pass": True, "issues": []},
            report=written(report.to_json()),
        )
        reply = yield from ask_one(call)
        return self._read(reply, replies.verdict, "the report is not checked")

    def judge(
        self, report: Report, issues: Sequence[str]
    ) -> Program[replies.FaultyStep]:
        """The earliest step that is at fault; the first one, where the judger names
        none."""
        example = {"faulty_step": 3, "reason": "an item is missing"}
        call = self._call(
            "judge",
            replies.fault,
            example,
            report=written(report.to_json()),
            issues=issues,
        )
        reply = yield from ask_one(call)
        found = self._read(reply, replies.fault, "it begins again at step 1")
        if found is None:
            return replies.FaultyStep(1, "")
        if 1 <= found.step <= 4:
            return found
        self.warnings.append(
            f"the judger names step {found.step}, which does not exist: it begins "
            "again at step 1"
        )
        return replies.FaultyStep(1, found.reason)

    def answer_in_words(self) -> Program[Interleaved]:
        """The planner's answer without a plan. Raises CallFailed without one."""
        self.warnings.append("there is no plan: the planner answers in words alone")
        messages = self.prompts.messages("answer", **self.results.values(self.question))
        reply = yield from ask_one(
            self.planner.send(messages, title="generate", example="It is a thing.")
        )
        return reply.require()

    def usable(self, reply: Reply, otherwise: str) -> bool:
        """Whether a reply can be used. Raises CallFailed for an error that another try
        may not meet."""
        what = reply.problem()
        if what:
            self.warnings.append(f"{otherwise}: {what}")
        return not what

    def _call(
        self,
        prompt: str,
        read: Callable[[str], object],
        example: Mapping[str, Any],
        title: str = "",
        **more: Value,
    ) -> Call:
        messages = self.prompts.messages(
            prompt, **self.results.values(self.question), **more
        )
        return self.planner.send(
            messages,
            title=title or prompt,
            accept=accepts(read),
            example=json.dumps(example),
        )

    def _read(
        self,
        reply: Reply,
        read: Callable[[str], T],
        otherwise: str,
    ) -> T | None:
        return read(reply.text) if self.usable(reply, otherwise) else None


def bare(part: Part) -> Part:
    """An item as it is sent: without its tag."""
    return replace(part, raw=part.text or "", label="")


def not_empty(response: Response) -> str:
    return "" if response.text.strip() else "the reply is empty"


def written(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, indent=1)
