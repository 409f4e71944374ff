import pytest

from mmeval.system.version_requirement import parse_specifier, satisfies


@pytest.mark.parametrize(
    ("version", "specifier", "met"),
    [
        *(("0.2.0", ">=0.2", True), ("0.1.9", ">=0.2", False), ("0.10", ">=0.9", True), ("1.0", ">=0.2,<1", False)),
        *(("0.9.9", ">=0.2, <1", True), ("1.0.0", "==1", True), ("1.0.1", "!=1.0.1", False)),
        ("0.2.dev1", ">=0.2", True),
    ],
)
def test_a_version_meets_a_specifier_when_it_meets_every_clause(version: str, specifier: str, met: bool) -> None:
    assert satisfies(version, specifier) is met


@pytest.mark.parametrize("specifier", ["", "0.2", "~=1", ">=x", ">=1;<2"])
def test_what_is_no_specifier_is_refused(specifier: str) -> None:
    with pytest.raises(ValueError, match="no version requirement"):
        parse_specifier(specifier)
