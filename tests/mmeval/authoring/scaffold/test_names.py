import pytest

from mmeval.authoring.scaffold.names import PackageKind, package_name
from mmeval.errors import UsageError


def test_a_package_has_a_name_to_install_and_one_to_import() -> None:
    found = package_name("benchmark", "Her-Bench")
    assert (found.name, found.module, found.class_name) == (
        "Her-Bench",
        "her_bench",
        "HerBench",
    )
    assert package_name("metric", "n" * 100).module == "n" * 100
    assert package_name("metric", "unim_hard").module == "unim_hard", (
        "a metric may have the name of a task"
    )


def test_what_cannot_be_a_name_is_refused_with_one_that_can() -> None:
    near = {
        "her bench": '"her_bench"',
        "9 lives": '"lives"',
        "class": '"class_bench"',
        "../x": '"x"',
        "Maße hér": '"masse_her"',
    }
    for written in (*near, "", "_x", "x-", "é", "a\n"):
        with pytest.raises(UsageError, match="cannot be the name") as caught:
            package_name("benchmark", written)
        assert near.get(written, "") in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "written", "word"),
    [
        ("metric", "n" * 101, "101"),
        ("benchmark", "NumPy", "already installed"),
        ("benchmark", "yaml", "an installed module"),
        ("metric", "exact-match", "a plugin of mmeval"),
    ],
)
def test_a_name_in_use_or_too_long_is_refused(
    kind: PackageKind, written: str, word: str
) -> None:
    with pytest.raises(UsageError, match=word):
        package_name(kind, written)
