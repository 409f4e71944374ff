"""Finds the MIME type of a zip: an office document, another package, or a plain zip."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from typing import BinaryIO
from xml.parsers import expat

ZIP = "application/zip"
MAX_DIRECTORY_BYTES = 2**20
"""The maximum size of a zip's directory, and of its list of content types."""
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
"""Variants of types, each with the type whose reader also reads the variant."""
_MAIN_NAMES: Mapping[str, str] = {
    "word/document.xml": DOCX,
    "xl/workbook.xml": XLSX,
    "xl/workbook.bin": XLSX,
    "ppt/presentation.xml": PPTX,
}
"""The usual names of main parts, for a damaged package without content types."""
_MIMETYPE = "mimetype"
_MIMETYPE_FORMAT = re.compile(
    r"application/(?:vnd\.oasis\.opendocument\.[a-z-]+|epub\+zip)"
)
_MAX_MIMETYPE_BYTES = 100
_SCENES = (".usda", ".usdc", ".usd")
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def zip_mime(file: BinaryIO) -> str:
    """Returns the MIME type of a zip.

    The type is found from the zip's directory and its list of content types.

    Files inside, such as a workbook in a presentation, are ignored. Any other zip is
    ``application/zip``, and so is a zip whose directory is damaged or larger than
    ``MAX_DIRECTORY_BYTES``.
    """
    try:
        with zipfile.ZipFile(_BoundedReader(file)) as archive:
            return _package_mime(archive)
    except Exception:  # zipfile raises many errors for hostile bytes
        return ZIP


def has_directory(file: BinaryIO) -> bool:
    """Returns True if a zip has a directory, even one that is too large to read.

    A truncated zip has no directory, because the directory is at the end.
    """
    try:
        with zipfile.ZipFile(_BoundedReader(file)):
            return True
    except _TooLargeError:
        return True
    except Exception:  # zipfile raises many errors for hostile bytes
        return False


class _TooLargeError(Exception):
    """The error for a single read that is larger than the limit."""


class _BoundedReader:
    """A file that returns at most ``MAX_DIRECTORY_BYTES`` per read.

    This limit is needed because zipfile reads a directory of any declared size into
    memory.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        """Raises _TooLargeError if ``size`` is larger than the limit."""
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
        mimetype = _start_of(archive, _MIMETYPE, _MAX_MIMETYPE_BYTES).decode("ascii")
        if _MIMETYPE_FORMAT.fullmatch(mimetype.strip()):
            return mimetype.strip()
    for name, mime in _MAIN_NAMES.items():
        if name in names:
            return mime
    if names and names[0].endswith(_SCENES):
        return "model/vnd.usdz+zip"
    return ZIP


def _content_types(archive: zipfile.ZipFile, names: list[str]) -> list[str]:
    """Returns the content types of a package's parts, in order.

    The result is empty if the list of content types is damaged.
    """
    content_types: list[str] = []

    def add_type(_element: str, attributes: dict[str, str]) -> None:
        content_types.append(attributes.get("ContentType", ""))

    if _CONTENT_TYPES not in names:
        return content_types
    parser = expat.ParserCreate()
    parser.StartElementHandler = add_type
    try:
        listed = _start_of(archive, _CONTENT_TYPES, MAX_DIRECTORY_BYTES)
        parser.Parse(listed, True)
    except Exception:  # The entry is damaged, or its XML is malformed.
        return []
    return content_types


def _start_of(
    archive: zipfile.ZipFile,
    name: str,
    most: int,
) -> bytes:
    """Returns the first bytes of an entry. The rest is not unpacked."""
    # Other methods may allocate a dictionary of gigabytes.
    if archive.getinfo(name).compress_type not in _METHODS:
        raise ValueError("office documents do not use this compression method")
    with archive.open(name) as entry:
        return entry.read(most)
