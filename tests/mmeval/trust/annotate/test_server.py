"""The server of the page for raters, over a real socket."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.media.media import Media
from mmeval.trust.annotate.server import (
    MAX_RANGE,
    OWN_ASSETS,
    REPORT_ASSETS,
    Completion,
)
from tests.support.annotation import MODEL, Client, Served, asked, run_to_rate, served
from tests.support.stored_runs import WrittenTrial, text, write_run
from tests.support.tiny_media import wav

SECRETS = (
    MODEL,
    "teller-1",
    "secret-run",
    "guest-0",
    "greeting",
    "polite_metric",
    "judge-reason",
    "judge-words",
    "0.3125",
)
"""The model, its server, the run, a sample, its task, a metric, what its judge said, and
a score."""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Served]:
    run = run_to_rate(tmp_path / "secret-run")
    with served(run, ask=asked(tmp_path), raters=("ann", "bob")) as found:
        yield found


@pytest.fixture
def ann(session: Served) -> Client:
    return session.rater("ann")


def test_the_page_has_the_policy_of_the_report(ann: Client) -> None:
    reply = ann.get("")
    assert reply.status == 200
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'" in policy
    assert reply.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/", "/next", "/x.y/", "/assets/dom.js", "/YW5u./"])
def test_without_a_token_nothing_is_shown(session: Served, path: str) -> None:
    assert Client(session.port).send("GET", path, None).status == 403


def test_a_link_without_its_last_slash_leads_to_the_page(
    session: Served, ann: Client
) -> None:
    reply = Client(session.port).send("GET", ann.base.rstrip("/"), None)
    assert (reply.status, reply.headers["Location"]) == (303, ann.base)


def test_a_rater_who_is_not_asked_has_no_page(session: Served) -> None:
    assert session.rater("eve").get("").status == 403


def test_the_open_link_of_other_sessions_is_closed(session: Served) -> None:
    assert session.rater("\0everyone").get("?PROLIFIC_PID=5f").status == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", ""])
def test_a_foreign_host_is_refused(ann: Client, host: str) -> None:
    assert ann.get("next", {"Host": host}).status == 403


@pytest.mark.parametrize(
    "path",
    [
        "assets/../../../run.json",
        "assets/%2e%2e/run.json",
        "assets//etc/passwd",
        "assets/index.html.jinja",
        "media/../run.json",
        "media//etc/passwd",
        "media/",
        "run.json",
    ],
)
def test_no_path_leads_to_another_file(ann: Client, path: str) -> None:
    assert ann.get(path).status == 404


def test_a_rating_is_sent_as_json(ann: Client, session: Served) -> None:
    name = ann.get("next").json["id"]
    reply = ann.post(
        {"id": name, "chosen": 0},
        kind="text/plain",
    )
    assert reply.status == 415
    assert session.ratings == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ([], 400),
        ({}, 409),
        ({"id": "0" * 32, "chosen": 1}, 409),
        ({"id": "x" * 300_000}, 413),
    ],
)
def test_a_body_that_does_not_fit_is_refused(
    ann: Client, body: object, status: int
) -> None:
    assert ann.post(body).status == status


def test_a_rater_cannot_rate_for_another(session: Served) -> None:
    name = session.rater("ann").get("next").json["id"]
    assert session.rater("bob").post({"id": name, "chosen": 1}).status == 409


def test_nothing_sent_names_model_run_score_or_judge(
    session: Served, ann: Client
) -> None:
    sent = b""
    for name in ("", *(f"assets/{file}" for file in OWN_ASSETS + REPORT_ASSETS)):
        sent += ann.get(name).body
    for _ in range(4):
        reply = ann.get("next")
        sent += reply.body + str(reply.headers).encode()
        sent += ann.rate(1).body
    sent += ann.get("next").body + ann.get("previous").body
    for secret in SECRETS:
        assert secret.encode() not in sent, secret


def test_media_have_opaque_addresses(tmp_path: Path) -> None:
    sound = tmp_path / "made-by-secret-model.wav"
    sound.write_bytes(wav())
    media = Media.from_path(sound).to_json()
    part = {"type": "audio", "media": media, "raw": "<audio1>", "label": "audio1"}
    run = write_run(
        tmp_path / "run",
        [WrittenTrial([text("?")], [part])],
    )
    with served(run, ask=asked(tmp_path)) as session:
        rater = session.rater("rater")
        page = rater.get("next")
        (shown,) = page.json["answers"][0]
        whole = rater.get(shown["src"])
        part_of_it = rater.get(shown["src"], {"Range": "bytes=4-7"})
    assert re.fullmatch(r"media/[0-9a-f]{64}\.wav", shown["src"])
    assert media["sha256"] not in page.body.decode()
    assert b"secret-model" not in page.body
    assert whole.body == sound.read_bytes()
    assert (part_of_it.status, part_of_it.body) == (206, sound.read_bytes()[4:8])


def test_a_person_of_prolific_gets_a_page_and_the_code(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 1)
    completion = Completion("DONE1")
    with served(run, ask=asked(tmp_path), completion=completion) as session:
        link = session.rater("\0everyone")
        moved = link.get("?PROLIFIC_PID=5f1c&STUDY_ID=1&SESSION_ID=2")
        person = Client(session.port, moved.headers["Location"])
        early = person.get("end")
        person.rate(1)
        finished = person.get("next").json
        end = person.get("end")
        (rating,) = session.ratings
    assert (moved.status, early.status, end.status) == (303, 409, 303)
    assert finished["leads_on"]
    assert end.headers["Location"].endswith(
        "prolific.com/submissions/complete?cc=DONE1"
    )
    assert "5f1c" not in rating.rater


def test_a_player_gets_a_large_file_piece_by_piece(tmp_path: Path) -> None:
    sound = tmp_path / "long.wav"
    sound.write_bytes(wav() + b"\0" * MAX_RANGE)
    media = Media.from_path(sound).to_json()
    part = {"type": "audio", "media": media, "raw": "<audio1>", "label": "audio1"}
    run = write_run(
        tmp_path / "run",
        [WrittenTrial([text("?")], [part])],
    )
    with served(run, ask=asked(tmp_path)) as session:
        rater = session.rater("rater")
        (shown,) = rater.get("next").json["answers"][0]
        first = rater.get(shown["src"], {"Range": "bytes=0-"})
        rest = rater.get(shown["src"], {"Range": f"bytes={MAX_RANGE}-"})
    assert len(first.body) == MAX_RANGE
    assert first.body + rest.body == sound.read_bytes()
