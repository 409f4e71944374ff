import pytest

from mmeval.system.version_requirement import satisfies


def test_a_version_meets_a_specifier_when_it_meets_every_clause() -> None:
    expected = {
        ("0.2.0", ">=0.2"): True,
        ("0.1.9", ">=0.2"): False,
        ("0.10", ">=0.9"): True,
        ("1.0", ">=0.2,<1"): False,
        ("0.9.9", ">=0.2, <1"): True,
        ("1.0.0", "==1"): True,
        ("1.0.1", "!=1.0.1"): False,
        ("0.2.dev1", ">=0.2"): True,
        ("1.4", "~=1.2"): True,
        ("2.0", "==1.*"): False,
    }
    assert {case: satisfies(*case) for case in expected} == expected
    for specifier in ("", "0.2", "~=1", ">=x", ">=1;<2"):
        with pytest.raises(ValueError, match="not a version requirement"):
            satisfies("1", specifier)
