"""Chooses the next token by given settings, with one random stream for each row.

The library draws for a whole batch from one generator, so that a row's draws depend on
its neighbours. Here each row has a generator of its own, seeded by its request;
``generate`` runs greedily on scores in which the choice is made.
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
"""Random numbers of a row that are copied to the device at a time."""

IGNORED = (
    "this model's own way to generate takes no processors of scores, so that nothing "
    "can be drawn by the row's seed; "
    "ask it with temperature=0"
)


def broken_row(dtype: object) -> RowError:
    """Why a row of a model in ``dtype`` ends, whose scores are not numbers."""
    return RowError(
        "internal",
        "the model's scores hold numbers that are none (NaN or infinite), so that no "
        "token could be chosen; it was run "
        f"in {str(dtype).removeprefix('torch.')}: try dtype=float32 or "
        "dtype=bfloat16, or another attn_implementation",
    )


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn. ``temperature`` 0 is greedy; other defaults do nothing."""

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
        """The sampling of a checkpoint's ``GenerationConfig``: greedy unless it
        samples. Missing values have no effect (the library itself would keep the fifty
        best tokens)."""
        given: dict[str, Any] = {"temperature": 1.0}
        for name in ("temperature", *CUTS):
            value = getattr(config, name, None)
            if value is not None:
                given[name] = int(value) if name == "top_k" else float(value)
        if not getattr(config, "do_sample", None):
            given["temperature"] = 0.0
        return cls(**given)

    def under(self, params: GenerationParams) -> tuple[Sampling, tuple[str, ...]]:
        """The sampling overridden by a request, and warnings for unused parameters.
        Raises RowError ``bad_request`` for invalid values."""
        given: dict[str, Any] = {}
        for name in ("temperature", "top_k", "top_p"):
            if getattr(params, name) is not None:
                given[name] = getattr(params, name)
        chosen = replace(self, **given)
        has_temperature = 0 <= chosen.temperature < math.inf
        if not has_temperature or not 0 <= chosen.top_p <= 1 or chosen.top_k < 0:
            raise RowError(
                "bad_request",
                "temperature and top_k must be at least 0 and top_p within 0..1, "
                f"given: {given}",
            )
        idle = [name for name in ("top_k", "top_p") if name in given]
        if not chosen.greedy or "temperature" in given or not idle:
            return chosen, ()
        return chosen, (
            f"{', '.join(idle)} had no effect: this model answers greedily unless "
            "temperature is given",
        )

    def warpers(self, device: Any) -> list[Callable[[Any, Any], Any]]:
        """The library's own processors for these values, in its order."""
        from transformers.generation import logits_process as cuts

        made: list[Callable[[Any, Any], Any]] = []
        if self.temperature not in (0.0, 1.0):
            made.append(cuts.TemperatureLogitsWarper(self.temperature))
        if self.top_h > 0.0:
            made.append(cuts.TopHLogitsWarper(self.top_h))
        if self.top_k > 0:
            made.append(cuts.TopKLogitsWarper(self.top_k))
        if self.top_p < 1.0:
            made.append(cuts.TopPLogitsWarper(self.top_p))
        if self.min_p > 0.0:
            made.append(cuts.MinPLogitsWarper(self.min_p))
        if self.typical_p < 1.0:
            made.append(cuts.TypicalLogitsWarper(self.typical_p))
        if 0.0 < self.epsilon_cutoff < 1.0:
            made.append(cuts.EpsilonLogitsWarper(self.epsilon_cutoff))
        if 0.0 < self.eta_cutoff < 1.0:
            made.append(cuts.EtaLogitsWarper(self.eta_cutoff, device=device))
        return made


CUTS = ("top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff")
"""The library's names of processors that remove tokens before one is drawn."""


class RowSampler:
    """The last logits processor: leaves each row one token, and ends broken rows.

    ``seeds`` are those of the rows, ``end`` is the token that ends an answer. One
    number is drawn for each row and step, and the token is chosen at which the
    cumulative probability exceeds it, so that a row draws the same alone and in any
    batch. A row whose scores hold NaN ends at once and is in ``broken``.
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
                # CUDA has no deterministic cumulative sum
                input_ids, scores = input_ids.cpu(), scores.cpu()
            scores = self._drawn(input_ids, scores).to(device)
        self._step += 1
        scores = scores.masked_fill(bad[:, None], -torch.inf)
        scores[:, self._end].masked_fill_(bad, 0.0)
        return scores

    @property
    def ignored(self) -> bool:
        """Whether a model wrongly never used it: some classes ignore logits
        processors."""
        return self._bad is None and not self._sampling.greedy

    @property
    def broken(self) -> list[bool]:
        """For each row, whether its scores ever held NaN.
        Read once, after all is generated, because it waits for the device."""
        if self._bad is None:
            return [False] * len(self._seeds)
        broken: list[bool] = self._bad.tolist()
        return broken

    def _drawn(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores that leave each row only its drawn token."""
        import torch

        if self._warpers is None:
            self._warpers = self._sampling.warpers(scores.device)
        for warp in self._warpers:
            scores = warp(input_ids, scores)
        # this device lacks the other
        exact = torch.float32 if scores.device.type == "mps" else torch.float64
        probabilities = scores.to(torch.float32).softmax(dim=-1)
        summed = probabilities.to(exact).cumsum(dim=-1)
        uniform = self._uniform(scores.device, exact)
        point = uniform[:, None] * summed[:, -1:]
        drawn = torch.searchsorted(summed, point, right=True).clamp_(
            max=scores.shape[-1] - 1
        )
        return torch.full_like(scores, -torch.inf).scatter_(1, drawn, 0.0)

    def _uniform(self, device: Any, dtype: Any) -> Tensor:
        """A number in 0..1 for each row, drawn on the CPU: the same for every
        device."""
        import torch

        if not self._generators:
            for seed in self._seeds:
                generator = torch.Generator().manual_seed(seed & _SEED_BITS)
                self._generators.append(generator)
        place = self._step % _DRAWS
        if place == 0:
            rows = []
            for generator in self._generators:
                rows.append(
                    torch.rand(_DRAWS, generator=generator, dtype=torch.float64)
                )
            self._block = torch.stack(rows).to(device=device, dtype=dtype)
        block: Tensor = self._block
        return block[:, place]
