"""The adapter for the embedded model.

The model reads all kinds, and writes all but 3D in one stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from itertools import groupby
from typing import Any

from mmeval.backend import Capabilities
from mmeval.errors import MissingExtraError
from mmeval.media import Media, Part, PartKind
from mmeval.media.decode import audio, image, page_count, video_info
from mmeval.model_backends.hf.adapters.chat import Answer, ChatAdapter
from mmeval.model_backends.hf.checkpoint.loading import load_weights
from mmeval.model_backends.hf.conversation.messages import InputSpec
from mmeval.model_backends.hf.conversation.rows import Row, RowAnswer
from mmeval.model_backends.hf.embedded.builder import (
    CODES,
    COLUMNS,
    ENDINGS,
    FENCE,
    FENCE_END,
    FRAME_COLUMNS,
    FRAME_ROWS,
    FRAMES,
    FRAMES_PER_SECOND,
    LINE_WORDS,
    MEDIA,
    OPENINGS,
    PICTURES,
    PROGRAMS,
    ROWS,
    RUNS,
    SOUNDS,
    WORDS,
)
from mmeval.model_backends.hf.generation.blocks import BrokenBlock
from mmeval.model_backends.hf.generation.interleaving import AnswerPiece, interleave
from mmeval.model_backends.hf.generation.media import to_film, to_picture, to_sound
from mmeval.records import Request

DIGITS = 8
"""Number of a digest's digits that the model reads instead of a medium."""
_DECODERS: Mapping[str, Callable[[Media], object]] = {
    "image": image,
    "audio": audio,
    "video": video_info,
}
"""Decoders by kind, which detect a damaged medium."""


class TinyAdapter(ChatAdapter):
    """Answers with one item of each requested kind, in the order of the request.

    If text is requested, a phrase comes before every other item and at the end of the
    answer. For example, the answer to ``text, image, audio`` is text, a picture, text,
    a sound and text. Instead of a medium, the model reads the first digits of the
    medium's digest.
    """

    @cached_property
    def capabilities(self) -> Capabilities:
        outputs = ["text", *(kind for kind in MEDIA if kind in RUNS)]
        # another package writes films
        if find_spec("av") is None:
            outputs.remove("video")
        return replace(
            Capabilities.of(["text", *MEDIA], outputs),
            options=frozenset(),
        )

    def load(self) -> None:
        import transformers

        super().load()
        settings = replace(self.settings, dtype="float32")
        folder = self.files.folder
        self._pictures = load_weights(
            replace(self.files, folder=folder / PICTURES),
            settings,
            transformers.Emu3VQVAE,
        )
        self._sounds = load_weights(
            replace(self.files, folder=folder / SOUNDS),
            settings,
            transformers.EncodecModel,
        )
        ids = self.tokenizer.get_vocab()
        token_groups = {
            "end": [self.tokenizer.eos_token],
            "ending": ENDINGS,
            "code": PROGRAMS,
            **CODES,
        }
        token_groups |= {
            f"before {kind}": phrases for kind, phrases in OPENINGS.items()
        }
        self._ids: dict[str, list[int]] = {}
        for name, tokens in token_groups.items():
            self._ids[name] = [ids[token] for token in tokens]
        self._kind_of: dict[int, PartKind] = {}
        for kind in RUNS:
            self._kind_of |= dict.fromkeys(self._ids[kind], kind)

    def read_input_spec(self, kinds: frozenset[PartKind]) -> InputSpec:
        return InputSpec(kinds, self.literals(), reader=_digits)

    def answer(self, requests: Sequence[Request]) -> Iterator[Answer]:
        import torch

        # the layers are so small that several threads would mostly wait for each other,
        # on a busy machine for seconds
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield from super().answer(requests)
        finally:
            torch.set_num_threads(threads)

    def logits_processors(self, rows: Sequence[Row]) -> list[Any]:
        places = answer_places(rows[0].request.wants)
        return [_PlaceMask([self._ids[place] for place in places])]

    def split(self, request: Request, ids: Sequence[int]) -> RowAnswer:
        answer_pieces = []
        for kind, run in groupby(ids, key=self._kind_of.get):
            answer_pieces.append(self._piece(kind or "text", list(run)))
        return interleave(answer_pieces, self.stops(request))

    def _piece(self, kind: PartKind, ids: Sequence[int]) -> AnswerPiece:
        if kind == "text":
            return self.text_of(ids)
        if kind == "code":
            raw = self.text_of(ids)
            code = raw.removeprefix(FENCE).removesuffix(FENCE_END)
            return Part("code", text=code, raw=raw)
        if len(ids) < RUNS[kind]:
            return BrokenBlock(
                f"a {kind} is cut off: it has {len(ids)} of {RUNS[kind]} codes",
                True,
                kind,
            )
        codes = [self._ids[kind].index(token) for token in ids]
        if kind == "document":
            return document(codes)
        return self._decoded(kind, codes)

    def _decoded(self, kind: PartKind, codes: Sequence[int]) -> Media:
        import torch

        row = torch.tensor(codes)
        with torch.inference_mode():
            if kind == "image":
                grid = row.to(self._pictures.device).view(1, ROWS, COLUMNS)
                return to_picture(self._pictures.decode(grid)[0], "-1..1")
            if kind == "video":
                grids = row.to(self._pictures.device)
                grids = grids.view(FRAMES, FRAME_ROWS, FRAME_COLUMNS)
                frames = self._pictures.decode(grids)
                return to_film(frames, FRAMES_PER_SECOND, "-1..1")
            played = self._sounds.decode(
                row.to(self._sounds.device).view(1, 1, 1, -1), [None]
            )
        return to_sound(played.audio_values, self._sounds.config.sampling_rate)


def document(codes: Sequence[int]) -> Media:
    """Returns a page of Markdown, with a title and a line for each six codes.

    >>> document([0, 8, 12, 1, 4, 9]).read().decode().strip()
    '# a hare sees the red tower'
    """
    words = [WORDS[code] for code in codes]
    starts = range(0, len(words), LINE_WORDS)
    lines = [" ".join(words[start : start + LINE_WORDS]) for start in starts]
    text = "\n\n".join(lines)
    return Media.from_bytes(f"# {text}\n".encode(), "page.md")


def answer_places(wants: Sequence[PartKind]) -> list[str]:
    """Returns the group of allowed tokens at each position of an answer.

    >>> answer_places(("text", "code"))
    ['before code', 'code', 'ending', 'end']
    """
    places: list[str] = []
    others = [kind for kind in wants if kind != "text"]
    for kind in others or wants:
        if "text" in wants and (places or wants[0] == "text"):
            places.append(f"before {kind}")
        places += [kind] * RUNS.get(kind, 0)
    if "text" in wants:
        places.append("ending")
    return [*places, "end"]


class _PlaceMask:
    """A logits processor that allows only certain tokens at each position.

    ``places`` contains a group of tokens for each token of the answer.
    """

    def __init__(self, places: Sequence[Sequence[int]]) -> None:
        self._places = iter(places)

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        allowed = next(self._places)
        masked = scores.new_full(scores.shape, -float("inf"))
        masked[:, allowed] = scores[:, allowed]
        return masked


def _digits(kind: str, media: Media) -> str:
    """Returns the tokens that the model reads for a medium.

    Raises ContentError for a damaged medium.
    """
    decode = page_count if media.mime == "application/pdf" else _DECODERS.get(kind)
    if decode is not None:
        # a decoder's package may be missing: the answer does not depend on the content
        with suppress(MissingExtraError):
            decode(media)
    digits = media.sha256[:DIGITS]
    return "".join(CODES[kind][int(digit, 16)] for digit in digits)
