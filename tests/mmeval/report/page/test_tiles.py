from pathlib import Path
from typing import Any

import pytest

from mmeval.media.media import Media
from mmeval.report.page.previews import PEAKS, Previews
from mmeval.report.page.tiles import MAX_LINES, MAX_TEXT, first_lines, tile
from tests.support import tiny_media

TEXT = {"kind": "text", "text": "A cat on a mat."}
PICTURE = {"kind": "image", "label": "image1", "src": "../a.png", "sha256": "ab"}
SOUND = {"kind": "audio", "name": "a.wav", "src": "../a.wav", "sha256": "cd"}
PAGES = {"kind": "document", "pages": ["media/1.png"], "src": "", "sha256": "ef"}
MESH = {"kind": "3d", "mesh": "media/2.js", "src": "", "sha256": "01", "label": "3d1"}
LOST = {"kind": "image", "dangling": True, "label": "image2"}
THOUGHT = {"kind": "reasoning", "text": "I think."}


def of(*parts: dict[str, Any], error: dict[str, str] | None = None) -> dict[str, Any]:
    return tile(list(parts), list(parts), error, lambda _: "059")


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([], {}),
        ([TEXT], {"text": "A cat on a mat."}),
        ([THOUGHT, TEXT], {"text": "A cat on a mat."}),
        (
            [{"kind": "code", "text": "x = 1"}],
            {"text": "x = 1", "is_code": True},
        ),
        (
            [TEXT, PICTURE, PICTURE, {"kind": "text", "text": " And a dog."}],
            {
                "text": "A cat on a mat. [image] [image] And a dog.",
                "medium": {"kind": "image", "name": "image1", "src": "../a.png"},
                "more": 1,
            },
        ),
        (
            [SOUND],
            {
                "medium": {
                    "kind": "audio",
                    "name": "a.wav",
                    "src": "../a.wav",
                    "peaks": "059",
                }
            },
        ),
        ([PAGES], {"medium": {"kind": "document", "src": "media/1.png"}}),
        ([MESH], {"medium": {"kind": "3d", "name": "3d1"}}),
        (
            [LOST],
            {
                "medium": {
                    "kind": "image",
                    "name": "image2",
                    "note": "placeholder without its file",
                }
            },
        ),
    ],
    ids=[
        "an empty answer",
        "text",
        "reasoning is left out",
        "code",
        "text and two pictures",
        "sound",
        "pages",
        "3D",
        "a placeholder",
    ],
)
def test_a_tile_has_the_first_lines_and_the_first_medium(
    parts: list[dict[str, Any]], shown: dict[str, Any]
) -> None:
    assert of(*parts) == shown


def test_the_tile_of_a_failed_trial_has_its_error() -> None:
    error = {"kind": "timeout", "message": "no answer within 120 s"}
    shown = tile(None, None, error, lambda _: "")
    assert shown == {"error": "timeout: no answer within 120 s"}


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("a", "a"),
        ("\n a\n", "a"),
        ("b" * (MAX_TEXT + 1), "b" * MAX_TEXT + "…"),
        ("c\n" * (MAX_LINES + 1), "\n".join("c" * MAX_LINES) + "…"),
    ],
    ids=["whole", "space around it", "long", "many lines"],
)
def test_an_ellipsis_marks_that_a_text_continues(text: str, start: str) -> None:
    assert first_lines(text) == start


def waveform(folder: Path, data: bytes, *, seconds: float | None = None) -> str:
    (folder / "new").mkdir(exist_ok=True)
    previews = Previews(folder / "new", folder / "before", seconds=seconds)
    return previews.waveform(Media.from_bytes(data, "a.wav"))


def test_a_waveform_has_a_peak_for_each_piece_of_a_sound(tmp_path: Path) -> None:
    peaks = waveform(tmp_path, tiny_media.wav(8_000))
    assert len(peaks) == PEAKS
    assert max(peaks) == "9"


def test_a_sound_that_cannot_be_decoded_has_no_waveform(tmp_path: Path) -> None:
    assert waveform(tmp_path, b"RIFF0000WAVE") == ""


def test_without_time_a_sound_has_no_waveform(tmp_path: Path) -> None:
    assert waveform(tmp_path, tiny_media.wav(), seconds=0) == ""
