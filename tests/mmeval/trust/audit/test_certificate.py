from pathlib import Path

from mmeval.trust.audit.audit import audit
from mmeval.trust.audit.calls import Call
from mmeval.trust.audit.certificate import Certificate, write_certificate

HOSTILE = "<script>alert(1)</script>"


def certificate(name: str) -> Certificate:
    calls = [Call("swap", "t", "s", first=0.6, again=0.5, changed=0.1)]
    return Certificate(name, name, (name,), 1, 1, "abc", audit(calls))


def test_names_are_escaped_on_the_page() -> None:
    page = certificate(HOSTILE).page()
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page


def test_the_page_states_each_check(tmp_path: Path) -> None:
    page = write_certificate(certificate("j"), tmp_path).read_text()
    assert '<th scope="row">swap</th>' in page
    assert "unknown" in page
