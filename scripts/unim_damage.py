"""Damages gold answers on purpose, to check the structure scores.

The paper's check of its structure scores (appendix F.3.1) takes right answers and
removes or adds whole modalities (``RT``), or single items of the modalities that are
there (``RN``), ``k`` of them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import count
from typing import Literal, NamedTuple, TypeVar

from mmeval.content import Interleaved, Part, PartKind, label_kind, render, text_part
from mmeval.metrics.structure.counting import structures_of
from mmeval.metrics.structure.lenient_structure import lenient_fraction
from mmeval.metrics.structure.strict_structure import strict_fraction
from mmeval.records import Sample, Score, Trial

_T = TypeVar("_T")
Damage = Literal["RT", "RN"]
"""``RT`` removes or adds modalities, ``RN`` items of modalities that are there."""
STEPS = (-2, -1, 0, 1, 2)
"""The paper's ``k``: so many are removed below 0, and added above 0."""
MODALITIES: tuple[PartKind, ...] = ("image", "audio", "video", "document", "code", "3d")


class Point(NamedTuple):
    """The mean scores of answers that were damaged in one way, as exact fractions."""

    k: int
    strict: Fraction
    lenient: Fraction


def items_of(content: Interleaved) -> Counter[PartKind]:
    """Count the tags of each modality in an answer's text."""
    return Counter(content.parts[at].kind for at in _tagged(content.parts))


def perturb(content: Interleaved, damage: Damage, k: int, *, seed: int) -> Interleaved:
    """An answer with ``k`` more (``-k`` fewer) modalities or items, drawn by the seed.

    An added modality has one item. Items are removed so that no modality is lost. An
    added item is a tag without a medium, with a free number. With the same seed a
    larger ``k`` removes or adds the same and more.
    """
    chance = random.Random(f"{damage} {seed}")
    if k < 0:
        gone = set(_chosen_items(content, damage, -k, chance))
        return Interleaved(
            tuple(part for at, part in enumerate(content.parts) if at not in gone)
        )
    for kind in _chosen_kinds(content, damage, k, chance):
        content = _with_one_more(content, kind, chance)
    return content


def curve(
    answers: Sequence[Interleaved], damage: Damage, *, draws: int = 1
) -> list[Point]:
    """The mean structure scores of damaged answers against themselves, by ``k``. Every
    answer is damaged ``draws`` times for each of the paper's ``k``, each time by
    another seed."""
    return [
        _mean(
            k,
            (
                _scored(answer, damage, k, seed)
                for seed in range(draws)
                for answer in answers
            ),
        )
        for k in STEPS
    ]


def _tagged(parts: Sequence[Part]) -> list[int]:
    """The places of items with a tag."""
    return [
        at
        for at, part in enumerate(parts)
        if part.raw and label_kind(part.label) in MODALITIES
    ]


def _chosen_items(
    content: Interleaved, damage: Damage, wanted: int, chance: random.Random
) -> list[int]:
    """Which items go."""
    tagged = _tagged(content.parts)
    if damage == "RT":
        gone = set(_sampled(sorted(items_of(content)), wanted, chance))
        return [at for at in tagged if content.parts[at].kind in gone]
    stays = {
        kind: chance.choice([at for at in tagged if content.parts[at].kind == kind])
        for kind in items_of(content)
    }
    return _sampled([at for at in tagged if at not in stays.values()], wanted, chance)


def _chosen_kinds(
    content: Interleaved, damage: Damage, wanted: int, chance: random.Random
) -> list[PartKind]:
    """The modalities of the added items."""
    there = sorted(items_of(content))
    if damage == "RT":
        return _sampled(
            [kind for kind in MODALITIES if kind not in there], wanted, chance
        )
    return chance.choices(there, k=wanted) if there else _sampled(there, wanted, chance)


def _sampled(those: Sequence[_T], wanted: int, chance: random.Random) -> list[_T]:
    # with one seed, a shorter list is the beginning of a longer one
    return chance.sample(those, len(those))[:wanted]


def _with_one_more(
    content: Interleaved, kind: PartKind, chance: random.Random
) -> Interleaved:
    """Add a tag after one of the parts."""
    taken = {part.label for part in content.parts}
    number = next(number for number in count(1) if f"{kind}{number}" not in taken)
    tag = render(kind, number)  # type: ignore[arg-type]  # MODALITIES are kinds of tags
    at = chance.randint(0, len(content.parts))
    new = (text_part(" "), Part(kind, raw=tag, label=f"{kind}{number}"), text_part(" "))
    return Interleaved((*content.parts[:at], *new, *content.parts[at:]))


def _scored(
    answer: Interleaved, damage: Damage, k: int, seed: int
) -> tuple[Fraction, Fraction]:
    damaged = Trial(
        Sample("gold", (), (answer,)), output=perturb(answer, damage, k, seed=seed)
    )
    found = structures_of(damaged, mode="occurrences", unit="tags", spelling="tag")
    assert not isinstance(found, Score)  # both sides are there
    strict, lenient = strict_fraction(found), lenient_fraction(found)
    # an eligible answer has modalities
    assert strict is not None and lenient is not None
    return strict, lenient


def _mean(k: int, scores: Iterable[tuple[Fraction, Fraction]]) -> Point:
    strict, lenient = zip(*scores, strict=True)
    return Point(
        k,
        sum(strict, Fraction()) / len(strict),
        sum(lenient, Fraction()) / len(lenient),
    )
