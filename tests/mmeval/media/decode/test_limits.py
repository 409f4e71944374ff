from dataclasses import asdict

from mmeval.media import media_type, placeholders, zip_type
from mmeval.media.decode import (
    apart,
    check,
    code,
    container_header,
    memo,
    picture_header,
    svg,
)
from mmeval.media.decode.limits import DecodeLimits

MIB = 2**20


def test_the_limits_are_the_documented_ones() -> None:
    assert asdict(DecodeLimits()) == {
        "max_bytes": 512 * MIB,
        "max_pixels": 36_000_000,
        "max_drawn_pixels": 12_000_000,
        "max_pages": 500,
        "max_audio_seconds": 3600,
        "max_audio_samples": 200_000_000,
        "max_video_frames": 100_000,
        "max_video_pixels": 9_437_184,
        "max_mesh_vertices": 2_000_000,
        "max_mesh_faces": 4_000_000,
        "max_text_chars": 20_000_000,
        "max_seconds": 120,
        "max_step_seconds": 1.25,
        "max_step_bytes": 184 * MIB,
    }
    assert svg.MAX_SVG_BYTES == 8 * MIB
    assert (
        picture_header.MAX_SCANS,
        picture_header.MAX_PIECES,
        container_header.MAX_EDITS,
    ) == (200, 100_000, 1000)
    assert apart.IDLE_SECONDS == 60
    assert check.SECONDS == 60
    assert memo.MAX_KEPT_BYTES == 64 * MIB
    assert code.MAX_TOKENS == 5000
    assert (
        media_type.SNIFF_BYTES,
        zip_type.MAX_DIRECTORY_BYTES,
        media_type.MAX_BOXES,
    ) == (4096, MIB, 10_000)
    assert placeholders.MAX_INDEX_DIGITS == 9


def test_larger_files_have_more_time_and_memory() -> None:
    limits = DecodeLimits()
    assert (limits.step_seconds(4 * MIB), limits.step_seconds(6 * MIB)) == (1.25, 2.25)
    assert (limits.step_bytes(4 * MIB), limits.step_bytes(4 * MIB + 1)) == (
        184 * MIB,
        184 * MIB + 24,
    )
