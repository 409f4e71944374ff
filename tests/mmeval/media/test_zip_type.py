import io
import zipfile
from pathlib import Path

import pytest

from mmeval.media import zip_type
from mmeval.media.media import Media
from mmeval.media.zip_type import DOCX, ODS, PPTX, XLSX, ZIP, has_directory
from tests.support import tiny_media as tiny

OFFICE = "application/vnd.openxmlformats-officedocument."


def mime(data: bytes) -> str:
    return Media.from_bytes(data).mime


def with_entry(package: bytes, name: str, content: bytes) -> bytes:
    """The package with one more entry, uncompressed, first and last."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(file, "w") as new:
        new.writestr(f"first_{name}", content)
        for entry in old.namelist():
            new.writestr(entry, old.read(entry))
        new.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        (tiny.slides("<p:cSld/>"), PPTX),
        (tiny.word("a chart"), DOCX),
        (tiny.workbook({"a": ""}), XLSX),
        (tiny.open_workbook(""), ODS),
    ],
    ids=["slides", "words", "a workbook", "an open workbook"],
)
def test_a_file_inside_a_document_does_not_decide_what_the_document_is(
    package: bytes, expected: str
) -> None:
    inside = {
        "sheet.xlsx": tiny.workbook({"a": ""}),
        "deck.pptx": tiny.slides("<p:cSld/>"),
        "note.docx": tiny.word("note"),
    }
    for name, content in inside.items():
        assert mime(with_entry(package, name, content)) == expected


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (f"{OFFICE}wordprocessingml.document.main+xml", DOCX),
        ("application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml", PPTX),
        ("application/vnd.ms-excel.sheet.binary.macroEnabled.main", XLSX),
        (
            f"{OFFICE}presentationml.slideshow.main+xml",
            f"{OFFICE}presentationml.slideshow",
        ),
        (
            "application/vnd.ms-package.3dmanufacturing-3dmodel+xml",
            "model/3mf",
        ),
        ("application/xml", ZIP),
    ],
)
def test_the_content_type_of_the_main_part_decides(
    content_type: str, expected: str
) -> None:
    assert mime(tiny.with_types(content_type)) == expected


@pytest.mark.parametrize("types", ["", "<Types>", "<Types/>"])
def test_without_content_types_the_names_of_the_entries_decide(types: str) -> None:
    entries = {"[Content_Types].xml": types, "ppt/presentation.xml": ""}
    assert mime(tiny.packed(entries)) == PPTX


def test_words_about_an_office_file_do_not_make_a_zip_one() -> None:
    package = tiny.packed({"a.txt": "ppt/presentation.xml word/document"}, 0)
    assert mime(package) == ZIP


def test_a_zip_that_is_cut_short_has_no_directory() -> None:
    document = tiny.word("words")
    assert has_directory(io.BytesIO(document))
    for cut in (1, len(document) // 2):
        half = document[:-cut]
        assert mime(half) == ZIP
        assert not has_directory(io.BytesIO(half))


def test_a_directory_above_the_limit_is_not_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(zip_type, "MAX_DIRECTORY_BYTES", 200)
    many = tiny.zipped(*(f"entry{number}" for number in range(20)), "word/document.xml")
    path = tmp_path / "many.docx"
    path.write_bytes(many)
    assert Media.from_path(path).mime == ZIP
    with path.open("rb") as file:
        assert has_directory(file)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_content_types_packed_as_no_office_packs_them_are_not_unpacked(
    method: int,
) -> None:
    types = (
        f'<Types><Override ContentType="{OFFICE}presentationml.x.main+xml"/></Types>'
    )
    assert mime(tiny.packed({"[Content_Types].xml": types}, method)) == ZIP
