"""Chooses the next token, with one random stream for each row.

The library draws all rows of a batch from one generator, so the draws of a row would
depend on the other rows. Here each row has its own generator, seeded by its request.
``generate`` runs greedily on scores that leave only the drawn token.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mmeval.model_backends.hf.failures import RowError
from mmeval.records import GenerationParams

if TYPE_CHECKING:
    from torch import Tensor

_SEED_BITS = (1 << 63) - 1
_DRAWS = 256
"""Number of random numbers per row that are copied to the device at once."""

IGNORED = (
    "this model's generate ignores logits processors, so it cannot draw with the "
    "row's seed; set temperature=0"
)


def broken_row(dtype: object) -> RowError:
    """Returns the error for NaN or infinite scores in a row of a model in ``dtype``."""
    return RowError(
        "internal",
        "the model's scores are NaN or infinite, so no token could be chosen. It ran "
        f"in {str(dtype).removeprefix('torch.')}: try dtype=float32 or dtype=bfloat16, "
        "or another attn_implementation",
    )


@dataclass(frozen=True, slots=True)
class Sampling:
    """The parameters for drawing tokens.

    A ``temperature`` of 0 means greedy sampling. The other parameters have no effect by
    default.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    top_h: float = 0.0
    typical_p: float = 1.0
    epsilon_cutoff: float = 0.0
    eta_cutoff: float = 0.0

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0

    @classmethod
    def of(cls, config: Any) -> Sampling:
        """Returns the sampling of a checkpoint's ``GenerationConfig``.

        The sampling is greedy unless ``do_sample`` is set. Missing values have no
        effect. (In the library, a missing ``top_k`` means the fifty best tokens.)
        """
        values: dict[str, Any] = {"temperature": 1.0}
        for name in ("temperature", *CUTS):
            value = getattr(config, name, None)
            if value is not None:
                values[name] = int(value) if name == "top_k" else float(value)
        if not getattr(config, "do_sample", None):
            values["temperature"] = 0.0
        return cls(**values)

    def overridden_by(
        self, params: GenerationParams
    ) -> tuple[Sampling, tuple[str, ...]]:
        """Returns the sampling with a request's parameters, and warnings.

        Warnings name the unused parameters. Raises RowError ``bad_request`` for invalid
        values.
        """
        requested: dict[str, Any] = {}
        for name in ("temperature", "top_k", "top_p"):
            if getattr(params, name) is not None:
                requested[name] = getattr(params, name)
        sampling = replace(self, **requested)
        has_temperature = 0 <= sampling.temperature < math.inf
        if not has_temperature or not 0 <= sampling.top_p <= 1 or sampling.top_k < 0:
            raise RowError(
                "bad_request",
                "temperature and top_k must be at least 0, top_p within 0..1; given: "
                f"{requested}",
            )
        unused = [name for name in ("top_k", "top_p") if name in requested]
        if not sampling.greedy or "temperature" in requested or not unused:
            return sampling, ()
        return sampling, (
            f"{', '.join(unused)} had no effect: this model is greedy unless "
            "temperature is set",
        )

    def warpers(self, device: Any) -> list[Callable[[Any, Any], Any]]:
        """Returns the library's logits processors for these values, in its order."""
        from transformers.generation import logits_process as cuts

        warpers: list[Callable[[Any, Any], Any]] = []
        if self.temperature not in (0.0, 1.0):
            warpers.append(cuts.TemperatureLogitsWarper(self.temperature))
        if self.top_h > 0.0:
            warpers.append(cuts.TopHLogitsWarper(self.top_h))
        if self.top_k > 0:
            warpers.append(cuts.TopKLogitsWarper(self.top_k))
        if self.top_p < 1.0:
            warpers.append(cuts.TopPLogitsWarper(self.top_p))
        if self.min_p > 0.0:
            warpers.append(cuts.MinPLogitsWarper(self.min_p))
        if self.typical_p < 1.0:
            warpers.append(cuts.TypicalLogitsWarper(self.typical_p))
        if 0.0 < self.epsilon_cutoff < 1.0:
            warpers.append(cuts.EpsilonLogitsWarper(self.epsilon_cutoff))
        if 0.0 < self.eta_cutoff < 1.0:
            warpers.append(cuts.EtaLogitsWarper(self.eta_cutoff, device=device))
        return warpers


CUTS = ("top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff")
"""The library's names of parameters that exclude tokens before one is drawn."""


class RowSampler:
    """The last logits processor, which leaves one token per row and ends broken rows.

    ``seeds`` are the rows' seeds. ``end`` is the end token. In each step, one random
    number is drawn per row. The first token with a cumulative probability above this
    number is chosen, so a row draws the same tokens alone and in any batch. A row with
    NaN in its scores ends at once and is listed in ``broken``.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        sampling: Sampling,
        end: int,
    ) -> None:
        self._seeds, self._sampling, self._end = seeds, sampling, end
        self._warpers: list[Callable[[Any, Any], Any]] | None = None
        self._generators: list[Any] = []
        self._block: Any = None
        self._bad: Any = None
        self._step = 0

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        import torch

        bad = ~torch.isfinite(scores.amax(dim=-1))
        self._bad = bad if self._bad is None else self._bad | bad
        if not self._sampling.greedy:
            device = scores.device
            if device.type == "cuda" and torch.are_deterministic_algorithms_enabled():
                # the cumulative sum is not deterministic on CUDA
                input_ids, scores = input_ids.cpu(), scores.cpu()
            scores = self._drawn(input_ids, scores).to(device)
        self._step += 1
        scores = scores.masked_fill(bad[:, None], -torch.inf)
        scores[:, self._end].masked_fill_(bad, 0.0)
        return scores

    @property
    def ignored(self) -> bool:
        """True if the model never called this processor.

        Some classes ignore logits processors.
        """
        return self._bad is None and not self._sampling.greedy

    @property
    def broken(self) -> list[bool]:
        """A list with True for each row that has had NaN in its scores.

        Read this property once, after the generation, because reading waits for the
        device.
        """
        if self._bad is None:
            return [False] * len(self._seeds)
        broken: list[bool] = self._bad.tolist()
        return broken

    def _drawn(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Draws a token in each row. Returns scores that leave only these tokens."""
        import torch

        if self._warpers is None:
            self._warpers = self._sampling.warpers(scores.device)
        for warp in self._warpers:
            scores = warp(input_ids, scores)
        # MPS has no float64
        dtype = torch.float32 if scores.device.type == "mps" else torch.float64
        probabilities = scores.to(torch.float32).softmax(dim=-1)
        cumulative = probabilities.to(dtype).cumsum(dim=-1)
        uniform = self._uniform(scores.device, dtype)
        point = uniform[:, None] * cumulative[:, -1:]
        token = torch.searchsorted(cumulative, point, right=True).clamp_(
            max=scores.shape[-1] - 1
        )
        return torch.full_like(scores, -torch.inf).scatter_(1, token, 0.0)

    def _uniform(self, device: Any, dtype: Any) -> Tensor:
        """Returns a random number in 0..1 for each row.

        The number is drawn on the CPU, so it is the same for every device.
        """
        import torch

        if not self._generators:
            for seed in self._seeds:
                generator = torch.Generator().manual_seed(seed & _SEED_BITS)
                self._generators.append(generator)
        column = self._step % _DRAWS
        if column == 0:
            rows = []
            for generator in self._generators:
                rows.append(
                    torch.rand(_DRAWS, generator=generator, dtype=torch.float64)
                )
            self._block = torch.stack(rows).to(device=device, dtype=dtype)
        block: Tensor = self._block
        return block[:, column]
