"""CLIP: embeddings of pictures and texts in one space, by its network or from a file
that was made elsewhere."""

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
"""Pictures or texts that go through the network in one batch."""


def clip_needs(switches: Mapping[str, Any]) -> tuple[str, ...]:
    """The packages of a metric with the switch ``vectors``, for
    ``@metric(needs=...)``."""
    if switches["vectors"]:
        return ()
    return ("torch:hf", "transformers:hf")


class Shown(NamedTuple):
    """A picture to embed: the medium that it is or was made of, what was made of it,
    and its pixels. ``pixels`` is called only where they are needed, and raises the
    errors of ``mmeval.media.decode``."""

    media: Media
    form: tuple[Any, ...]
    pixels: Callable[[], Pixels]

    @classmethod
    def of(cls, media: Media) -> Shown:
        return cls(media, (), lambda: rgb(media))


class Embedder(Protocol):
    """Gives embeddings of any length; cosines are taken by ``cosines``."""

    def pictures(self, shown: Sequence[Shown]) -> list[Vector | ContentError]:
        """The embedding of each picture, or why it cannot be decoded."""

    def texts(self, texts: Sequence[str]) -> list[Vector]:
        """The embedding of each text, of which the first 77 tokens count."""


def embedder(model: Model, vectors: str = "") -> Embedder:
    """The embeddings of a bound model; of the file ``vectors``, where one is named.
    Raises UsageError for a file that is none of embeddings."""
    if not vectors:
        return _Network(bound(model))
    path = Path(vectors)
    try:
        return _table(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise UsageError(
            f"{path}: the file of embeddings cannot be read ({error.strerror})"
        ) from None


def cosines(one: Vector, others: Sequence[Vector]) -> list[float]:
    """The cosine of an embedding with each of others; 0 with one of zeros."""
    import numpy as np

    first = np.asarray(one, np.float64)
    found: list[float] = []
    for other in others:
        second = np.asarray(other, np.float64)
        lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
        product = float(first @ second)
        found.append(product / lengths if lengths else 0.0)
    return found


class _Network:
    def __init__(self, model: Mapping[str, Any]) -> None:
        self._model = model

    def pictures(self, shown: Sequence[Shown]) -> list[Vector | ContentError]:
        fingerprint = self._model["fingerprint"]
        keys = [(fingerprint, one.media.sha256, one.form) for one in shown]

        def seen(places: Sequence[int]) -> list[Vector | ContentError]:
            found: list[Vector | ContentError] = []
            for start in range(0, len(places), AT_ONCE):
                found += self._seen(
                    [shown[at] for at in places[start : start + AT_ONCE]]
                )
            return found

        return embedded_once(keys, seen)

    def texts(self, texts: Sequence[str]) -> list[Vector]:
        keys = [(self._model["fingerprint"], text) for text in texts]

        def read(places: Sequence[int]) -> list[Vector]:
            clip = loaded(self._model, _clip)
            found: list[Vector] = []
            for start in range(0, len(places), AT_ONCE):
                batch = [texts[at] for at in places[start : start + AT_ONCE]]
                found += _text_vectors(clip, batch)
            return found

        return embedded_once(keys, read)

    def _seen(self, shown: Sequence[Shown]) -> list[Vector | ContentError]:
        failed: dict[int, ContentError] = {}
        prepared: list[Numbers] = []
        for at, one in enumerate(shown):
            try:
                pixels = one.pixels()
            except ContentError as error:
                failed[at] = error
            else:
                features = loaded(self._model, _clip).features
                inputs = features(picture(pixels), return_tensors="np")
                prepared.append(inputs["pixel_values"][0])
        vectors: list[Vector] = []
        if prepared:
            vectors = _picture_vectors(loaded(self._model, _clip), prepared)
        found: list[Vector | ContentError] = []
        for at in range(len(shown)):
            found.append(failed[at] if at in failed else vectors.pop(0))
        return found


class _Clip(NamedTuple):
    """Objects of transformers and tokenizers, which are untyped here."""

    network: Any
    features: Any
    tokenizer: Any
    device: str


def _clip(folder: Path, device: str) -> _Clip:
    transformers, tokenizers = need("transformers", "hf"), need("tokenizers", "hf")
    network = network_of("CLIPModel", folder, device)
    with opening(folder):
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
        found = clip.network.get_text_features(
            input_ids=torch.tensor(ids, device=clip.device),
            attention_mask=torch.tensor(masks, device=clip.device),
        )
        return _rows(found)


def _rows(found: Any) -> list[Vector]:
    """A vector for each picture or text; newer versions of transformers wrap them."""
    return list(getattr(found, "pooler_output", found).float().cpu().numpy())


class _Table:
    """Embeddings of a file, each line ``{"sha256" or "text", "vector"}``."""

    def __init__(self, path: Path) -> None:
        import numpy as np

        self._path = path
        self._found: dict[tuple[str, str], Vector] = {}
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                kind = "sha256" if "sha256" in row else "text"
                vector = np.asarray(row["vector"], np.float64)
                self._found[kind, row[kind]] = vector
            except (ValueError, TypeError, KeyError):
                raise UsageError(
                    f'{path}:{number}: no {{"sha256" or "text", "vector"}} of an '
                    "embedding"
                ) from None

    def pictures(self, shown: Sequence[Shown]) -> list[Vector | ContentError]:
        found: list[Vector | ContentError] = []
        for one in shown:
            digest = one.media.sha256
            try:
                if ("sha256", digest) not in self._found:
                    one.pixels()
            except ContentError as error:
                found.append(error)
            else:
                found.append(self._of("sha256", digest, one.media.label))
        return found

    def texts(self, texts: Sequence[str]) -> list[Vector]:
        return [self._of("text", text, repr(text[:80])) for text in texts]

    def _of(
        self,
        kind: str,
        key: str,
        called: str,
    ) -> Vector:
        if (kind, key) not in self._found:
            raise UsageError(f"{self._path}: it has no embedding of {called} ({kind})")
        return self._found[kind, key]


@lru_cache(maxsize=4)
def _table(path: Path, _changed_ns: int) -> _Table:
    """A file as it was when it was last changed."""
    return _Table(path)
