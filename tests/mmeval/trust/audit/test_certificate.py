from pathlib import Path

from mmeval.trust.audit.audit import audit
from mmeval.trust.audit.calls import Call
from mmeval.trust.audit.certificate import Certificate, write_certificate

HOSTILE = "<script>alert(1)</script>"


def certificate(name: str, *checks: str) -> Certificate:
    calls = []
    for check in checks or ("swap",):
        calls.append(Call(check, "t", "s", first=0.6, again=0.5, changed=0.1))
    return Certificate(name, name, (name,), 1, 1, "abc", audit(calls))


def test_names_are_escaped_on_the_page() -> None:
    page = certificate(HOSTILE).page()
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page


def test_the_page_states_each_check(tmp_path: Path) -> None:
    page = write_certificate(certificate("j"), tmp_path).read_text()
    assert '<th scope="row">swap</th>' in page
    assert "unknown" in page


def test_an_audit_with_fewer_checks_leaves_the_certificate(tmp_path: Path) -> None:
    full = write_certificate(certificate("j", "swap", "blind"), tmp_path).read_text()
    page = write_certificate(certificate("j", "swap"), tmp_path)
    assert page.read_text() == full


def test_an_audit_with_more_checks_replaces_the_certificate(tmp_path: Path) -> None:
    write_certificate(certificate("j", "swap"), tmp_path)
    page = write_certificate(certificate("j", "swap", "blind"), tmp_path)
    assert '<th scope="row">blind</th>' in page.read_text()
