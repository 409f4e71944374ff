"""The MIME type of a zip: of an office document or another package, or a plain zip."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from typing import BinaryIO
from xml.parsers import expat

ZIP = "application/zip"
MAX_DIRECTORY_BYTES = 2**20
"""Of a zip's directory, and of its list of content types; Office writes far less."""
_OFFICE = "application/vnd.openxmlformats-officedocument."
DOCX = f"{_OFFICE}wordprocessingml.document"
XLSX = f"{_OFFICE}spreadsheetml.sheet"
PPTX = f"{_OFFICE}presentationml.presentation"
ODS = "application/vnd.oasis.opendocument.spreadsheet"

_CONTENT_TYPES = "[Content_Types].xml"
_MAIN_PART = re.compile(r"(application/.+)\.main(?:\+xml)?")
_PRINTED_MODEL = "application/vnd.ms-package.3dmanufacturing-3dmodel+xml"
_READ_ALIKE: Mapping[str, str] = {
    "application/vnd.ms-powerpoint.presentation.macroEnabled": PPTX,
    "application/vnd.ms-excel.sheet.macroEnabled": XLSX,
    "application/vnd.ms-excel.sheet.binary.macroEnabled": XLSX,
    "application/vnd.ms-excel.template.macroEnabled": XLSX,
    "application/vnd.ms-excel.addin.macroEnabled": XLSX,
    f"{_OFFICE}spreadsheetml.template": XLSX,
}
"""Variants that the reader of another type reads as well."""
_MAIN_NAMES: Mapping[str, str] = {
    "word/document.xml": DOCX,
    "xl/workbook.xml": XLSX,
    "xl/workbook.bin": XLSX,
    "ppt/presentation.xml": PPTX,
}
"""The usual names of main parts, for a damaged package without content types."""
_MIMETYPE = "mimetype"
_STATED = re.compile(r"application/(?:vnd\.oasis\.opendocument\.[a-z-]+|epub\+zip)")
_MOST_STATED_BYTES = 100
_SCENES = (".usda", ".usdc", ".usd")
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def zip_mime(file: BinaryIO) -> str:
    """The type by the zip's directory and its list of content types.

    What is stored inside, such as a workbook inside a presentation, has no influence.
    Any other zip is ``application/zip``, and so is one whose directory is damaged or
    larger than ``MAX_DIRECTORY_BYTES``.
    """
    try:
        with zipfile.ZipFile(_InPieces(file)) as archive:
            return _package_mime(archive)
    except Exception:  # zipfile raises errors of many kinds for hostile bytes
        return ZIP


def has_directory(file: BinaryIO) -> bool:
    """Whether a zip's directory can be read, or is too large to be read. A zip
    that is cut short has none: it stands at the end."""
    try:
        with zipfile.ZipFile(_InPieces(file)):
            return True
    except _TooLargeError:
        return True
    except Exception:  # zipfile raises errors of many kinds for hostile bytes
        return False


class _TooLargeError(Exception):
    """More is asked for at once than is read."""


class _InPieces:
    """A file that gives no more than ``MAX_DIRECTORY_BYTES`` at once.

    A zip states how large its directory is, and zipfile reads as much into memory.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        """Raises _TooLargeError where more is asked for."""
        if size > MAX_DIRECTORY_BYTES:
            raise _TooLargeError
        return self._file.read(MAX_DIRECTORY_BYTES if size < 0 else size)


def _package_mime(archive: zipfile.ZipFile) -> str:
    names = archive.namelist()
    for content_type in _content_types(archive, names):
        if content_type == _PRINTED_MODEL:
            return "model/3mf"
        main = _MAIN_PART.fullmatch(content_type)
        if main is not None:
            return _READ_ALIKE.get(main[1], main[1])
    if _MIMETYPE in names:
        stated = _start_of(archive, _MIMETYPE, _MOST_STATED_BYTES).decode("ascii")
        if _STATED.fullmatch(stated.strip()):
            return stated.strip()
    for name, mime in _MAIN_NAMES.items():
        if name in names:
            return mime
    if names and names[0].endswith(_SCENES):
        return "model/vnd.usdz+zip"
    return ZIP


def _content_types(archive: zipfile.ZipFile, names: list[str]) -> list[str]:
    """The content types of a package's parts in order; none where they are damaged."""
    found: list[str] = []

    def note(_element: str, attributes: dict[str, str]) -> None:
        found.append(attributes.get("ContentType", ""))

    if _CONTENT_TYPES not in names:
        return found
    parser = expat.ParserCreate()
    parser.StartElementHandler = note
    try:
        listed = _start_of(archive, _CONTENT_TYPES, MAX_DIRECTORY_BYTES)
        parser.Parse(listed, True)
    except Exception:  # of a damaged entry, or of XML that is not well-formed
        return []
    return found


def _start_of(
    archive: zipfile.ZipFile,
    name: str,
    most: int,
) -> bytes:
    """The first bytes of an entry, unpacked; no more are unpacked."""
    # other methods may ask for a dictionary of gigabytes
    if archive.getinfo(name).compress_type not in _METHODS:
        raise ValueError("office documents are not packed so")
    with archive.open(name) as entry:
        return entry.read(most)
