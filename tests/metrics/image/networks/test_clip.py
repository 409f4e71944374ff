import json
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

from mmeval.errors import ContentError, UsageError
from mmeval.media.media import Media
from mmeval.metrics.image.networks import clip as module
from mmeval.metrics.image.networks import vector_memory
from mmeval.metrics.image.networks.clip import CLIP, PictureToEmbed, cosines, embedder
from tests.support.models import tiny, tiny_model
from tests.support.pictures import DAMAGED, even, medium, noise

LONG = "a house with a red door and a garden " * 9
TEXTS = ("A red door", "", LONG, "Garden")


@cache
def model() -> dict[str, str]:
    return tiny("clip", CLIP)


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_memory, "_KEPT", type(vector_memory._KEPT)())


def shown(*pictures: Any) -> list[PictureToEmbed]:
    return [
        PictureToEmbed.of(one if isinstance(one, Media) else medium(one))
        for one in pictures
    ]


def test_pictures_are_embedded_as_the_library_does_one_by_one() -> None:
    folder = tiny_model("clip")
    network = transformers.CLIPModel.from_pretrained(folder).eval()
    features = transformers.CLIPImageProcessorPil.from_pretrained(folder)
    pictures = [noise(40 + 7 * at, 90 - 3 * at, at) for at in range(19)]
    found = embedder(model()).pictures(shown(*pictures))
    with torch.inference_mode():
        for pixels, vector in zip(pictures, found, strict=True):
            prepared = features(Image.fromarray(pixels), return_tensors="pt")
            expected = network.get_image_features(**prepared).pooler_output[0].numpy()
            assert not isinstance(vector, ContentError)
            np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_texts_are_embedded_as_the_library_does_and_cut_at_77_tokens() -> None:
    folder = tiny_model("clip")
    network = transformers.CLIPModel.from_pretrained(folder).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    found = embedder(model()).texts(TEXTS)
    with torch.inference_mode():
        for text, vector in zip(TEXTS, found, strict=True):
            ids = tokens(text, truncation=True, max_length=77, return_tensors="pt")[
                "input_ids"
            ]
            expected = network.get_text_features(input_ids=ids).pooler_output[0].numpy()
            np.testing.assert_allclose(vector, expected, atol=1e-5)
    np.testing.assert_allclose(
        found[2], embedder(model()).texts([LONG + "and more"])[0], atol=1e-5
    )


def test_each_picture_and_text_goes_through_the_network_once_in_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []

    def noted(usual: Any, clip: Any, some: Sequence[Any]) -> Any:
        seen.append(len(some))
        return usual(clip, some)

    for name in ("_picture_vectors", "_text_vectors"):
        monkeypatch.setattr(module, name, partial(noted, getattr(module, name)))
    first = embedder(model()).pictures(
        shown(noise(30, 40), even(20, 20, (1, 2, 3)), noise(30, 40))
    )
    again = embedder(model()).pictures(shown(even(20, 20, (1, 2, 3)), noise(30, 40)))
    assert seen == [2]
    assert first[0] is first[2]
    assert again[1] is first[0]
    embedder(model()).texts(["a", "b", "a"])
    embedder(model()).texts(["b"])
    assert seen == [2, 2]


def test_the_memory_of_embeddings_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_memory, "MOST", 3)
    embedder(model()).texts([str(at) for at in range(8)])
    assert [*vector_memory._KEPT] == [(model()["fingerprint"], text) for text in "567"]


def test_a_picture_that_cannot_be_decoded_is_an_error_in_its_place() -> None:
    alone, broken, other = embedder(model()).pictures(
        shown(noise(30, 40), DAMAGED, noise(41, 40, 3))
    )
    assert isinstance(broken, ContentError)
    assert alone.shape == (16,)  # type: ignore[union-attr]
    assert other.shape == (16,)  # type: ignore[union-attr]


def test_a_file_gives_the_embeddings_of_pictures_by_their_digest_and_of_texts(
    tmp_path: Path,
) -> None:
    red, file = medium(even(9, 9, (255, 0, 0))), tmp_path / "vectors.jsonl"
    rows: list[dict[str, Any]] = [
        {"sha256": red.sha256, "vector": [3, 0]},
        {"text": "red", "vector": [3, 4]},
    ]
    file.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    embed = embedder("me/nowhere", str(file))
    picture, broken = embed.pictures(shown(red, DAMAGED))
    assert isinstance(broken, ContentError)
    assert not isinstance(picture, ContentError)
    assert cosines(picture, embed.texts(["red"])) == [0.6]
    for lacking in (
        lambda: embed.texts(["blue"]),
        lambda: embed.pictures(shown(noise(8, 8))),
    ):
        with pytest.raises(UsageError, match="no embedding"):
            lacking()


@pytest.mark.parametrize(
    "line", ["[]", "{}", '{"text": "a"}', '{"text": "a", "vector": "b"}', "nothing"]
)
def test_a_file_that_is_none_of_embeddings_is_an_error_with_its_line(
    line: str, tmp_path: Path
) -> None:
    file = tmp_path / "vectors.jsonl"
    file.write_text('{"text": "a", "vector": [1]}\n' + line)
    with pytest.raises(UsageError, match=":2:"):
        embedder("me/nowhere", str(file))
    with pytest.raises(UsageError, match="cannot be read"):
        embedder("me/nowhere", str(tmp_path / "none"))


def test_cosines_of_zeros_are_zero() -> None:
    assert cosines(np.array([1.0, 0]), [np.array([0.0, 0]), np.array([2.0, 0])]) == [
        0.0,
        1.0,
    ]
