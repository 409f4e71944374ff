"""Encodes the prompts of rows as one batch of tensors, padded on the left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmeval.model_backends.hf.checkpoint.loading import part_for, tokenizer_of
from mmeval.model_backends.hf.conversation.messages import VideoFrames
from mmeval.model_backends.hf.conversation.rows import Encoded, Row


def encode_rows(processor: Any, rows: Sequence[Row]) -> Encoded:
    """Encode rows for the model. Errors of the processor are raised unchanged."""
    texts = [row.text for row in rows]
    tokenizer = tokenizer_of(processor)
    if processor is tokenizer:  # the template writes the opening tokens itself
        given = _padded() | {"add_special_tokens": False}
        return dict(tokenizer(texts, **given, return_token_type_ids=False))
    given = _padded()
    opening = tokenizer.bos_token
    if opening is not None and all(text.startswith(opening) for text in texts):
        given["add_special_tokens"] = False
    pictures = [row.chat.objects("image") for row in rows]
    films: list[VideoFrames] = []
    sounds = []
    for row in rows:
        films += row.chat.objects("video")
        sounds += row.chat.objects("audio")
    if any(pictures):
        given["images"] = pictures
    if films:
        described = []
        for film in films:
            count, height, width, _ = film.frames.shape
            # the library's metadata for frames that are chosen already
            described.append(
                {
                    "total_num_frames": count,
                    "fps": film.rate,
                    "duration": count / film.rate,
                    "frames_indices": list(range(count)),
                    "height": height,
                    "width": width,
                }
            )
        given["videos"] = [film.frames for film in films]
        given["video_metadata"] = described
        given["do_sample_frames"] = False
    if sounds:
        given["audio"] = sounds
        given["sampling_rate"] = part_for(processor, "audio").sampling_rate
        # Of the texts alone: some processors pad a sound to a fixed length, without
        # which the model fails.
        padding = {name: given.pop(name) for name in ("padding", "padding_side")}
        given["text_kwargs"] = padding
    return dict(processor(text=texts, **given))


def prompt_lengths(encoded: Encoded) -> list[int]:
    """Count the tokens of each row, without padding, with those of media."""
    lengths: list[int] = encoded["attention_mask"].sum(dim=1).tolist()
    return lengths


def placed(encoded: Encoded, model: Any) -> Encoded:
    """Move tensors to the model's device, media in its dtype; keep other values."""
    import torch

    found: dict[str, Any] = {}
    for name, value in encoded.items():
        if not isinstance(value, torch.Tensor):
            found[name] = value
            continue
        # a list of seconds keeps its digits
        wide = value.is_floating_point() and value.ndim > 1
        found[name] = value.to(model.device, model.dtype if wide else None)
    return found


def _padded() -> dict[str, Any]:
    """The arguments for padding, made for each call because the library changes
    them."""
    return {"padding": True, "padding_side": "left", "return_tensors": "pt"}
