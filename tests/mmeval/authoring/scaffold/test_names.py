import pytest

from mmeval.authoring.scaffold.names import PackageKind, package_name
from mmeval.errors import UsageError


@pytest.mark.parametrize(
    ("written", "module", "class_name"),
    [
        ("herbench", "herbench", "Herbench"),
        ("Her-Bench", "her_bench", "HerBench"),
        ("her.2", "her_2", "Her2"),
    ],
)
def test_a_package_has_a_name_to_install_and_one_to_import(written: str, module: str, class_name: str) -> None:
    found = package_name("benchmark", written)

    assert (found.name, found.module, found.class_name) == (written, module, class_name)


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("her bench", "her_bench"),
        ("9 lives", "lives"),
        ("class", "class_bench"),
        ("a/b", "a_b"),
        ("../x", "x"),
        ("Maße hér", "masse_her"),
    ],
)
def test_what_cannot_be_a_name_is_refused_with_one_that_can(written: str, near: str) -> None:
    with pytest.raises(UsageError, match=f'did you mean "{near}"'):
        package_name("benchmark", written)


@pytest.mark.parametrize("written", ["", "-", "_x", "x-", "é", "a\n", "--"])
def test_what_is_no_name_at_all_is_refused(written: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a package"):
        package_name("metric", written)


@pytest.mark.parametrize(
    ("kind", "written", "reason"),
    [
        ("metric", "n" * 300, "at most 100 letters, this one 300"),
        ("benchmark", "json", "a module of Python's own"),
        ("benchmark", "NumPy", "installed already"),
        ("benchmark", "yaml", "can be imported here already"),
        ("benchmark", "tests", "something that packages have beside their module"),
        ("backend", "conftest", "something that packages have beside their module"),
        ("benchmark", "unim", "a plugin of mmeval already"),
        ("benchmark", "unim_hard", "a task, group or tag already"),
        ("metric", "exact-match", "a plugin of mmeval already"),
        ("backend", "hf", "a plugin of mmeval already"),
    ],
)
def test_a_name_in_use_is_refused(kind: PackageKind, written: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        package_name(kind, written)
