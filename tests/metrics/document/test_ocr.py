import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from mmeval.errors import MissingDataError, MissingExtraError
from mmeval.metrics.document import ocr


class Engine:
    """What the package offers: it notes the pictures that it is given, and finds two
    words."""

    def __init__(self, params: object) -> None:
        self.given: list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]] = []

    def __call__(
        self, pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
    ) -> SimpleNamespace:
        self.given.append(pixels)
        corners = np.array(
            [[[1, 2], [9, 1], [9, 7], [1, 8]], [[0, 0], [1, 0], [1, 1], [0, 1]]],
            np.float32,
        )
        return SimpleNamespace(boxes=corners, txts=(" Hi ", " "))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine({})
    monkeypatch.setattr(ocr, "_loaded", lambda: made)
    return made


def test_pixels_are_given_blue_first_and_words_have_a_box(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ocr.read_words(Image.new("RGB", (2, 1), (1, 2, 3)))
    ocr.read_words(Image.new("RGBA", (2, 1), (0, 0, 0, 0)))
    assert [pixels[0, 0].tolist() for pixels in engine.given] == [
        [3, 2, 1],
        [255, 255, 255],
    ]
    picture = Image.new("L", (4000, 100))
    ocr.read_words(picture)
    assert engine.given[-1].shape == (500, 2000, 3)
    assert (engine.given[-1] == 0).sum() == 50 * 2000 * 3
    assert picture.size == (4000, 100)
    settings = [
        ocr._SETTINGS[name]
        for name in ("Global.max_side_len", "Det.max_candidates", "Rec.rec_batch_num")
    ]
    assert ocr.MAX_SIDE == 2000
    assert ocr.MAX_LINES == 1000
    assert settings == [2000, 1000, 1]
    assert ocr.read_words(Image.new("RGB", (20, 10))) == [(1, 1, 9, 8, "Hi")]
    monkeypatch.setattr(
        Engine, "__call__", lambda *_: SimpleNamespace(boxes=None, txts=None)
    )
    assert ocr.read_words(Image.new("RGB", (64, 48), "white")) == []


@pytest.mark.parametrize(
    ("size", "given"), [((1, 2000), (500, 2000)), ((9, 2), (9, 3)), ((8, 2), (8, 2))]
)
def test_a_strip_is_put_on_bounded_paper(
    size: tuple[int, int], given: tuple[int, int], engine: Engine
) -> None:
    ocr.read_words(Image.new("RGB", size, (1, 2, 3)))
    (pixels,) = engine.given
    assert (pixels.shape[1], pixels.shape[0], pixels[0, 0].tolist()) == (
        *given,
        [3, 2, 1],
    )
    assert (pixels == 255).sum() == 3 * (given[0] * given[1] - size[0] * size[1])


def test_without_the_package_its_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ocr._loaded.cache_clear()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError) as caught:
        ocr.read_words(Image.new("RGB", (8, 8)))
    assert caught.value.extra == "ocr"


@pytest.mark.parametrize("networks", [2, 3])
def test_a_package_without_networks_is_refused(
    networks: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ocr._loaded.cache_clear()
    (tmp_path / "models").mkdir()
    for number in range(networks):
        (tmp_path / f"models/{number}.onnx").touch()
    package = SimpleNamespace(__file__=str(tmp_path / "__init__.py"), RapidOCR=Engine)
    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "rapidocr", package)
    if networks == 3:
        assert isinstance(ocr._loaded(), Engine)
    else:
        with pytest.raises(MissingDataError, match="networks"):
            ocr.read_words(Image.new("RGB", (8, 8)))
    ocr._loaded.cache_clear()
