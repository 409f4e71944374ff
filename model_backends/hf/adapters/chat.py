"""The adapter for chat models, which is the base class of the family adapters."""

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
    log_left_out,
    read_generation,
    stop_criterion,
)
from mmeval.records import Request, Response, Usage

_log = logging.getLogger(__name__)

Answer: TypeAlias = tuple[int, Response]

THOUGHT = "<think>"
"""The tag that opens hidden reasoning.

Some chat templates write this tag at the end of the prompt.
"""


class ChatAdapter(Adapter):
    """Runs any chat model that reads text or media and writes text.

    A subclass implements another protocol by overriding steps. These steps run once, in
    this order: ``load_processor``, ``literals``, ``read_input_spec``, ``load_model``.
    These steps run for each batch: ``row`` (request to prompt), ``encode`` (prompts to
    tensors), ``generate`` (tensors to token streams; with ``sampling``,
    ``usual_length``, ``logits_processors`` and ``generation_arguments``), ``split``
    (stream to parts). ``row``, ``encode`` and ``split`` may raise RowError for one row.
    The other rows continue.

    ``load`` sets ``processor``, ``tokenizer``, ``template``, ``input_spec``, ``model``
    and ``generation`` (the checkpoint's generation settings). Attributes for which each
    model has its own class have the type ``Any``.
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
                "%s runs without videos, because torchvision is not installed: run "
                "pip install torchvision, or send videos as pictures with "
                "convert='video->frames'",
                self.files.name,
            )
        capabilities = Capabilities.of(["text", *kinds], ["text"], "single")
        return replace(capabilities, options=frozenset())

    def load(self) -> None:
        self.processor = self.load_processor()
        self.tokenizer = tokenizer_of(self.processor)
        self.template = template_of(
            self.processor, self.files, self.settings.chat_template_args
        )
        inputs = overridden(self.capabilities, self.settings).inputs
        self.input_spec = self.read_input_spec(frozenset(inputs))
        self.model = self.load_model()
        if getattr(self.model.config, "is_encoder_decoder", False):
            raise UsageError(
                f"{self.files.name}: encoder-decoder models are not supported; choose "
                "a decoder-only model"
            )
        self.generation = read_generation(self.model, self.tokenizer)
        log_left_out(self.files.name, self.generation)
        self._stop_criterion = lru_cache(maxsize=8)(
            partial(stop_criterion, self.tokenizer)
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

    # --- steps that a family may override ---------------------------------------------

    def load_processor(self) -> Any:
        """Returns the processor (for a text model, its tokenizer) with the template."""
        return load_processor(self.files, self.settings)

    def load_model(self) -> Any:
        """Loads the model with the library's class for it."""
        return load_weights(self.files, self.settings)

    def literals(self) -> Literals:
        """Returns the control tokens that must stay plain text in a prompt."""
        return literals_of(self.processor)

    def read_input_spec(self, kinds: frozenset[PartKind]) -> InputSpec:
        """Returns the specification of the media in a prompt.

        Raises UsageError for kinds that the processor cannot read.
        """
        return InputSpec.of(self.processor, kinds, self.literals())

    def row(self, position: int, request: Request) -> Row:
        """Converts a request to a prompt. Raises RowError for an invalid request."""
        chat = to_chat(request, self.input_spec)
        text, warnings = self.template.text(chat)
        return Row(position, request, chat, text, (*chat.warnings, *warnings))

    def encode(self, rows: Sequence[Row]) -> Encoded:
        """Converts prompts to tensors, padded on the left.

        An error in one row affects only that row.
        """
        return encode_rows(self.processor, rows)

    def logits_processors(self, rows: Sequence[Row]) -> list[Any]:  # noqa: ARG002  overriding methods use it
        """Returns logits processors, such as a grammar.

        Each one is a function ``(input_ids, scores) -> scores``.
        """
        return []

    def sampling(self, request: Request) -> Sampling:  # noqa: ARG002  overriding methods use it
        """Returns the default sampling of a request, which the checkpoint sets."""
        return self.generation.sampling

    def usual_length(self, request: Request) -> int:  # noqa: ARG002  overriding methods use it
        """Returns the default maximum number of tokens in an answer."""
        return self.generation.max_tokens

    def generation_arguments(self, request: Request) -> dict[str, Any]:
        """Returns more arguments of the library's ``generate``.

        They apply to all rows with the request's ``wants`` and ``params``.
        """
        stop = self.stops(request)
        criterion = self._stop_criterion(stop) if stop else None
        return {"stopping_criteria": [StopWords(criterion)]} if criterion else {}

    def generate(
        self, rows: Sequence[Row], encoded: Encoded, max_new_tokens: int
    ) -> list[TokenStream | RowError]:
        """Returns the model's output or the error for each row, in their order."""
        import torch

        request = rows[0].request
        sampler = self.sampler(rows)
        with torch.inference_mode():
            tensors = placed(encoded, self.model)
            output = self.model.generate(
                **tensors,
                max_new_tokens=max_new_tokens,
                logits_processor=[*self.logits_processors(rows), sampler],
                **self.generation_arguments(request),
            )
        if sampler.ignored:
            return [RowError("internal", IGNORED) for _ in rows]
        generated = output[:, tensors["input_ids"].shape[1] :].tolist()
        broken_error = broken_row(self.model.dtype)
        streams: list[TokenStream | RowError] = []
        for ids, broken in zip(generated, sampler.broken, strict=True):
            streams.append(
                broken_error if broken else cut(ids, self.generation, max_new_tokens)
            )
        return streams

    def split(self, request: Request, ids: Sequence[int]) -> RowAnswer:
        """Converts a stream of tokens to the parts of an answer."""
        text = self.text_of(ids)
        places = [text.find(word) for word in self.stops(request)]
        ends = [place for place in places if place >= 0]
        parts = Interleaved.from_text(text[: min(ends, default=None)]).parts
        return RowAnswer(parts, finish_reason="stop" if ends else None)

    # --- steps that are the same for all families -------------------------------------

    def stops(self, request: Request) -> tuple[str, ...]:
        """Returns the stop strings of the request and of the checkpoint."""
        return (*request.params.stop, *self.generation.stop)

    def text_of(self, ids: Sequence[int]) -> str:
        """Converts tokens to text.

        Control tokens are removed, except those around hidden reasoning.
        """
        runs = groupby(ids, key=self._reasoning_tokens.__contains__)
        decode = partial(self.tokenizer.decode, clean_up_tokenization_spaces=False)
        text = ""
        for is_reasoning_token, run in runs:
            text += decode(list(run), skip_special_tokens=not is_reasoning_token)
        return text

    @cached_property
    def _reasoning_tokens(self) -> frozenset[int]:
        """The control tokens that mark hidden reasoning, such as ``[THINK]``."""
        added = getattr(self.tokenizer, "added_tokens_decoder", {})
        ids = []
        for number, token in added.items():
            if token.special and "think" in token.content.lower():
                ids.append(number)
        return frozenset(ids)

    def sampler(self, rows: Sequence[Row]) -> RowSampler:
        """Returns the last logits processor.

        It samples each row's tokens with that row's seed.
        """
        request = rows[0].request
        sampling, _ = self.sampling(request).overridden_by(request.params)
        end = self.generation.ends[0] if self.generation.ends else 0
        return RowSampler([row.request.seed for row in rows], sampling, end)

    @property
    def context(self) -> int:
        """The maximum number of tokens in prompt and answer together.

        The number is huge if the context is unknown.
        """
        context = self.generation.context or 1 << 40
        return min(self.settings.max_length or context, context)

    def _check(self, request: Request) -> None:
        """Raises RowError for invalid parameters."""
        if "" in request.params.stop:
            raise RowError(
                "bad_request",
                "stop contains an empty string, which would end every answer at once",
            )
        self.sampling(request).overridden_by(request.params)
        if request.params.max_tokens is not None and request.params.max_tokens < 1:
            raise RowError(
                "bad_request",
                f"max_tokens must be at least 1, not {request.params.max_tokens}",
            )

    def _encoded(
        self, rows: Sequence[Row]
    ) -> Generator[Answer, None, tuple[list[Row], Encoded]]:
        """Encodes rows. Returns the rows that fit the context, with their tensors.

        Yields the errors of the other rows.
        """
        if not rows:
            return [], {}
        try:
            encoded = self.encode(rows)
        # a processor may raise any error for a prompt that it does not support
        except Exception as error:
            if is_out_of_memory(error):
                raise
            if len(rows) == 1:
                row_error = RowError(
                    "bad_request",
                    "the model's processor cannot encode this prompt "
                    f"({in_a_line(error)})",
                )
                if isinstance(error, RowError):
                    row_error = error
                yield rows[0].position, row_error.response
                return [], {}
            good: list[Row] = []
            for row in rows:
                encodable, _ = yield from self._encoded([row])
                good += encodable
            return good, self.encode(good) if good else {}
        fitting = []
        for row, length in zip(rows, prompt_lengths(encoded), strict=True):
            if length < self.context:
                fitting.append(row)
            else:
                text = (
                    f"the prompt has {length} tokens, but the maximum for prompt and "
                    f"answer together is {self.context}"
                )
                yield row.position, Response.failed("too_long", text)
        if len(fitting) == len(rows) or not fitting:
            return fitting, encoded
        return fitting, self.encode(fitting)

    def _answered(self, rows: Sequence[Row], encoded: Encoded) -> Iterator[Answer]:
        """Yields the answers of rows that fit the context.

        If an answer was cut only because another row of the batch is longer, its row
        runs again without that row. Each row is therefore answered as if it were alone.
        """
        lengths = prompt_lengths(encoded)
        request = rows[0].request
        max_tokens = request.params.max_tokens or self.usual_length(request)
        limit = min(max_tokens, self.context - max(lengths))
        cut_rows: list[Row] = []
        answers: list[Answer] = []
        streams = self.generate(rows, encoded, limit)
        for row, length, stream in zip(rows, lengths, streams, strict=True):
            limit_alone = min(max_tokens, self.context - length)
            if isinstance(stream, RowError):
                answers.append((row.position, stream.response))
            elif stream.finish_reason == "length" and limit < limit_alone:
                cut_rows.append(row)
            else:
                answers.append((row.position, self._response(row, stream, length)))
        # yielded now, so that these answers do not wait for the repeated rows
        yield from answers
        if cut_rows:
            yield from self._answered(cut_rows, self.encode(cut_rows))

    def _response(
        self,
        row: Row,
        stream: TokenStream,
        length: int,
    ) -> Response:
        try:
            answer = self.split(row.request, stream.ids)
        except RowError as error:
            return error.response
        _, unused = self.sampling(row.request).overridden_by(row.request.params)
        # reasoning that the prompt opened remains hidden, even if it is cut off
        parts = answer.parts
        if row.text.rstrip().endswith(THOUGHT):
            parts = (text_part(THOUGHT), *parts)
        warnings = dict.fromkeys((*row.warnings, *unused, *answer.warnings))
        return Response(
            Interleaved(parts),
            finish_reason=answer.finish_reason or stream.finish_reason,
            usage=Usage(length, stream.used),
            warnings=tuple(warnings),
        )
