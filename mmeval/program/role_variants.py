"""Variants of a role for one kind of medium, such as ``captioner.audio``.

Few models read every kind of medium, so a run may use several backends to describe
media. A call about a kind goes to its variant if the run has one, else to the role
itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from mmeval.errors import UsageError, did_you_mean
from mmeval.media.media import MEDIA_KINDS
from mmeval.media.parts import PartKind
from mmeval.program.calls import Role
from mmeval.records.request import GenerationParams

BY_KIND = ("captioner",)
"""The arguments of metrics whose roles may have variants. A metric with such an
argument calls ``Role.variant``."""


def variant(role: str, kind: PartKind) -> str:
    """Returns the name of a role's variant, such as ``captioner.audio``."""
    return f"{role}.{kind}"


def variants(role: str) -> dict[str, PartKind]:
    """Returns the names of all possible variants of a role, each with its kind."""
    return {variant(role, kind): kind for kind in MEDIA_KINDS}


def has_role(role: str, present: Collection[str]) -> bool:
    """Returns True if a run with these roles has the role or a variant of it."""
    return role in present or not variants(role).keys().isdisjoint(present)


def with_variants(
    roles: Iterable[str], by_kind: Iterable[str], present: Collection[str]
) -> tuple[str, ...]:
    """Returns the called roles, and the run's variants of the roles in ``by_kind``."""
    called = dict.fromkeys(roles)
    for role in by_kind:
        for name in variants(role):
            if name in present:
                called[name] = None
    return tuple(called)


def role_for(
    name: str, params: Mapping[str, GenerationParams], present: Collection[str]
) -> Role:
    """Returns a role with those variants of it that the run has.

    A variant without parameters uses the role's parameters.
    """
    role_params = params.get(name, GenerationParams())
    present_variants: dict[PartKind, Role] = {}
    for variant_name, kind in variants(name).items():
        if variant_name in present:
            variant_params = params.get(variant_name, role_params)
            present_variants[kind] = Role(variant_name, variant_params)
    return Role(name, role_params, present_variants)


def check_variants(roles: Iterable[str], called: Collection[str]) -> None:
    """Raises UsageError for an unknown variant of a role in ``called``."""
    for role in roles:
        base, dot, kind = role.partition(".")
        if dot and base in called and kind not in MEDIA_KINDS:
            names = [variant(base, media_kind) for media_kind in MEDIA_KINDS]
            raise UsageError(
                f"--role {role}: {kind!r} is not a kind of "
                f"medium{did_you_mean(role, names)} (the variants are "
                f"{', '.join(names)})"
            )
