"""The steps that run before items are made.

Each step calls the planner or the receiver, and reads its reply.
"""

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
    """The results of the steps so far.

    A result is None if its step did not run or did not get a usable reply.
    """

    captions: Mapping[str, str] = field(default_factory=dict)
    tcdc: Mapping[str, str] | None = None
    paraphrased: str | None = None
    data_report: Mapping[str, Any] | None = None
    plan: Mapping[str, Any] | None = None
    checks: list[dict[str, Any]] = field(default_factory=list)
    feedback: list[str] = field(default_factory=list)
    """The faults that are reported to a step when the step runs again."""

    def values(self, question: TaggedQuestion) -> dict[str, Value]:
        """Returns the variables of the steps' prompts."""
        return {
            "question": question.words,
            "paraphrased_question": self.paraphrased or question.words,
            "captions": json_text({**self.captions, **(self.tcdc or {})}),
            "data_report": json_text(self.data_report),
            "plan": json_text(self.plan),
            "feedback": self.feedback,
        }

    def evidence(self, report: Report | None, *, exhausted: bool) -> dict[str, Any]:
        """Returns the evidence that is recorded with the answer of a report."""
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
    """Runs the steps. ``warnings`` lists steps without a usable reply."""

    question: TaggedQuestion
    planner: Role
    params: GenerationParams
    """The parameters of the request, with the options for the tools."""
    prompts: Prompts
    makers: Sequence[ItemMaker]
    max_items: int
    results: StepResults = field(default_factory=StepResults)
    warnings: list[str] = field(default_factory=list)

    def receive(self, receiver: Role, detector: Role | None) -> Program[None]:
        """Requests a caption of each item, and the objects in each picture."""
        calls: list[tuple[str, Call]] = []
        for label, part in self.question.items.items():
            roles_by_prompt = [("receive", receiver.variant(part.kind))]
            if detector is not None and part.kind == "image":
                roles_by_prompt.append(("detect", detector))
            item = Interleaved((bare(part),))
            for prompt, role in roles_by_prompt:
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
            if self.is_usable(
                reply, f"{label} is not described by the role {call.role}"
            ):
                lines = filter(None, (captions.get(label), reply.text.strip()))
                captions[label] = "\n".join(lines)
        self.results.captions = captions

    def condition(self, *, tcdc: bool) -> Program[None]:
        """Runs step 1: captions conditioned on the task, and the paraphrased question.

        Both are requested at the same time.
        """
        results, captions = self.results, self.results.captions
        read = replies.tcdc(captions)
        calls = []
        if tcdc and captions:
            example = {"tcdc": dict.fromkeys(captions, "a thing")}
            calls.append(self._call("tcdc", read, example))
        paraphrase_example = {"paraphrased_question": "What is it?"}
        calls.append(self._call("paraphrase", replies.paraphrase, paraphrase_example))
        *caption_replies, paraphrase_reply = yield from ask_all(calls)
        for reply in caption_replies:
            results.tcdc = self._read(reply, read, "the plain captions are used")
        results.paraphrased = self._read(
            paraphrase_reply, replies.paraphrase, "the question is used as it was asked"
        )

    def analyse(self, code_interpreter: Tool | None) -> Program[None]:
        """Runs step 2: a data report, if one is needed.

        If a program is written and run, the report contains its results.
        """
        report = {"inputs": "two numbers", "steps": "add them", "results": "4"}
        example = {"needs_data_analysis": True, "data_report": report}
        runs = int(code_interpreter is not None)
        if runs:
            example["code"] = "print(4)"
        read = replies.data_analysis
        reply = yield from ask_one(self._call("data", read, example, runs=runs))
        analysis = self._read(reply, read, "no data report is used")
        self.results.data_report = None if analysis is None else analysis.report
        if analysis is None or analysis.report is None or not analysis.code:
            return
        if code_interpreter is None:
            self.warnings.append(
                "a program was written but not run: no interpreter is set (--role "
                "code_interpreter=BACKEND)"
            )
            return
        items = self.question.items.values()
        files = [bare(part) for part in items if part.media is not None]
        program = Part("code", analysis.code, raw=analysis.code)
        program_reply = yield from ask_one(
            code_interpreter.call(program, *files, title="data")
        )
        error = program_reply.response.error
        if error is not None:
            self.warnings.append(
                "the data report lacks its results "
                f"({error.kind}: {error.message:.200})"
            )
        self.results.data_report = {
            **analysis.report,
            "code": analysis.code,
            "results": program_reply.text,
        }

    def plan(self, title: str = "plan") -> Program[bool]:
        """Runs step 3: the plan of the answer.

        If the reply does not contain a readable plan, keeps the last plan and returns
        False.
        """
        makers = [maker.to_json() for maker in self.makers]
        labels: dict[str, str] = {
            maker.kind: self.question.next_label(maker.kind) for maker in self.makers
        }
        # The example has one item of each kind that only needs text.
        makers_by_kind: dict[str, ItemMaker] = {}
        for maker in reversed(self.makers):
            if not maker.takes:
                makers_by_kind[maker.kind] = maker
        tags = [f"<<{labels[kind]}>>" for kind in makers_by_kind]
        example = {
            "modalities_content": {
                kind: {labels[kind]: "a thing"} for kind in makers_by_kind
            },
            "text_content": " ".join(["It is:", *tags]),
            "tool_list": {
                labels[kind]: maker.name for kind, maker in makers_by_kind.items()
            },
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
        plan = self._read(reply, replies.plan, "no plan can be read")
        self.results.plan = plan or self.results.plan
        return plan is not None

    def report(self) -> Report | None:
        """Runs step 4, and returns the report of the plan, or None without a plan."""
        if self.results.plan is None:
            return None
        report = read_report(
            self.results.plan, self.question, self.makers, self.max_items
        )
        self.warnings += [f"fault of a plan: {fault}" for fault in report.faults]
        return report

    def check(self, report: Report) -> Program[replies.ReportCheck | None]:
        """Asks the planner to check a report.

        The planner sees only the question and the report.

        Returns None if there is no usable reply.
        """
        call = self._call(
            "check",
            replies.verdict,
            {"pass": True, "issues": []},
            report=json_text(report.to_json()),
        )
        reply = yield from ask_one(call)
        return self._read(reply, replies.verdict, "the report is not checked")

    def judge(
        self, report: Report, issues: Sequence[str]
    ) -> Program[replies.FaultyStep]:
        """Asks the judger for the earliest faulty step.

        The result is step 1 if the judger does not name a valid step.
        """
        example = {"faulty_step": 3, "reason": "an item is missing"}
        call = self._call(
            "judge",
            replies.fault,
            example,
            report=json_text(report.to_json()),
            issues=issues,
        )
        reply = yield from ask_one(call)
        faulty_step = self._read(reply, replies.fault, "step 1 is repeated")
        if faulty_step is None:
            return replies.FaultyStep(1, "")
        if 1 <= faulty_step.step <= 4:
            return faulty_step
        self.warnings.append(
            f"the judger names step {faulty_step.step}, which does not exist; step 1 "
            "is repeated"
        )
        return replies.FaultyStep(1, faulty_step.reason)

    def answer_in_words(self) -> Program[Interleaved]:
        """Asks the planner to answer the question without a plan.

        Raises CallFailed if there is no reply.
        """
        self.warnings.append("without a plan, the planner answers with text only")
        messages = self.prompts.messages("answer", **self.results.values(self.question))
        reply = yield from ask_one(
            self.planner.send(messages, title="generate", example="It is a thing.")
        )
        return reply.require()

    def is_usable(self, reply: Reply, otherwise: str) -> bool:
        """Returns True if a reply can be used.

        Raises CallFailed for an error that a retry may avoid.
        """
        problem = reply.problem()
        if problem:
            self.warnings.append(f"{otherwise}: {problem}")
        return not problem

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
        return read(reply.text) if self.is_usable(reply, otherwise) else None


def bare(part: Part) -> Part:
    """Returns an item without its tag, for requests."""
    return replace(part, raw=part.text or "", label="")


def not_empty(response: Response) -> str:
    return "" if response.text.strip() else "the reply is empty"


def json_text(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, indent=1)
