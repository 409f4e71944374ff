from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from mmeval.model_backends.hf.failures import RowError
from mmeval.model_backends.hf.generation.sampling import RowSampler, Sampling
from mmeval.records import GenerationParams

END = 3
SCORES = torch.tensor([0.1, 1.0, 2.0, -1.0, 0.5])
HOT = Sampling(temperature=1.0)


def drawn(
    sampler: RowSampler, rows: int, steps: int, scores: torch.Tensor = SCORES
) -> torch.Tensor:
    """Tokens of shape (rows, steps), as a greedy ``generate`` would take them."""
    ids = torch.zeros(rows, 1, dtype=torch.long)
    return torch.stack(
        [sampler(ids, scores.repeat(rows, 1)).argmax(-1) for _ in range(steps)], dim=1
    )


def test_tokens_come_as_often_as_their_probability_alone_and_beside_others() -> None:
    tokens = drawn(RowSampler(range(50), HOT, END), 50, 400)
    shares = torch.bincount(tokens.flatten(), minlength=5) / tokens.numel()
    assert torch.allclose(shares, SCORES.softmax(-1), atol=0.012)
    together = drawn(RowSampler([5, 6, 7], HOT, END), 3, 600)
    assert torch.equal(together[1:2], drawn(RowSampler([6], HOT, END), 1, 600))
    assert not torch.equal(together[0], together[1])
    assert not torch.equal(together[:, :256], together[:, 256:512])


@pytest.mark.parametrize(
    ("kept", "cuts"),
    [
        (
            {2},
            [
                {"temperature": 0.0},
                {"temperature": 0.01},
                {"top_p": 0.5},
                {"eta_cutoff": 0.9},
                {"top_h": 0.3},
            ],
        ),
        ({1, 2}, [{"top_k": 2}, {"min_p": 0.3}, {"epsilon_cutoff": 0.2}]),
        ({1}, [{"typical_p": 0.2}]),
    ],
)
def test_tokens_that_are_cut_are_never_drawn(
    kept: set[int], cuts: list[dict[str, Any]]
) -> None:
    for cut in cuts:
        sampler = RowSampler(range(20), replace(HOT, **cut), END)
        assert set(drawn(sampler, 20, 100).flatten().tolist()) == kept, cut


@pytest.mark.parametrize("sampling", [Sampling(), HOT], ids=["greedy", "drawn"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_row_with_bad_scores_ends_for_good_and_harms_no_neighbour(
    sampling: Sampling, value: float
) -> None:
    good, ids = RowSampler([1, 2], sampling, END), torch.zeros(2, 1, dtype=torch.long)
    assert good.broken == [False, False]
    expected = drawn(RowSampler([1, 2], sampling, END), 2, 1)[0, 0]
    scores = SCORES.repeat(2, 1)
    scores[1, 0] = value
    assert good(ids, scores).argmax(-1).tolist() == [int(expected), END]
    good(ids, SCORES.repeat(2, 1))
    assert good.broken == [False, True]
    silent = RowSampler([1], sampling, END)  # it may write nothing
    chosen = silent(torch.zeros(1, 1, dtype=torch.long), torch.full((1, 5), -torch.inf))
    assert chosen.argmax(-1).tolist() == [END]
    assert silent.broken == [True]


def test_the_checkpoint_decides_where_the_request_gives_nothing() -> None:
    own = Sampling.of(
        SimpleNamespace(do_sample=True, temperature=0.6, top_p=0.95, top_k=None)
    )
    assert own == Sampling(0.6, top_p=0.95)
    assert own.overridden_by(GenerationParams(top_k=40)) == (
        Sampling(0.6, top_k=40, top_p=0.95),
        (),
    )
    assert own.overridden_by(GenerationParams(temperature=0.0))[0].greedy
    whole = Sampling.of(
        SimpleNamespace(do_sample=True, temperature=2, top_p=1, top_k=5.0)
    )
    assert len(drawn(RowSampler([1], whole, END), 1, 3)[0]) == 3
    assert whole == Sampling(2.0, top_k=5)
    own = Sampling.of(SimpleNamespace(do_sample=False, temperature=0.9, top_p=0.6))
    assert own.greedy
    assert own.overridden_by(GenerationParams(temperature=1.0, top_k=5)) == (
        Sampling(1.0, top_p=0.6, top_k=5),
        (),
    )
    assert (
        own.overridden_by(GenerationParams(temperature=0.0, top_k=5))[1]
        == own.overridden_by(GenerationParams())[1]
        == ()
    )
    assert [
        "top_k" in warning
        for warning in own.overridden_by(GenerationParams(top_k=5))[1]
    ] == [True]


def test_values_that_mean_nothing_are_refused() -> None:
    temperatures = [
        {"temperature": value} for value in (-0.1, float("nan"), float("inf"))
    ]
    given: list[dict[str, Any]] = [
        *temperatures,
        {"top_p": 1.5},
        {"top_p": -0.1},
        {"top_k": -1},
    ]
    for params in given:
        with pytest.raises(RowError, match="bad_request"):
            HOT.overridden_by(GenerationParams(**params))
    assert HOT.overridden_by(GenerationParams(top_p=1.0, top_k=0))[1] == ()
