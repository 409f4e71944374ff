"""Finds words in pictures with rapidocr, whose networks come with the package."""

from __future__ import annotations

import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.errors import MissingDataError
from mmeval.media.decode import TextBox
from mmeval.system import need

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

OCR_NEEDS = ("rapidocr:ocr", "onnxruntime:ocr")
MAX_SIDE = 2000
"""Pixels a side. A larger picture is reduced first."""
MAX_ASPECT = 4
"""The largest ratio of the sides. A longer picture is padded with white, since the
engine enlarges pictures until the shorter side has 736 pixels."""
MAX_LINES = 1000
"""The most lines of one picture. Each takes 25 ms or more, by its length."""
_NETWORKS = 3
"""The networks that find lines, rotate them, and read them."""
# lines one by one: a batch is padded to the longest line, which takes longer
_SETTINGS = {
    "Global.log_level": "critical",
    "Global.max_side_len": MAX_SIDE,
    "Det.max_candidates": MAX_LINES,
    "Rec.rec_batch_num": 1,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}
_lock = threading.Lock()


def read_words(picture: Picture) -> list[TextBox]:
    """Returns the words in a picture, with boxes in pixels.

    The first call loads the networks, which takes seconds. One picture is read at a
    time: a second for a few words, half a minute for a full page. There is no time
    limit, so every machine reads the same; ``MAX_SIDE`` and ``MAX_LINES`` bound the
    work.

    Raises MissingExtraError, and MissingDataError for a package without its networks.
    """
    import numpy as np

    pixels = np.asarray(_on_white(picture))[:, :, ::-1]  # the engine takes blue first
    with _lock:
        result = _loaded()(np.ascontiguousarray(pixels))
    if result.boxes is None or result.txts is None:
        return []
    boxes: list[TextBox] = []
    for corners, text in zip(result.boxes, result.txts, strict=True):
        if text.strip():
            left, top = map(float, corners.min(axis=0))
            right, bottom = map(float, corners.max(axis=0))
            boxes.append(TextBox(left, top, right, bottom, text.strip()))
    return boxes


def _on_white(picture: Picture) -> Picture:
    from PIL import Image

    small = picture if max(picture.size) <= MAX_SIDE else picture.copy()
    small.thumbnail((MAX_SIDE, MAX_SIDE))
    width, height = small.size
    paper_width = max(width, -(-height // MAX_ASPECT))
    paper_height = max(height, -(-width // MAX_ASPECT))
    paper = Image.new("RGBA", (paper_width, paper_height), "white")
    paper.alpha_composite(small.convert("RGBA"))
    return paper.convert("RGB")


@lru_cache(maxsize=1)
def _loaded() -> Any:
    """Returns the engine of this process. ``Any``: the package is optional."""
    need("onnxruntime", "ocr")
    rapidocr = need("rapidocr", "ocr")
    folder = Path(rapidocr.__file__).parent / "models"
    # without them the engine would fetch them from the network
    if len(list(folder.glob("*.onnx"))) < _NETWORKS:
        raise MissingDataError(
            f"{folder} lacks the networks of rapidocr; install the package again"
        )
    return rapidocr.RapidOCR(params=_SETTINGS)
