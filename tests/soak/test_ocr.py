"""The engine that reads pictures takes seconds to load."""

import pytest
from PIL import Image

from mmeval.metrics.document import ocr
from mmeval.metrics.document.boxes import joined_lines
from tests.support.documents import FRUIT, HAS_OCR, drawn_table


@pytest.mark.skipif(not HAS_OCR, reason="needs rapidocr")
def test_the_words_of_a_table_are_found_in_their_places_and_a_blank_picture_has_none() -> None:
    assert joined_lines(ocr.read_words(drawn_table(FRUIT))) == ["  ".join(cells) for cells in FRUIT]
    assert ocr.read_words(Image.new("RGB", (64, 48), "white")) == []
