import os
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mmeval.authoring.testing.media import small_media
from mmeval.model_backends.sandbox.limits import MIB, ProgramLimits
from mmeval.model_backends.sandbox.outputs import outputs_of


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_sound(file: Path, samples: int) -> None:
    with wave.open(str(file), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(48_000)
        sound.writeframes(bytes(samples))


def test_a_sound_that_needs_more_memory_than_the_program_had_is_left_out(
    tmp_path: Path,
) -> None:
    write_sound(tmp_path / "short.wav", samples=MIB)
    write_sound(tmp_path / "long.wav", samples=3 * MIB)
    with opened(tmp_path) as folder:
        outputs = outputs_of(folder, ProgramLimits(memory_mb=16))
    assert [part.kind for part in outputs.parts] == ["audio"]
    assert "max_audio_samples" in outputs.left_out[0]


def test_files_are_left_out_once_the_program_s_seconds_are_spent(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.png").write_bytes(small_media("image").read())
    with opened(tmp_path) as folder:
        outputs = outputs_of(folder, ProgramLimits(seconds=1e-9))
    assert outputs.parts == ()
    assert "number 1 on: decoding took more than 1e-09 seconds" in outputs.left_out[0]


@pytest.mark.parametrize("size", [100, 16 * MIB], ids=["small", "large"])
def test_decoding_a_file_may_take_no_more_than_the_program(size: int) -> None:
    limits = ProgramLimits(memory_mb=8).of_decoding(size, seconds=0.5)
    assert limits.step_bytes(size) <= 8 * MIB
    assert limits.step_seconds(size) <= 0.5
    assert limits.max_seconds <= 0.5


def test_what_was_decoded_is_not_kept_with_the_answer(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(small_media("image").read())
    with opened(tmp_path) as folder:
        [part] = outputs_of(folder, ProgramLimits()).parts
    assert part.media is not None
    assert part.media.memo == {}
