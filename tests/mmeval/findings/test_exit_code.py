import pytest

from mmeval.findings.exit_code import exit_code
from mmeval.findings.finding import Finding, Kind


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        ((), 0),
        (("missing_role",), 4),
        (("unscored",), 3),
        (("task_file",), 2),
        (("plugin",), 1),
        (("unscored", "suspended", "missing_key"), 4),
        (("missing_data", "task_file"), 2),
    ],
)
def test_the_first_error_to_correct_decides(kinds: tuple[Kind, ...], code: int) -> None:
    assert exit_code(Finding(kind, severity="error") for kind in kinds) == code


def test_warnings_and_notes_do_not_count() -> None:
    findings = [Finding("missing_role"), Finding("task_file", severity="note")]
    assert exit_code(findings) == 0
