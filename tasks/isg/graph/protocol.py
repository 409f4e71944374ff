"""The protocol ``isg_graph``: a model writes the questions of a row in five stages.

1. the blocks of the answer;
2. the relations between blocks; 3. a question for each relation;
4. the content of the pictures; 5. a question for each tuple, which may depend on other
   questions being answered with yes.

Stages 2 and 4 only depend on stage 1, so they are requested at the same time. The same
applies to stages 3 and 5. The model is asked again after a faulty reply
(:mod:`mmeval.tasks.isg.graph.stages`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, TypeAlias

from mmeval.media import Interleaved, Part, text_part
from mmeval.metric.judge import accepts
from mmeval.metrics.judged.isg.rows import (
    BLOCK_QUESTIONS,
    CATEGORY,
    IMAGE_QUESTIONS,
    tokens_between,
)
from mmeval.program import (
    Ask,
    Call,
    JudgePrompt,
    Program,
    PromptFile,
    PromptValue,
    Reply,
    ask_all,
    ask_one,
)
from mmeval.system import ZeroOrMore
from mmeval.tasks.isg.graph import released, stages
from mmeval.tasks.isg.graph.examples import examples_for
from mmeval.tasks.isg.graph.stages import FORMS, Structure
from mmeval.tasks.isg.subtasks import requirement_of

StagePrompt: TypeAlias = Annotated[
    PromptValue,
    JudgePrompt(
        "query", "structure", "triples", "examples", "requirement", *released.VALUES
    ),
]
CaptionPrompt: TypeAlias = Annotated[PromptValue, JudgePrompt("picture", form=False)]
_RELATION = ["<gen_text1>", "<gen_img1>", "describes"]
_EXAMPLES = {
    "relations": {"relation": [_RELATION]},
    "block_questions": {
        "questions": [
            {
                **dict(zip(("subject", "object", "relation"), _RELATION, strict=True)),
                "Question": "Does it describe it?",
            }
        ]
    },
    "tuples": {"tuple": [["entity", "lamp", "<gen_img1>"]]},
    "image_questions": {
        "questions": [{"image": "<gen_img1>", "Question": "Is there a lamp?", "id": 0}]
    },
}
"""Example replies for a dry run. With these replies every stage runs."""
_TRIPLES = {"block_questions": "relations", "image_questions": "tuples"}
"""Stages that ask about the triples of another stage."""


@dataclass(frozen=True)
class Stages:
    """The calls for one row."""

    ask: Ask
    query: Mapping[str, Part]
    subtask: str
    examples: int
    prompts: Mapping[str, PromptValue]
    image_pictures: bool

    @property
    def needs_picture_stages(self) -> bool:
        """True if stages 4 and 5 run for an answer with pictures."""
        return requirement_of(self.subtask) != "none"

    def call(
        self,
        stage: str,
        read: Callable[[str], Any],
        values: Mapping[str, Any],
        example: str = "",
    ) -> Call:
        """Returns the call of a stage. ``read`` accepts or rejects the reply."""
        texts = [part.text or "" for part in self.query.values() if part.kind == "text"]
        shown_examples: list[dict[str, str]] = []
        for row in examples_for(stage, self.subtask, texts, self.examples):
            triples = row.replies[_TRIPLES[stage]] if stage in _TRIPLES else ""
            shown_examples.append(
                {
                    "query": row.query,
                    "reply": row.replies[stage],
                    "structure": row.replies["structure"],
                    "triples": triples,
                }
            )
        prompt_values: dict[str, Any] = {
            "query": "",
            "structure": "",
            "triples": "",
            "requirement": requirement_of(self.subtask),
            **values,
            "examples": shown_examples,
            "form": FORMS[stage],
        }
        if PromptFile.of(self.prompts[stage]).released:
            prompt_values |= released.stage_values(
                shown_examples,
                requirement=requirement_of(self.subtask),
                shows_pictures=self.image_pictures,
            )
        example_reply = example or json.dumps(_EXAMPLES[stage])
        return replace(
            self._ask(stage, prompt_values), accept=accepts(read), example=example_reply
        )

    def captions(self) -> Program[dict[str, str]]:
        """Requests captions of the task's pictures, and returns them by token."""
        tokens = []
        calls = []
        for token, part in self.query.items():
            if part.kind == "image":
                tokens.append(token)
                calls.append(self._ask("caption", {"picture": Interleaved((part,))}))
        if not calls:
            return {}
        replies = yield from ask_all(calls)
        captions = {}
        for token, reply in zip(tokens, replies, strict=True):
            captions[token] = " ".join(_text(reply).split())
        return captions

    def questions(
        self,
        structure: Structure,
        about_blocks: Interleaved,
        about_pictures: Interleaved,
    ) -> Program[Interleaved]:
        """Runs the stages after the first. Returns the questions as JSON text."""
        shared_values = {"structure": json.dumps(structure.written)}
        has_pictures = bool(structure.pictures) and self.needs_picture_stages
        relations_of = partial(stages.read_relations, structure=structure)
        tuples_of = partial(stages.read_tuples, structure=structure)
        calls = [
            self.call(
                "relations", relations_of, {"query": about_blocks, **shared_values}
            )
        ]
        if has_pictures:
            calls.append(
                self.call(
                    "tuples", tuples_of, {"query": about_pictures, **shared_values}
                )
            )
        replies = yield from ask_all(calls)
        relations = relations_of(_text(replies[0]))
        tuples = tuples_of(_text(replies[1])) if has_pictures else []

        block_questions_of = partial(stages.read_block_questions, relations=relations)
        image_questions_of = partial(stages.read_image_questions, tuples=tuples)
        calls = []
        if relations:
            calls.append(
                self.call(
                    "block_questions",
                    block_questions_of,
                    {"triples": json.dumps(relations)},
                )
            )
        if tuples:
            calls.append(
                self.call(
                    "image_questions",
                    image_questions_of,
                    {"triples": json.dumps(tuples)},
                )
            )
        block_questions: list[dict[str, Any]] = []
        image_questions: list[dict[str, Any]] = []
        if calls:
            replies = yield from ask_all(calls)
        if relations:
            block_questions = block_questions_of(_text(replies[0]))
        if tuples:
            image_questions = image_questions_of(_text(replies[-1]))
        predict = {
            "structure": structure.written,
            "block_tuple": {"relation": relations},
            BLOCK_QUESTIONS: {"questions": block_questions},
            "image_tuple": tuples,
            IMAGE_QUESTIONS: {"questions": image_questions},
        }
        return Interleaved((text_part(json.dumps(predict, ensure_ascii=False)),))

    def _ask(self, prompt: str, values: Mapping[str, Any]) -> Call:
        system = [message for message in self.ask.messages if message.role == "system"]
        words = PromptFile.of(self.prompts[prompt]).messages(values)
        return self.ask.call((*system, *words), ("text",))


def isg_graph(
    ask: Ask,
    *,
    block_pictures: bool = False,
    image_pictures: bool = True,
    examples: ZeroOrMore = 2,
    structure_prompt: StagePrompt = "isg_graph_structure",
    relations_prompt: StagePrompt = "isg_graph_relations",
    block_questions_prompt: StagePrompt = "isg_graph_block_questions",
    tuples_prompt: StagePrompt = "isg_graph_tuples",
    image_questions_prompt: StagePrompt = "isg_graph_image_questions",
    caption_prompt: CaptionPrompt = "isg_graph_caption",
) -> Program[Interleaved]:
    """Writes the questions of a row as JSON, in the form of ``predict``.

    With ``block_pictures`` the stages about blocks see the pictures of the task, and
    with ``image_pictures`` the stages about pictures see them. If a switch is false,
    its stages read captions by the same model instead. ``examples`` is the number of
    rows of the same category in each prompt. Stages 4 and 5 are skipped for subtasks
    without requirements for the pictures. The authors did not release how their prompts
    are filled, so mmeval shows its own examples in them.
    """
    query: list[Part] = []
    for message in ask.messages:
        if message.role == "user":
            query += message.content.parts
    blocks = tokens_between(Interleaved(tuple(query)), None)
    subtask = str(ask.sample.metadata.get(CATEGORY, ""))
    prompts = {
        "structure": structure_prompt,
        "relations": relations_prompt,
        "block_questions": block_questions_prompt,
        "tuples": tuples_prompt,
        "image_questions": image_questions_prompt,
        "caption": caption_prompt,
    }
    row = Stages(ask, blocks, subtask, examples, prompts, image_pictures)
    needs_no_captions = block_pictures and (
        image_pictures or not row.needs_picture_stages
    )
    captions: dict[str, str] = {}
    if not needs_no_captions:
        captions = yield from row.captions()
    about_blocks = named_blocks(blocks, None if block_pictures else captions)
    about_pictures = named_blocks(blocks, None if image_pictures else captions)
    read_structure = partial(stages.read_structure, query=list(blocks))
    example_reply = json.dumps(
        Structure(tuple(blocks), ("<gen_text1>", "<gen_img1>")).written
    )
    reply = yield from ask_one(
        row.call("structure", read_structure, {"query": about_blocks}, example_reply)
    )
    structure = read_structure(_text(reply))
    return (yield from row.questions(structure, about_blocks, about_pictures))


def named_blocks(
    query: Mapping[str, Part], captions: Mapping[str, str] | None = None
) -> Interleaved:
    """Returns a task with named blocks.

    ``captions`` replace its pictures. If ``captions`` is None, the pictures are kept.
    """
    parts: list[Part] = []
    for token, part in query.items():
        if part.kind == "text":
            parts.append(text_part(f"{token}: {part.text}\n"))
        elif captions is None:
            parts += [text_part(f"{token}:\n"), replace(part, raw=""), text_part("\n")]
        else:
            parts.append(text_part(f"{token}\n"))
    for token, caption in (captions or {}).items():
        parts.append(text_part(f"(the caption of the {token} is: {caption})\n"))
    return Interleaved(tuple(parts))


def _text(reply: Reply) -> str:
    """Returns the text of a reply. Raises CallFailed if the call has failed."""
    reply.require()
    return reply.text
