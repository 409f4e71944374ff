"""Finds words in pictures with rapidocr, whose package contains the networks."""

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
"""Maximum number of pixels per side. A larger picture is reduced first."""
MAX_ASPECT = 4
"""Maximum ratio of the longer side to the shorter side. A picture above this ratio is
padded with white, since the engine enlarges pictures until the shorter side has 736
pixels."""
MAX_LINES = 1000
"""Maximum number of lines in a picture. Reading a line takes 25 ms or more."""
_NETWORKS = 3
"""Number of networks: one finds lines, one rotates them, and one reads them."""
# Lines are read one by one: a batch is padded to its longest line, which takes longer.
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
    """Reads the words in a picture, with boxes in pixels.

    The first call loads the networks, which takes seconds. Pictures are read one at a
    time. Reading a few words takes a second, and reading a full page takes half a
    minute. There is no time limit, so the result is the same on every machine.
    ``MAX_SIDE`` and ``MAX_LINES`` limit the work.

    Raises MissingExtraError if the package is missing, and MissingDataError if its
    networks are missing.
    """
    import numpy as np

    pixels = np.asarray(_on_white(picture))[:, :, ::-1]  # the engine expects BGR
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
    """Returns the engine of this process.

    The return type is ``Any``, since the package is optional.
    """
    need("onnxruntime", "ocr")
    rapidocr = need("rapidocr", "ocr")
    folder = Path(rapidocr.__file__).parent / "models"
    # Without these files the engine would download them.
    if len(list(folder.glob("*.onnx"))) < _NETWORKS:
        raise MissingDataError(
            f"the networks of rapidocr are missing in {folder}; reinstall the package"
        )
    return rapidocr.RapidOCR(params=_SETTINGS)
