"""Roles by kind of medium: ``captioner.audio`` beside ``captioner``.

Few models read every kind, so several backends may describe media: the one that a run
has for a kind is asked about it, and the role itself about all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from mmeval.errors import UsageError, did_you_mean
from mmeval.media.media import MEDIA_KINDS
from mmeval.media.parts import PartKind
from mmeval.program.calls import Role
from mmeval.records.request import GenerationParams

BY_KIND = ("captioner",)
"""The arguments of metrics whose roles may have variants. A metric that asks one of
them asks ``Role.variant``."""


def variant(role: str, kind: PartKind) -> str:
    """The name of a role's variant: ``captioner.audio``."""
    return f"{role}.{kind}"


def variants(role: str) -> dict[str, PartKind]:
    """The names of all variants that a role may have, with their kinds."""
    return {variant(role, kind): kind for kind in MEDIA_KINDS}


def played(role: str, present: Collection[str]) -> bool:
    """Whether a run with these roles has the role, or a variant of it."""
    return role in present or not variants(role).keys().isdisjoint(present)


def who_is_asked(
    roles: Iterable[str], by_kind: Iterable[str], present: Collection[str]
) -> tuple[str, ...]:
    """The roles that are asked, with the variants of ``by_kind`` that are present."""
    asked = dict.fromkeys(roles)
    for role in by_kind:
        for name in variants(role):
            if name in present:
                asked[name] = None
    return tuple(asked)


def role_for(
    name: str, params: Mapping[str, GenerationParams], present: Collection[str]
) -> Role:
    """A role with its present variants; one without parameters has the role's own."""
    own = params.get(name, GenerationParams())
    present_variants: dict[PartKind, Role] = {}
    for variant_name, kind in variants(name).items():
        if variant_name in present:
            variant_params = params.get(variant_name, own)
            present_variants[kind] = Role(variant_name, variant_params)
    return Role(name, own, present_variants)


def check_variants(roles: Iterable[str], asked: Collection[str]) -> None:
    """Raises UsageError for unknown ``captioner.KIND`` where ``captioner`` is asked.

    ``asked`` are the roles that may have variants.
    """
    for role in roles:
        base, dot, kind = role.partition(".")
        if dot and base in asked and kind not in MEDIA_KINDS:
            names = [variant(base, known) for known in MEDIA_KINDS]
            raise UsageError(
                f"--role {role}: {kind!r} is not a kind of "
                f"medium{did_you_mean(role, names)} (there are "
                f"{', '.join(names)})"
            )
