import hashlib
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from mmeval.media import decode
from mmeval.media.media import Media, stored_path
from mmeval.report.page.code import Colours
from mmeval.report.page.parts import PartWriter
from mmeval.report.page.places import Places
from mmeval.report.page.previews import NO_TIME, Previews
from tests.support import tiny_media
from tests.support.readers import called

SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" '
    b'height="8"/></svg>'
)
TEXT = b"<script>" + b"x" * 30_000


def writer(tmp_path: Path, *, seconds: float | None = None) -> PartWriter:
    new = tmp_path / "new"
    new.mkdir(exist_ok=True)
    previews = Previews(new, tmp_path / "before", seconds=seconds)
    return PartWriter(
        Places(tmp_path / "run", tmp_path / "run" / "report", new, copy=False),
        previews,
        Colours(),
    )


def part(
    tmp_path: Path, kind: str, data: bytes, name: str = "", **more: Any
) -> dict[str, Any]:
    """A part with a medium that the run keeps, as the page gets it."""
    media = Media.from_bytes(data, name)
    file = stored_path(tmp_path / "run" / "media", media.sha256, media.mime)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    record = {
        "sha256": media.sha256,
        "mime": media.mime,
        "size": len(data),
        "name": name,
    }
    return writer(tmp_path, **more).part(
        {"type": kind, "media": record, "label": f"{kind}1"}
    )


@pytest.mark.parametrize(
    ("kind", "data", "name", "shown"),
    [
        ("image", tiny_media.picture(), "ab" * 32 + ".png", ""),
        ("audio", tiny_media.wav(), "ab" * 16, ""),
        ("video", tiny_media.clip(), "a.bin", "a.bin"),
    ],
    ids=["a picture named by its digest", "a sound likewise", "a video"],
)
def test_what_a_browser_shows_has_address_and_name(
    kind: str, data: bytes, name: str, shown: str, tmp_path: Path
) -> None:
    found = part(tmp_path, kind, data, name)
    assert found["src"].startswith(f"../media/{found['sha256'][:2]}/{found['sha256']}.")
    assert (found["note"], found["label"], found["name"]) == ("", f"{kind}1", shown)


def test_a_placeholder_without_its_medium_is_dangling(tmp_path: Path) -> None:
    shown = writer(tmp_path).part(
        {"type": "image", "raw": "<<image3>>", "label": "image3"}
    )
    assert shown["dangling"]
    assert (shown["label"], shown["raw"]) == ("image3", "<<image3>>")


def test_svg_pages_and_meshes_are_drawn_before_the_browser(tmp_path: Path) -> None:
    shown = part(tmp_path, "image", SVG)
    assert shown["src"] == f"media/{hashlib.sha256(SVG).hexdigest()}.png"
    assert (tmp_path / "new" / shown["src"]).read_bytes().startswith(b"\x89PNG")
    shown = part(tmp_path, "3d", tiny_media.glb())
    sha256, mesh = called(tmp_path / "new" / shown["mesh"], "mesh")
    assert sha256 == shown["sha256"]
    assert mesh["vertices"]


def test_a_mesh_in_json_is_drawn_like_a_binary_one(tmp_path: Path) -> None:
    shown = part(tmp_path, "3d", tiny_media.gltf(), "a.gltf")
    _, mesh = called(tmp_path / "new" / shown["mesh"], "mesh")
    assert mesh["box"] == [[0, 0, 0], [1, 1, 0]]


def test_the_first_pages_of_a_document_are_pictures_which_the_next_report_takes_over(
    tmp_path: Path,
) -> None:
    assert part(tmp_path, "document", tiny_media.pdf(), seconds=0.0)["note"] == NO_TIME
    first = part(tmp_path, "document", tiny_media.pdf())
    assert first["page_count"] >= 1
    assert all(
        (tmp_path / "new" / page).read_bytes().startswith(b"\x89PNG")
        for page in first["pages"]
    )
    (tmp_path / "new").rename(tmp_path / "before")
    again = part(tmp_path, "document", tiny_media.pdf(), seconds=0.0)
    assert again["pages"] == first["pages"]
    assert (tmp_path / "new" / again["pages"][0]).exists()


def test_the_beginning_of_a_text_document_is_shown(tmp_path: Path) -> None:
    shown = part(tmp_path, "document", TEXT, "a.txt")
    assert shown["text"].startswith("<script>")
    assert "first 20,000 " in shown["note"]
    assert "30,008" in shown["note"]


def png_of(width: int, height: int) -> bytes:
    """The beginning of a PNG that declares a size."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    checked = header + struct.pack(">I", zlib.crc32(header))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + checked + b"\0\0\0\1IDAT"


@pytest.mark.parametrize(
    ("kind", "data", "note"),
    [
        ("image", tiny_media.wav(), "audio/wav"),
        ("document", b"PK\x03\x04" + b"\0" * 40, "application/zip"),
        ("image", png_of(60_000, 60_000), "limit"),
        ("document", b"%PDF-1.7 and nothing else", ""),
        ("3d", b"ply\nformat ascii 1.0\n", ""),
        ("image", b"<svg></sv", ""),
    ],
    ids=["another kind", "no medium", "large png", "bad pdf", "bad ply", "bad svg"],
)
def test_a_medium_that_is_not_shown_has_its_reason(
    kind: str, data: bytes, note: str, tmp_path: Path
) -> None:
    shown = part(tmp_path, kind, data)
    assert shown.get("src", "") == ""
    assert shown["note"]
    assert note in shown["note"]


def test_a_medium_whose_decoder_fails_in_its_own_way_has_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise IndexError("index 2 is out of bounds")

    monkeypatch.setattr(decode, "mesh_arrays", broken)
    assert "out of bounds" in part(tmp_path, "3d", tiny_media.PLAIN_OBJ)["note"]
