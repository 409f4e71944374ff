import pytest

from mmeval.authoring.scaffold.names import PackageKind, package_name
from mmeval.errors import UsageError


@pytest.mark.parametrize(
    ("written", "module", "class_name"),
    [("herbench", "herbench", "Herbench"), ("Her-Bench", "her_bench", "HerBench")],
)
def test_a_package_has_a_name_to_install_and_one_to_import(written: str, module: str, class_name: str) -> None:
    found = package_name("benchmark", written)
    assert (found.name, found.module, found.class_name) == (written, module, class_name)


@pytest.mark.parametrize(
    ("written", "near"),
    [
        *[("her bench", '"her_bench"'), ("9 lives", '"lives"'), ("class", '"class_bench"')],
        *[("../x", '"x"'), ("Maße hér", '"masse_her"')],
        *[(written, "") for written in ("", "_x", "x-", "é", "a\n")],
    ],
)
def test_what_cannot_be_a_name_is_refused_with_one_that_can(written: str, near: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name") as caught:
        package_name("benchmark", written)
    assert near in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "written", "word"),
    [
        ("metric", "n" * 101, "101"),
        ("benchmark", "json", "Python's own"),
        ("benchmark", "NumPy", "installed already"),
        ("benchmark", "yaml", "imported here"),
        ("benchmark", "tests", "beside their module"),
        ("benchmark", "unim_hard", "task, group or tag"),
        ("metric", "exact-match", "a plugin of mmeval"),
    ],
)
def test_a_name_in_use_or_too_long_is_refused(kind: PackageKind, written: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        package_name(kind, written)


def test_a_name_of_the_greatest_length_is_taken_and_that_of_a_task_may_be_a_metric() -> None:
    assert package_name("metric", "n" * 100).module == "n" * 100
    assert package_name("metric", "unim_hard").module == "unim_hard"
