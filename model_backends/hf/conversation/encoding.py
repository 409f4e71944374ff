"""Encodes the prompts of rows as one batch of tensors, padded on the left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmeval.model_backends.hf.checkpoint.loading import part_for, tokenizer_of
from mmeval.model_backends.hf.conversation.messages import VideoFrames
from mmeval.model_backends.hf.conversation.rows import Encoded, Row


def encode_rows(processor: Any, rows: Sequence[Row]) -> Encoded:
    """Encodes the prompts of rows. Errors of the processor are raised unchanged."""
    texts = [row.text for row in rows]
    tokenizer = tokenizer_of(processor)
    if processor is tokenizer:  # the template writes the opening tokens itself
        arguments = _padding_arguments() | {"add_special_tokens": False}
        return dict(tokenizer(texts, **arguments, return_token_type_ids=False))
    arguments = _padding_arguments()
    bos_token = tokenizer.bos_token
    if bos_token is not None and all(text.startswith(bos_token) for text in texts):
        arguments["add_special_tokens"] = False
    pictures = [row.chat.objects("image") for row in rows]
    videos: list[VideoFrames] = []
    sounds = []
    for row in rows:
        videos += row.chat.objects("video")
        sounds += row.chat.objects("audio")
    if any(pictures):
        arguments["images"] = pictures
    if videos:
        metadata = []
        for video in videos:
            count, height, width, _ = video.frames.shape
            # metadata in the library's form, because the frames are already chosen
            metadata.append(
                {
                    "total_num_frames": count,
                    "fps": video.rate,
                    "duration": count / video.rate,
                    "frames_indices": list(range(count)),
                    "height": height,
                    "width": width,
                }
            )
        arguments["videos"] = [video.frames for video in videos]
        arguments["video_metadata"] = metadata
        arguments["do_sample_frames"] = False
    if sounds:
        arguments["audio"] = sounds
        arguments["sampling_rate"] = part_for(processor, "audio").sampling_rate
        # only the texts are padded here: some processors pad a sound to a fixed length,
        # and the model fails without that length
        padding = {name: arguments.pop(name) for name in ("padding", "padding_side")}
        arguments["text_kwargs"] = padding
    return dict(processor(text=texts, **arguments))


def prompt_lengths(encoded: Encoded) -> list[int]:
    """Returns the number of tokens in each row, including media but not padding."""
    lengths: list[int] = encoded["attention_mask"].sum(dim=1).tolist()
    return lengths


def placed(encoded: Encoded, model: Any) -> Encoded:
    """Moves tensors to the model's device, and converts media to its dtype.

    Other values are not changed.
    """
    import torch

    moved: dict[str, Any] = {}
    for name, value in encoded.items():
        if not isinstance(value, torch.Tensor):
            moved[name] = value
            continue
        # a one-dimensional tensor, such as seconds, keeps its precision
        is_media = value.is_floating_point() and value.ndim > 1
        moved[name] = value.to(model.device, model.dtype if is_media else None)
    return moved


def _padding_arguments() -> dict[str, Any]:
    """Returns the arguments for padding.

    Each call returns a new dict, because the library changes it.
    """
    return {"padding": True, "padding_side": "left", "return_tensors": "pt"}
