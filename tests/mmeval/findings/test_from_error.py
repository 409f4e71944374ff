import pytest

from mmeval.errors import (
    CorruptMediaError,
    MissingDataError,
    MissingError,
    MissingExtraError,
    PluginError,
    SampleError,
    StorageError,
    TaskFileError,
    UsageError,
)
from mmeval.findings.finding import Kind, Subject
from mmeval.findings.from_error import finding_of


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MissingDataError("x"), "missing_data"),
        (MissingError("x"), "missing_key"),
        (SampleError("x"), "bad_sample"),
        (CorruptMediaError("x"), "bad_sample"),
        (UsageError("x"), "setting"),
        (StorageError("x"), "machine"),
        (PluginError("x"), "plugin"),
        (ZeroDivisionError("x"), "plugin"),
    ],
)
def test_the_class_of_an_error_is_its_kind(error: Exception, kind: Kind) -> None:
    finding = finding_of(error, Subject(task="t"))
    assert (finding.kind, finding.subject.task) == (kind, "t")


def test_what_a_file_sets_wrongly_is_a_fault_of_the_file() -> None:
    subject = Subject(file="t.yaml", line=2)
    assert finding_of(UsageError("x"), subject).kind == "task_file"


def test_the_class_of_foreign_code_stands_before_its_message() -> None:
    assert finding_of(ZeroDivisionError("oops")).cause == "ZeroDivisionError: oops"


def test_a_task_file_has_its_line() -> None:
    error = TaskFileError("unknown key", file="t.yaml", line=3)
    finding = finding_of(error)
    subject = finding.subject
    assert (finding.cause, subject.file, subject.line) == ("unknown key", "t.yaml", 3)


def test_all_packages_of_an_extra_are_one_cause_with_its_command() -> None:
    finding, other_finding = (
        finding_of(MissingExtraError(package, "ocr"))
        for package in ("cv2", "tesseract")
    )
    assert finding == other_finding
    assert finding.remedy == MissingExtraError("cv2", "ocr").command
