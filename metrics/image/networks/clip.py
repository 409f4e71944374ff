"""CLIP: embeddings of pictures and texts in one space, from the network or a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from mmeval.errors import ContentError, UsageError
from mmeval.media import Media
from mmeval.metric import HubModel, loaded
from mmeval.metrics.image.networks.vector_memory import embedded_once
from mmeval.metrics.image.pictures import picture, rgb
from mmeval.metrics.models import bound, network_of, opening
from mmeval.system import need

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.image.networks.vector_memory import Vector
    from mmeval.metrics.image.pictures import Pixels

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]

CLIP = HubModel(
    (
        "config.json",
        "preprocessor_config.json",
        "tokenizer.json",
        "model.safetensors|pytorch_model.bin",
    ),
    unless="vectors",
)
CLIP_L14, CLIP_B32 = "openai/clip-vit-large-patch14", "openai/clip-vit-base-patch32"
Model: TypeAlias = str | Mapping[str, Any]
AT_ONCE = 16
"""Number of pictures or texts in one batch."""


def clip_needs(switches: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the ``needs`` that a metric with the switch ``vectors`` must declare."""
    if switches["vectors"]:
        return ()
    return ("torch:hf", "transformers:hf")


class PictureToEmbed(NamedTuple):
    """A picture to embed: its medium, its form after resizing, and its pixels.

    ``pixels`` is only called if the pixels are needed, and raises the errors of
    ``mmeval.media.decode``.
    """

    media: Media
    form: tuple[Any, ...]
    pixels: Callable[[], Pixels]

    @classmethod
    def of(cls, media: Media) -> PictureToEmbed:
        return cls(media, (), lambda: rgb(media))


class Embedder(Protocol):
    """Computes embeddings of pictures and texts.

    Embeddings need not have length 1. ``cosines`` compares them.
    """

    def pictures(self, shown: Sequence[PictureToEmbed]) -> list[Vector | ContentError]:
        """Returns the embedding of each picture, or the error if it is undecodable."""

    def texts(self, texts: Sequence[str]) -> list[Vector]:
        """Returns the embedding of each text. Only the first 77 tokens are used."""


def embedder(model: Model, vectors: str = "") -> Embedder:
    """Returns an embedder that uses the file ``vectors`` if given, else the model.

    The model must be bound. Raises UsageError for a file without embeddings.
    """
    if not vectors:
        return _NetworkEmbedder(bound(model))
    path = Path(vectors)
    try:
        return _table(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise UsageError(
            f"the file of embeddings {path} cannot be read ({error.strerror})"
        ) from None


def cosines(vector: Vector, others: Sequence[Vector]) -> list[float]:
    """Returns the cosine of an embedding with each of the others.

    The cosine with an embedding of zeros is 0.
    """
    import numpy as np

    first = np.asarray(vector, np.float64)
    values: list[float] = []
    for other in others:
        second = np.asarray(other, np.float64)
        lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
        product = float(first @ second)
        values.append(product / lengths if lengths else 0.0)
    return values


class _NetworkEmbedder:
    def __init__(self, model: Mapping[str, Any]) -> None:
        self._model = model

    def pictures(self, inputs: Sequence[PictureToEmbed]) -> list[Vector | ContentError]:
        fingerprint = self._model["fingerprint"]
        keys = [
            (fingerprint, picture_input.media.sha256, picture_input.form)
            for picture_input in inputs
        ]

        def embed_pictures(places: Sequence[int]) -> list[Vector | ContentError]:
            vectors: list[Vector | ContentError] = []
            for start in range(0, len(places), AT_ONCE):
                vectors += self._embedded(
                    [inputs[place] for place in places[start : start + AT_ONCE]]
                )
            return vectors

        return embedded_once(keys, embed_pictures)

    def texts(self, texts: Sequence[str]) -> list[Vector]:
        keys = [(self._model["fingerprint"], text) for text in texts]

        def embed_texts(places: Sequence[int]) -> list[Vector]:
            clip = loaded(self._model, _clip)
            vectors: list[Vector] = []
            for start in range(0, len(places), AT_ONCE):
                batch = [texts[place] for place in places[start : start + AT_ONCE]]
                vectors += _text_vectors(clip, batch)
            return vectors

        return embedded_once(keys, embed_texts)

    def _embedded(
        self, inputs: Sequence[PictureToEmbed]
    ) -> list[Vector | ContentError]:
        failed: dict[int, ContentError] = {}
        prepared: list[Numbers] = []
        for place, picture_input in enumerate(inputs):
            try:
                pixels = picture_input.pixels()
            except ContentError as error:
                failed[place] = error
            else:
                features = loaded(self._model, _clip).features
                prepared_picture = features(picture(pixels), return_tensors="np")
                prepared.append(prepared_picture["pixel_values"][0])
        vectors: list[Vector] = []
        if prepared:
            vectors = _picture_vectors(loaded(self._model, _clip), prepared)
        results: list[Vector | ContentError] = []
        for place in range(len(inputs)):
            results.append(failed[place] if place in failed else vectors.pop(0))
        return results


class _Clip(NamedTuple):
    """Objects of the libraries transformers and tokenizers, which are untyped here."""

    network: Any
    features: Any
    tokenizer: Any
    device: str


def _clip(folder: Path, device: str) -> _Clip:
    transformers, tokenizers = need("transformers", "hf"), need("tokenizers", "hf")
    network = network_of("CLIPModel", folder, device)
    with opening(folder):
        # This class resizes with Pillow, as CLIP's authors do. The torch variant
        # returns other pixels.
        features = transformers.CLIPImageProcessorPil.from_pretrained(
            folder, local_files_only=True
        )
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    settings = network.config.text_config
    tokenizer.enable_truncation(settings.max_position_embeddings)
    tokenizer.enable_padding(pad_id=settings.eos_token_id)
    return _Clip(network, features, tokenizer, device)


def _picture_vectors(clip: _Clip, pictures: Sequence[Numbers]) -> list[Vector]:
    import numpy as np

    torch = need("torch", "hf")
    with torch.inference_mode():
        pixels = torch.from_numpy(np.stack(pictures)).to(clip.device)
        return _rows(clip.network.get_image_features(pixel_values=pixels))


def _text_vectors(clip: _Clip, texts: Sequence[str]) -> list[Vector]:
    torch = need("torch", "hf")
    rows = clip.tokenizer.encode_batch(list(texts))
    ids = [row.ids for row in rows]
    masks = [row.attention_mask for row in rows]
    with torch.inference_mode():
        features = clip.network.get_text_features(
            input_ids=torch.tensor(ids, device=clip.device),
            attention_mask=torch.tensor(masks, device=clip.device),
        )
        return _rows(features)


def _rows(found: Any) -> list[Vector]:
    """Returns a vector for each picture or text.

    Newer versions of transformers return the vectors inside an object.
    """
    return list(getattr(found, "pooler_output", found).float().cpu().numpy())


class _FileEmbedder:
    """The embeddings in a file with lines ``{"sha256" or "text", "vector"}``."""

    def __init__(self, path: Path) -> None:
        import numpy as np

        self._path = path
        self._vectors: dict[tuple[str, str], Vector] = {}
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                kind = "sha256" if "sha256" in row else "text"
                vector = np.asarray(row["vector"], np.float64)
                self._vectors[kind, row[kind]] = vector
            except (ValueError, TypeError, KeyError):
                raise UsageError(
                    f"{path}:{number}: an embedding must have the form "
                    '{"sha256" or "text", "vector"}'
                ) from None

    def pictures(self, inputs: Sequence[PictureToEmbed]) -> list[Vector | ContentError]:
        vectors: list[Vector | ContentError] = []
        for picture_input in inputs:
            digest = picture_input.media.sha256
            try:
                if ("sha256", digest) not in self._vectors:
                    picture_input.pixels()
            except ContentError as error:
                vectors.append(error)
            else:
                vectors.append(self._of("sha256", digest, picture_input.media.label))
        return vectors

    def texts(self, texts: Sequence[str]) -> list[Vector]:
        return [self._of("text", text, repr(text[:80])) for text in texts]

    def _of(
        self,
        kind: str,
        key: str,
        description: str,
    ) -> Vector:
        if (kind, key) not in self._vectors:
            raise UsageError(f"{self._path} has no embedding of {description} ({kind})")
        return self._vectors[kind, key]


@lru_cache(maxsize=4)
def _table(path: Path, _changed_ns: int) -> _FileEmbedder:
    """Reads the embeddings in a file, and rereads them if the file has changed."""
    return _FileEmbedder(path)
