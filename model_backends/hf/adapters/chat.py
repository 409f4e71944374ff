"""Chat models, from a chat template to text: the base of the adapters of families."""

from __future__ import annotations

import gc
import logging
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import groupby
from typing import Any, TypeAlias

from mmeval.backend import Capabilities
from mmeval.errors import UsageError, is_out_of_memory
from mmeval.media import Interleaved, PartKind, text_part
from mmeval.model_backends.hf.adapter import Adapter
from mmeval.model_backends.hf.capabilities import input_mismatch, overridden, read_kinds
from mmeval.model_backends.hf.checkpoint.loading import (
    load_processor,
    load_weights,
    tokenizer_of,
    without_torchvision,
)
from mmeval.model_backends.hf.conversation.encoding import (
    encode_rows,
    placed,
    prompt_lengths,
)
from mmeval.model_backends.hf.conversation.literals import Literals, literals_of
from mmeval.model_backends.hf.conversation.messages import InputSpec, to_chat
from mmeval.model_backends.hf.conversation.rows import (
    Encoded,
    Row,
    RowAnswer,
    TokenStream,
)
from mmeval.model_backends.hf.conversation.templates import template_of
from mmeval.model_backends.hf.failures import RowError, in_a_line
from mmeval.model_backends.hf.generation.sampling import (
    IGNORED,
    RowSampler,
    Sampling,
    broken_row,
)
from mmeval.model_backends.hf.generation.streams import (
    StopWords,
    cut,
    read_generation,
    words_that_end,
)
from mmeval.records import Request, Response, Usage

_log = logging.getLogger(__name__)

Answer: TypeAlias = tuple[int, Response]

THOUGHT = "<think>"
"""What opens hidden reasoning. The chat templates of some models write it, at the end
of the prompt."""


class ChatAdapter(Adapter):
    """Any chat model of the library: text, pictures, sounds and frames in, text out.

    A subclass speaks another protocol by overriding steps, in the order in which a
    batch goes through them: ``load_processor``, ``literals``, ``read_intake``,
    ``load_model`` (once); ``row`` (a request as a prompt), ``encode`` (prompts as
    tensors), ``generate`` (tensors as streams of tokens; with ``sampling``,
    ``usual_length``, ``logits_processors`` and ``generation_arguments``), ``split`` (a
    stream as parts). ``row``, ``encode`` and ``split`` may raise RowError for one row;
    the others go on without it.

    ``load`` sets ``processor``, ``tokenizer``, ``template``, ``input_spec``, ``model``
    and ``generation`` (the checkpoint's generation settings). They are typed ``Any``
    where each model has its own class.
    """

    processor: Any
    tokenizer: Any
    model: Any = None

    @cached_property
    def capabilities(self) -> Capabilities:
        kinds = list(read_kinds(self.files))
        if "video" in kinds and without_torchvision():
            kinds.remove("video")
            _log.warning(
                "%s reads videos with torchvision, which is not installed: it is run "
                "without them (pip install "
                "torchvision, or give videos as pictures with convert='video->frames')",
                self.files.name,
            )
        own = Capabilities.of(["text", *kinds], ["text"], "single")
        return replace(own, options=frozenset())

    def load(self) -> None:
        self.processor = self.load_processor()
        self.tokenizer = tokenizer_of(self.processor)
        self.template = template_of(
            self.processor, self.files, self.settings.chat_template_args
        )
        taken = overridden(self.capabilities, self.settings).inputs
        self.input_spec = self.read_input_spec(frozenset(taken))
        self.model = self.load_model()
        if getattr(self.model.config, "is_encoder_decoder", False):
            raise UsageError(
                f"{self.files.name}: it reads prompts with an encoder of their own, "
                "which no adapter does"
            )
        self.generation = read_generation(self.model, self.tokenizer)
        if self.generation.left_out:
            _log.warning(
                "%s: its generation_config.json asks for %s, which is left out here: "
                "tokens are chosen one by one, for "
                "each row as if it were alone",
                self.files.name,
                ", ".join(self.generation.left_out),
            )
        self._words_that_end = lru_cache(maxsize=8)(
            partial(words_that_end, self.tokenizer)
        )
        doubts = input_mismatch(read_kinds(self.files), self.model)
        if doubts and not self.settings.inputs:
            _log.warning("%s: %s", self.files.name, doubts)

    def answer(self, requests: Sequence[Request]) -> Iterator[Answer]:
        rows: list[Row] = []
        for position, request in enumerate(requests):
            try:
                self._check(request)
                rows.append(self.row(position, request))
            except RowError as error:
                yield position, error.response
        rows, encoded = yield from self._encoded(rows)
        if rows:
            yield from self._answered(rows, encoded)

    def close(self) -> None:
        self.model = None
        gc.collect()

    # Steps that a family may override.

    def load_processor(self) -> Any:
        """The processor, or for a text model its tokenizer, with the chat template."""
        return load_processor(self.files, self.settings)

    def load_model(self) -> Any:
        """The weights, by the class that the library names for them."""
        return load_weights(self.files, self.settings)

    def literals(self) -> Literals:
        """The control tokens that stay words in the text of a prompt."""
        return literals_of(self.processor)

    def read_input_spec(self, kinds: frozenset[PartKind]) -> InputSpec:
        """How the media of a prompt are read. Raises UsageError for kinds that the
        processor cannot read."""
        return InputSpec.of(self.processor, kinds, self.literals())

    def row(self, position: int, request: Request) -> Row:
        """The prompt of a request. Raises RowError for one that cannot be asked."""
        chat = to_chat(request, self.input_spec)
        text, warnings = self.template.text(chat)
        return Row(position, request, chat, text, (*chat.warnings, *warnings))

    def encode(self, rows: Sequence[Row]) -> Encoded:
        """The prompts as tensors, padded on the left. A row's error fails only that
        row."""
        return encode_rows(self.processor, rows)

    def logits_processors(self, rows: Sequence[Row]) -> list[Any]:  # noqa: ARG002  for those that override it
        """Processors of scores, such as a grammar: ``(input_ids, scores) ->
        scores``."""
        return []

    def sampling(self, request: Request) -> Sampling:  # noqa: ARG002  for those that override it
        """How tokens are drawn unless the request says otherwise: as in the
        checkpoint."""
        return self.generation.sampling

    def usual_length(self, request: Request) -> int:  # noqa: ARG002  for those that override it
        """The most tokens of an answer unless the request says otherwise."""
        return self.generation.max_tokens

    def generation_arguments(self, request: Request) -> dict[str, Any]:
        """Further arguments of ``generate`` for rows with these ``wants`` and
        ``params``."""
        stop = self.stops(request)
        words = self._words_that_end(stop) if stop else None
        return {"stopping_criteria": [StopWords(words)]} if words else {}

    def generate(
        self, rows: Sequence[Row], encoded: Encoded, max_new_tokens: int
    ) -> list[TokenStream | RowError]:
        """The model's output for each row, or why there is none, in the order of the
        rows."""
        import torch

        request = rows[0].request
        sampler = self.sampler(rows)
        with torch.inference_mode():
            given = placed(encoded, self.model)
            whole = self.model.generate(
                **given,
                max_new_tokens=max_new_tokens,
                logits_processor=[*self.logits_processors(rows), sampler],
                **self.generation_arguments(request),
            )
        if sampler.ignored:
            return [RowError("internal", IGNORED) for _ in rows]
        said = whole[:, given["input_ids"].shape[1] :].tolist()
        bad = broken_row(self.model.dtype)
        streams: list[TokenStream | RowError] = []
        for ids, broken in zip(said, sampler.broken, strict=True):
            streams.append(bad if broken else cut(ids, self.generation, max_new_tokens))
        return streams

    def split(self, request: Request, ids: Sequence[int]) -> RowAnswer:
        """The parts of an answer from its stream of tokens."""
        text = self.text_of(ids)
        found = [text.find(word) for word in self.stops(request)]
        ends = [place for place in found if place >= 0]
        parts = Interleaved.from_text(text[: min(ends, default=None)]).parts
        return RowAnswer(parts, finish_reason="stop" if ends else None)

    # Steps that are the same for all.

    def stops(self, request: Request) -> tuple[str, ...]:
        """The words that end an answer: the request's, and the checkpoint's own."""
        return (*request.params.stop, *self.generation.stop)

    def text_of(self, ids: Sequence[int]) -> str:
        """The text of some tokens, without control tokens other than those around
        hidden reasoning."""
        runs = groupby(ids, key=self._around_thoughts.__contains__)
        decode = partial(self.tokenizer.decode, clean_up_tokenization_spaces=False)
        text = ""
        for around, run in runs:
            text += decode(list(run), skip_special_tokens=not around)
        return text

    @cached_property
    def _around_thoughts(self) -> frozenset[int]:
        """The control tokens by which the core finds hidden reasoning, such as
        ``[THINK]``."""
        added = getattr(self.tokenizer, "added_tokens_decoder", {})
        around = []
        for number, token in added.items():
            if token.special and "think" in token.content.lower():
                around.append(number)
        return frozenset(around)

    def sampler(self, rows: Sequence[Row]) -> RowSampler:
        """The last logits processor of a call: chooses tokens by the rows' own
        seeds."""
        request = rows[0].request
        sampling, _ = self.sampling(request).under(request.params)
        end = self.generation.ends[0] if self.generation.ends else 0
        return RowSampler([row.request.seed for row in rows], sampling, end)

    @property
    def context(self) -> int:
        """The most tokens of prompt and answer together; a huge number where not
        stated."""
        context = self.generation.context or 1 << 40
        return min(self.settings.max_length or context, context)

    def _check(self, request: Request) -> None:
        """Raises RowError for invalid parameters."""
        if "" in request.params.stop:
            raise RowError(
                "bad_request",
                "stop holds an empty text, which would end every answer before it "
                "begins",
            )
        self.sampling(request).under(request.params)
        if request.params.max_tokens is not None and request.params.max_tokens < 1:
            raise RowError(
                "bad_request",
                f"max_tokens must be at least 1, given: {request.params.max_tokens}",
            )

    def _encoded(
        self, rows: Sequence[Row]
    ) -> Generator[Answer, None, tuple[list[Row], Encoded]]:
        """The rows that can be encoded and fit, as tensors; the others get errors."""
        if not rows:
            return [], {}
        try:
            encoded = self.encode(rows)
        # a processor raises what it likes over a prompt that it cannot take
        except Exception as error:
            if is_out_of_memory(error):
                raise
            if len(rows) == 1:
                refused = RowError(
                    "bad_request",
                    "the model's processor cannot encode this prompt "
                    f"({in_a_line(error)})",
                )
                if isinstance(error, RowError):
                    refused = error
                yield rows[0].position, refused.response
                return [], {}
            good: list[Row] = []
            for row in rows:
                kept, _ = yield from self._encoded([row])
                good += kept
            return good, self.encode(good) if good else {}
        fitting = []
        for row, length in zip(rows, prompt_lengths(encoded), strict=True):
            if length < self.context:
                fitting.append(row)
            else:
                text = (
                    f"the prompt has {length} tokens, and {self.context} fit with the "
                    "answer"
                )
                yield row.position, Response.failed("too_long", text)
        if len(fitting) == len(rows) or not fitting:
            return fitting, encoded
        return fitting, self.encode(fitting)

    def _answered(self, rows: Sequence[Row], encoded: Encoded) -> Iterator[Answer]:
        """The answers of rows that fit. A row for which its longest neighbour leaves
        too little room is asked again without it, and answers as alone."""
        lengths = prompt_lengths(encoded)
        request = rows[0].request
        wanted = request.params.max_tokens or self.usual_length(request)
        limit = min(wanted, self.context - max(lengths))
        again: list[Row] = []
        answers: list[Answer] = []
        streams = self.generate(rows, encoded, limit)
        for row, length, stream in zip(rows, lengths, streams, strict=True):
            room_alone = min(wanted, self.context - length)
            if isinstance(stream, RowError):
                answers.append((row.position, stream.response))
            elif stream.finish_reason == "length" and limit < room_alone:
                again.append(row)
            else:
                answers.append((row.position, self._response(row, stream, length)))
        # at once, so that the first answer need not wait for the last
        yield from answers
        if again:
            yield from self._answered(again, self.encode(again))

    def _response(
        self,
        row: Row,
        stream: TokenStream,
        length: int,
    ) -> Response:
        try:
            made = self.split(row.request, stream.ids)
        except RowError as error:
            return error.response
        _, idle = self.sampling(row.request).under(row.request.params)
        # A thought that the prompt has opened stays hidden even where it is cut off.
        parts = made.parts
        if row.text.rstrip().endswith(THOUGHT):
            parts = (text_part(THOUGHT), *parts)
        warnings = dict.fromkeys((*row.warnings, *idle, *made.warnings))
        return Response(
            Interleaved(parts),
            finish_reason=made.finish_reason or stream.finish_reason,
            usage=Usage(length, stream.used),
            warnings=tuple(warnings),
        )
