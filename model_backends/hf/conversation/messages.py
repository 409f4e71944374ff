"""Converts messages for a processor: texts and decoded media, in order.

Media are objects, not URLs, because the library would fetch a URL itself. The library
also drops unknown items without a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mmeval.backend import even_frames
from mmeval.errors import ContentError, MissingError, UsageError
from mmeval.media import Media, Part, PartKind
from mmeval.media.decode import DEFAULT_LIMITS, DecodeLimits, audio, image
from mmeval.model_backends.hf.checkpoint.loading import part_for
from mmeval.model_backends.hf.conversation.literals import Literals
from mmeval.model_backends.hf.failures import RowError
from mmeval.records import Message, Request
from mmeval.system.wording import listed

Item: TypeAlias = dict[str, Any]
"""An item such as ``{"type": "text", "text": str}``.

A picture is ``{"type": "image", "image": object}``; sounds and videos have the same
form. The objects are ``Any``, because they belong to PIL and numpy.
"""

MIN_SIDE = 4
"""Minimum side in pixels. Processors mistake a shorter side for the channels."""
MIN_SECONDS = 0.1
"""Minimum duration in seconds.

Some feature extractors do not find a frame in a shorter sound.
"""
VIDEO_FRAMES = 16
"""Number of frames that are sampled evenly from a video."""


@dataclass(frozen=True, eq=False)
class InputSpec:
    """The input kinds of a model, and the required form of its media.

    ``sound_rate`` is in Hz, ``longest_sound`` in seconds (0: unknown), ``least_side``
    in pixels. ``reader(kind, medium)`` returns the item for a medium that must not be
    decoded.
    """

    kinds: frozenset[PartKind]
    literals: Literals = field(default_factory=lambda: Literals(()))
    sound_rate: int = 16000
    longest_sound: float = 0.0
    least_side: int = MIN_SIDE
    limits: DecodeLimits = DEFAULT_LIMITS
    reader: Callable[[str, Media], Any] | None = None

    @classmethod
    def of(
        cls, processor: Any, kinds: frozenset[PartKind], literals: Literals
    ) -> InputSpec:
        """Returns the specification from a processor's settings.

        Raises UsageError for kinds that the processor cannot read.
        """
        unreadable = []
        for kind in sorted(kinds - {"text", "code"}):
            if kind not in _DECODERS or not part_for(processor, kind):
                unreadable.append(kind)
        if unreadable:
            raise UsageError(
                "inputs: this model's processor cannot read "
                f"{' or '.join(unreadable)} (videos need torchvision); remove it from "
                "inputs, or convert it with convert=..."
            )
        pictures, sounds = part_for(processor, "image"), part_for(processor, "audio")
        side = 0
        patch = getattr(pictures, "patch_size", 0)
        merge = getattr(pictures, "merge_size", 0)
        if isinstance(patch, int) and isinstance(merge, int):
            side = patch * merge
        rate = int(getattr(sounds, "sampling_rate", 0) or cls.sound_rate)
        longest = (getattr(sounds, "n_samples", 0) or 0) / rate
        return cls(kinds, literals, rate, longest, max(MIN_SIDE, side))


@dataclass(frozen=True, eq=False)
class VideoFrames:
    """A video for a model.

    ``frames`` are uint8 of shape (n, height, width, 3), at ``rate`` frames per second.
    """

    frames: Any
    rate: float


@dataclass(frozen=True, eq=False)
class Chat:
    """A conversation.

    Each message has a ``role`` and a list of items as ``content``.
    """

    messages: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...] = ()

    def objects(self, kind: str) -> list[Any]:
        """Returns the media of one kind in all messages, in order.

        ``kind`` is ``image``, ``audio`` or ``video``.
        """
        objects = []
        for message in self.messages:
            objects += [
                item[kind] for item in message["content"] if item["type"] == kind
            ]
        return objects


def to_chat(request: Request, input_spec: InputSpec) -> Chat:
    """Converts the messages of a request to a conversation.

    Raises RowError for an unsupported or damaged part, and for an empty prompt.
    """
    writer = _ItemWriter(input_spec)
    messages = []
    is_empty = True
    for message in request.messages:
        items = writer.items(message)
        messages.append({"role": message.role, "content": items})
        for item in items:
            if item["type"] != "text" or item["text"].strip():
                is_empty = False
    if is_empty:
        raise RowError(
            "bad_request",
            "the prompt is empty: it contains neither text nor media; check the "
            "sample's input",
        )
    return Chat(tuple(messages), tuple(dict.fromkeys(writer.warnings)))


class _ItemWriter:
    """Writes the items of one request, and collects its warnings."""

    def __init__(self, input_spec: InputSpec) -> None:
        self._input_spec = input_spec
        self.warnings: list[str] = []

    def items(self, message: Message) -> list[Item]:
        """Returns the items of a message.

        Neighbouring texts are joined, because some templates put separators between
        them.
        """
        items: list[Item] = []
        for part in message.content.parts:
            if part.media is not None:
                items.append(self._medium(part, part.media))
            elif items and items[-1]["type"] == "text":
                items[-1]["text"] += words_of(part)
            elif words_of(part):
                items.append({"type": "text", "text": words_of(part)})
        for item in items:
            if item["type"] != "text":
                continue
            item["text"], control_tokens = self._input_spec.literals.neutral(
                item["text"]
            )
            if control_tokens:
                self.warnings.append(
                    "control tokens in the text were converted to plain text: "
                    f"{listed(control_tokens, 3)}"
                )
        return items or [{"type": "text", "text": ""}]

    def _medium(self, part: Part, media: Media) -> Item:
        reader = self._input_spec.reader
        is_readable = reader is not None or part.kind in _DECODERS
        if part.kind not in self._input_spec.kinds or not is_readable:
            raise RowError("unsupported", f"this model does not support {part.kind}")
        try:
            if reader is not None:
                content = reader(part.kind, media)
            else:
                content = _DECODERS[part.kind](self, media)
            return {"type": part.kind, part.kind: content}
        except ContentError as error:
            raise RowError(
                "bad_request", f"the prompt's {part.kind} cannot be used: {error}"
            ) from None
        except MissingError as error:
            raise RowError(
                "internal", f"the prompt's {part.kind} cannot be read: {error}"
            ) from None

    def _picture(self, media: Media) -> Any:
        """Returns a PIL image in RGB mode. Transparent pixels become white."""
        picture = image(media, limits=self._input_spec.limits)
        if picture.mode == "RGBA":
            from PIL import Image

            white = Image.new("RGBA", picture.size, "white")
            picture = Image.alpha_composite(white, picture)
        return self._enlarged(picture.convert("RGB"))

    def _enlarged(self, picture: Any) -> Any:
        min_side, short_side = self._input_spec.least_side, min(picture.size)
        if short_side >= min_side:
            return picture
        size = tuple(
            max(min_side, round(side * min_side / short_side)) for side in picture.size
        )
        self.warnings.append(
            f"a picture of {picture.width}x{picture.height} pixels was enlarged to "
            f"{size[0]}x{size[1]}, the minimum of this model"
        )
        return picture.resize(size, 0)  # 0: nearest neighbour, which adds no colours

    def _sound(self, media: Media) -> Any:
        """Returns float32 samples of shape (n,): one channel at the model's rate."""
        import numpy

        sound = audio(media, limits=self._input_spec.limits)
        rate, longest = self._input_spec.sound_rate, self._input_spec.longest_sound
        if longest and sound.seconds > longest:
            self.warnings.append(
                f"a sound is {sound.seconds:.1f} s long, but this model may process "
                f"only the first {longest:.0f} s"
            )
        mono = sound.samples.mean(axis=1, dtype=numpy.float32)
        if sound.rate != rate:
            import soxr

            mono = soxr.resample(mono, sound.rate, rate)
        missing = int(MIN_SECONDS * rate) - len(mono)
        if missing > 0:
            self.warnings.append(
                f"a sound of {sound.seconds * 1000:.1f} ms was padded with silence to "
                "100 ms"
            )
            mono = numpy.pad(mono, (0, missing))
        return numpy.ascontiguousarray(mono, dtype=numpy.float32)

    def _video(self, media: Media) -> VideoFrames:
        """Samples frames evenly from a video. All frames have the same size."""
        import numpy
        from PIL import Image

        frames = even_frames(media, VIDEO_FRAMES, limits=self._input_spec.limits)
        pictures = [self._enlarged(Image.fromarray(frame.rgb)) for frame in frames]
        # the frame size may change within a video
        pictures = [picture.resize(pictures[0].size) for picture in pictures]
        span = frames[-1].time - frames[0].time
        rate = (len(frames) - 1) / span if span else 1.0
        return VideoFrames(
            numpy.stack([numpy.asarray(picture) for picture in pictures]), rate
        )


_DECODERS: Mapping[str, Any] = {
    "image": _ItemWriter._picture,
    "audio": _ItemWriter._sound,
    "video": _ItemWriter._video,
}


def words_of(part: Part) -> str:
    """Returns the text of a part without a medium.

    The text is empty for hidden reasoning. For a missing medium, the text is the
    medium's placeholder.
    """
    if part.kind == "reasoning":
        return ""
    return part.raw if part.text is None else part.text
