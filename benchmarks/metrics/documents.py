"""How long documents and the views of a video take to read, as ratios to something
simpler done to the same file.

A dense page of a PDF to Markdown, to drawing it for OCR; a workbook, to the standard
library's reading of its markup; the views of a film, to decoding it twice. There is no
goal: the bare work is not what has to be done, only work of the same file that a
machine does about as fast, so that a ratio that has grown says that reading has slowed.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import iterparse

from benchmarks.measuring import Figure, paired
from mmeval.content.media import Media
from mmeval.decode import DEFAULT_LIMITS, frame_count, office_blocks, pages
from mmeval.metrics.document.reading import OCR_DPI, document_markdown
from mmeval.metrics.video.views import views_of
from tests.support import documents

PAIRS = 7
ROWS, FRAMES = 10_000, 90


def film() -> bytes:
    """Noise that moves, at 1280 x 720."""
    import av
    import numpy as np

    file = io.BytesIO()
    base = np.random.default_rng(0).integers(0, 255, (720, 1280, 3), dtype=np.uint8)
    with av.open(file, "w", format="mp4") as out:
        # its class depends on the codec's name
        stream: Any = out.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
        for number in range(FRAMES):
            frame = av.VideoFrame.from_ndarray(
                np.roll(base, 7 * number, 1), format="rgb24"
            )
            frame.pts = number
            out.mux(stream.encode(frame))
        out.mux(stream.encode())
    return file.getvalue()


def page() -> bytes:
    """A dense page: 60 rows of 8 columns."""
    return documents.pdf_of(
        [
            (10 + 85 * (at % 8), 780 - 12 * (at // 8), f"cell {at}.5")
            for at in range(480)
        ]
    )


def book() -> bytes:
    rows = (
        documents.row(
            at, *(documents.number_in(f"{column}{at}", at / 7) for column in "ABCDEFGH")
        )
        for at in range(1, ROWS + 1)
    )
    return documents.workbook({"S": "".join(rows)})


def bare_markup(data: bytes) -> int:
    with (
        zipfile.ZipFile(io.BytesIO(data)) as archive,
        archive.open("xl/worksheets/1.xml") as sheet,
    ):
        count = 0
        for _, element in iterparse(sheet):
            count += 1
            if element.tag.endswith("row"):
                element.clear()
        return count


def figures(quick: bool) -> Iterator[Figure]:
    pdf, workbook, video = page(), book(), film()
    calls = {
        "a page of PDF to drawing it": (
            lambda: document_markdown(
                Media.from_bytes(pdf), DEFAULT_LIMITS, ocr="none"
            ),
            lambda: list(pages(Media.from_bytes(pdf), dpi=OCR_DPI)),
        ),
        "a workbook to its markup": (
            lambda: list(office_blocks(Media.from_bytes(workbook))),
            lambda: bare_markup(workbook),
        ),
        "views of a film to decoding it twice": (
            lambda: views_of(Media.from_bytes(video)),
            lambda: [frame_count(Media.from_bytes(video)) for _ in range(2)],
        ),
    }
    for name, (ours, bare) in calls.items():
        found = paired(ours, bare, 2 if quick else PAIRS)
        yield Figure(name, found.ratio, note=str(found))
