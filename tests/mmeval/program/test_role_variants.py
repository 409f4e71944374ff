import pytest

from mmeval.errors import UsageError
from mmeval.program.role_variants import (
    check_variants,
    has_role,
    role_for,
    with_variants,
)
from mmeval.records.request import GenerationParams


def test_the_variant_that_a_run_has_is_asked_about_its_kind_with_its_own_parameters_or_its_roles() -> (
    None
):
    role = role_for("captioner", {}, {"captioner", "captioner.audio", "judge.video"})
    assert (role.variant("audio").name, role.variant("video") is role) == (
        "captioner.audio",
        True,
    )
    params = {
        "captioner": GenerationParams(max_tokens=7),
        "captioner.video": GenerationParams(max_tokens=9),
    }
    role = role_for("captioner", params, {"captioner.audio", "captioner.video"})
    assert [
        role.variant(kind).params.max_tokens for kind in ("image", "audio", "video")
    ] == [7, 7, 9]


def test_a_role_is_played_where_one_of_its_variants_is() -> None:
    assert (
        has_role("captioner", {"captioner.3d"}),
        has_role("captioner", {"captioner.smell", "judge"}),
    ) == (True, False)


def test_variants_that_are_present_are_asked_too_of_roles_that_may_have_them() -> None:
    present = {"judge", "captioner.video", "judge.audio", "captioner.audio"}
    asked = ("judge", "captioner", "captioner.audio", "captioner.video")
    assert with_variants(("judge", "captioner"), ("captioner",), present) == asked


def test_a_kind_that_there_is_not_is_refused_with_a_near_name() -> None:
    check_variants(["captioner", "captioner.audio", "judge.v2"], {"captioner"})
    with pytest.raises(UsageError, match=r'captioner\.adio: .*"captioner\.audio"'):
        check_variants(["captioner.adio"], {"captioner"})
