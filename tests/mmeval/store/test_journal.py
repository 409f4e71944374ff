import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import StorageError
from mmeval.findings.finding import Finding, Subject
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, media_part, text_part
from mmeval.records.response import Response, Usage
from mmeval.store.call_context import CallContext, raw_head
from mmeval.store.journal import MAX_READERS, Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.segment import JournalLine, Segment
from mmeval.store.spending import ModelEndpoint
from mmeval.system.json_lines import sealed, to_line
from tests.support.engine import file_limit, opened
from tests.support.toy import picture, reply, request

MODEL = ModelEndpoint("model", "m", local=True)


def written(folder: Path, **answers: Response) -> Path:
    """A closed journal with these answers; the path of its segment."""
    with opened(folder) as journal:
        for key, response in answers.items():
            journal.append(key, f"digest of {key}", response)
    return max(
        (folder / "journal").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns
    )


def texts_of(folder: Path) -> dict[str, str]:
    with opened(folder) as journal:
        keys = (
            "k",
            "a",
            "b",
            "c",
            "\ud800\u2028\x00",
            *(f"k{at}" for at in range(MAX_READERS + 3)),
        )
        return {key: entry.response.text for key in keys if (entry := journal.get(key))}


def kept_in(folder: Path, key: str = "k") -> tuple[str, Response, list[bytes]]:
    """What the journal answers: the digest of the request, the response, and the bytes
    of its media."""
    with opened(folder) as journal:
        entry = journal.get(key)
        assert entry is not None and entry.response.output is not None
        return (
            entry.request_digest,
            entry.response,
            [medium.read() for medium in entry.response.output.media()],
        )


class Killed(BaseException):
    """What nothing catches, in place of a signal."""


def test_an_answer_is_readable_at_once_and_a_later_session_reads_everything_in_it(
    tmp_path: Path,
) -> None:
    reasoning = Part("reasoning", text="hm", raw="<think>hm</think>")
    parts = Interleaved(
        (reasoning, text_part("a \u0000 \ud800: "), media_part(picture(3)))
    )
    kept = Response(
        parts,
        finish_reason="length",
        usage=Usage(5, 9),
        latency=0.25,
        served="m-2",
        warnings=("w",),
    )
    with opened(tmp_path) as journal:
        assert journal.since == ""
        journal.append("k", "d", kept)
        entry = journal.get("k")
        assert entry and (
            entry.response,
            entry.earlier,
            "k" in journal,
            len(journal),
        ) == (kept, False, True, 1)
    with opened(tmp_path, writable=False) as journal:
        entry = journal.get("k")
        assert entry and (entry.earlier, journal.since[:2]) == (True, "20")
    assert kept_in(tmp_path) == ("d", kept, [picture(3).data])
    assert len(list((tmp_path / "journal").glob("*.jsonl"))) == 1


def test_a_failure_is_recorded_and_never_answers_and_the_answer_after_it_counts(
    tmp_path: Path,
) -> None:
    segment = written(tmp_path, k=Response.failed("server", "gone"))
    assert ('"failed":{' in segment.read_text(), texts_of(tmp_path)) == (True, {})
    written(tmp_path, **{"k": reply("back"), "\ud800\u2028\x00": reply("odd")})
    assert texts_of(tmp_path) == {"k": "back", "\ud800\u2028\x00": "odd"}


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_of_two_answers_to_a_call_the_newer_counts_in_any_order_of_segments(
    tmp_path: Path, names: str
) -> None:
    (tmp_path / "journal").mkdir()
    for age, (name, text) in enumerate(zip(names, ("older", "newer"), strict=True)):
        line = {
            "k": "k",
            "d": f"asked {age}",
            "to": [],
            "t": 100.0 + age,
            "r": reply(text).to_json(),
        }
        (tmp_path / "journal" / f"{name}.jsonl").write_bytes(sealed(to_line(line)))
    assert texts_of(tmp_path) == {"k": "newer"}


@pytest.mark.parametrize(
    "damage", [b"\xff{", b"[1]", b'{"k": 7, "d": "d", "r": {}}'], ids=repr
)
def test_a_damaged_line_is_reported_by_its_number_and_a_torn_one_is_left_out(
    tmp_path: Path, damage: bytes
) -> None:
    segment = written(tmp_path, a=reply("one"), b=reply("two"), c=reply("three"))
    lines = segment.read_bytes().splitlines()
    segment.write_bytes(b"\n".join([lines[0], damage, lines[2], lines[1][:-10]]))
    with opened(tmp_path) as journal:
        assert ("a" in journal, "b" in journal, "c" in journal) == (True, False, True)
        assert [line.place for line in journal.damaged] == [f"{segment}:2"]


def spoilt(folder: Path) -> Path:
    """A journal of three answers, the second of which is damaged."""
    segment = written(folder, a=reply("one"), b=reply("two"), c=reply("three"))
    first, second, third = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(first + second[:40] + b"\n" + third)
    return segment


def test_a_damaged_line_is_a_finding_with_the_command_that_asks_again(
    tmp_path: Path,
) -> None:
    segment = spoilt(tmp_path)
    with opened(tmp_path, writable=False) as journal:
        (found,) = journal.findings("mmeval run --tasks t")
    assert found == Finding(
        "damaged",
        Subject(file=f"journal/{segment.name}", line=2),
        cause="its checksum is missing or wrong",
        remedy="mmeval run --tasks t",
    )


def test_a_damaged_line_that_was_asked_again_is_no_finding_and_another_one_is(
    tmp_path: Path,
) -> None:
    segment = spoilt(tmp_path)
    with opened(tmp_path) as journal:
        (line,) = journal.damaged
    with segment.open("ab") as file:
        file.write(b"damaged later\n")
    with opened(tmp_path) as journal:
        (found,) = journal.findings("", asked_again=[line.digest])
    assert found.subject.line == 4


def test_each_damaged_line_is_a_finding(tmp_path: Path) -> None:
    segment = spoilt(tmp_path)
    segment.write_bytes(b"".join(b"%d\n" % number for number in range(7)))
    with opened(tmp_path) as journal:
        found = list(journal.findings(""))
    assert [finding.subject.line for finding in found] == [1, 2, 3, 4, 5, 6, 7]


def test_a_blank_line_is_damaged(tmp_path: Path) -> None:
    segment = spoilt(tmp_path)
    segment.write_bytes(b"     \n")
    with opened(tmp_path) as journal:
        assert [line.place for line in journal.damaged] == [f"{segment}:1"]


@pytest.mark.parametrize("step", ["_write_receipt", "_store_media", "write_line"])
def test_a_process_killed_while_it_keeps_an_answer_loses_nothing(
    tmp_path: Path, step: str, monkeypatch: Any
) -> None:
    usual = getattr(Segment, step)

    def killed(*given: Any, **more: Any) -> None:
        usual(*given, **more)
        raise Killed

    written(tmp_path, k=reply("to the question before"), a=reply("before"))
    with opened(tmp_path) as journal:
        monkeypatch.setattr(Segment, step, killed)
        with pytest.raises(Killed):
            journal.append("k", "d", reply("see <image1>", picture(7)))
    monkeypatch.undo()
    for _ in range(2):
        digest, response, media = kept_in(tmp_path)
        assert (digest, response.text, media) == (
            "d",
            "see <image1>",
            [picture(7).data],
        )
    assert (
        texts_of(tmp_path)["a"],
        list((tmp_path / "journal" / "inbox").iterdir()),
    ) == ("before", [])


def test_a_finished_receipt_keeps_the_type_that_only_a_name_shows(
    tmp_path: Path,
) -> None:
    table = Media.from_bytes(b"a,b\n1,2\n", "t.csv")
    with opened(tmp_path) as journal:
        answer = Response(Interleaved((media_part(table),)))
        journal._own_segment._write_receipt(
            {"k": "k", "d": "d", "to": []}, answer, [table]
        )
    _, response, media = kept_in(tmp_path)
    assert response.output is not None and media == [table.data]
    assert [(medium.mime, medium.name) for medium in response.output.media()] == [
        ("text/csv", "t.csv")
    ]


@pytest.mark.parametrize("cut", [0, 5, -3], ids=["empty", "line torn", "medium torn"])
def test_a_damaged_receipt_is_reported_and_its_call_is_open(
    tmp_path: Path, cut: int
) -> None:
    with opened(tmp_path) as journal:
        path = journal._own_segment._write_receipt(
            {"k": "k", "d": "d"}, reply("<image1>", picture()), [picture()]
        )
        path.write_bytes(path.read_bytes()[:cut])
    aside = path.with_suffix(".damaged")
    with opened(tmp_path) as journal:
        assert ("k" in journal, path.exists(), aside.exists()) == (False, False, True)
        assert journal.damaged[0].place == str(aside)
    with opened(tmp_path, writable=False) as journal:
        (found,) = journal.findings("mmeval run")
        (receipt,) = journal.damaged
        assert not list(journal.findings("mmeval run", [receipt.digest]))
    assert found.subject == Subject(file=f"journal/inbox/{aside.name}")


def test_a_moved_run_folder_finds_its_media(tmp_path: Path) -> None:
    with opened(
        tmp_path / "old"
    ) as journal:  # the second answer repeats a stored picture, as an agent's may
        stored = journal.append("a", "d", reply("<image1>", picture(5))).response
        journal.append("b", "d", stored)
    (tmp_path / "old").rename(tmp_path / "new")
    assert [kept_in(tmp_path / "new", key)[2] for key in "ab"] == [
        [picture(5).data]
    ] * 2


@pytest.mark.parametrize("in_place", [True, False], ids=["of a data set", "of a model"])
def test_files_of_a_data_set_stay_where_they_are_and_those_of_a_model_are_kept(
    tmp_path: Path, in_place: bool
) -> None:
    given = tmp_path / "given.png"
    given.write_bytes(picture().read())
    with opened(tmp_path) as journal:
        journal.append(
            "k", "d", reply("<image1>", Media.from_path(given)), in_place=in_place
        )
    (segment,) = (tmp_path / "journal").glob("*.jsonl")
    medium = json.loads(segment.read_bytes())["r"]["output"][0]["media"]
    assert medium.get("path") == (str(given) if in_place else None)
    assert (tmp_path / "media").exists() is not in_place


def test_a_folder_with_more_segments_than_may_be_open_is_read(tmp_path: Path) -> None:
    answers = {f"k{number}": f"answer {number}" for number in range(MAX_READERS + 3)}
    for key, text in answers.items():
        written(tmp_path, **{key: reply(text)})
    assert texts_of(tmp_path) == answers
    with opened(tmp_path) as journal:
        assert all(journal.get(key) for key in answers)
        assert len(journal._readers) == MAX_READERS


@pytest.mark.parametrize(
    "big", [reply("x" * 9000), reply("<image1>", Media.from_bytes(bytes(9000)))]
)
def test_a_full_disk_is_one_error_and_what_came_before_stays(
    tmp_path: Path, big: Response
) -> None:
    with opened(tmp_path) as journal:
        journal.append("a", "d", reply("before"))
        with file_limit(4000), pytest.raises(StorageError, match="File too large"):
            journal.append("b", "d", big)
        journal.append("c", "d", reply("after"))
    assert texts_of(tmp_path) == {"a": "before", "c": "after"}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a file where the folder should be")
    with (
        pytest.raises(StorageError, match=r"journal.*--output_path"),
        opened(tmp_path) as journal,
    ):
        journal.append("k", "d", reply("an answer"))


class Worker:
    """A worker process beside an open journal, to which it reports what it has
    written."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self.segment = Segment(folder / "journal", MediaStore(folder / "media"))
        self.journal = journal

    def keep(
        self, key: str, response: Response, *, draw: int = 0
    ) -> tuple[CallContext, JournalLine]:
        context = CallContext("trial", key, by="t#0", to=MODEL, attempt=1, draw=draw)
        return context, self.segment.keep(raw_head(context, request(key)), response)

    def report(self, key: str, response: Response) -> JournalLine:
        context, line = self.keep(key, response)
        self.journal.adopt(context, request(key).digest, self.segment.path, line)
        return line

    def receipt(self, key: str, response: Response, *, draw: int = 0) -> None:
        head = raw_head(CallContext("trial", key, to=MODEL, draw=draw), request(key))
        self.segment._write_receipt(head, response, [picture(7)])


def calls(journal: Journal) -> int:
    return journal.spending.total.calls


@pytest.mark.parametrize("kept", ["as it came", "as it is kept"])
def test_what_a_worker_has_written_is_counted_once(tmp_path: Path, kept: str) -> None:
    raw = kept == "as it came"
    with opened(tmp_path) as journal:
        worker = Worker(tmp_path, journal)
        line = worker.report("k", reply("as it came"))
        answer = line.response if raw else reply(kept)
        journal.append("k", request("k").digest, answer, to=MODEL, attempt=1)
        assert ("k" in journal, calls(journal)) == (True, 2)
    with opened(tmp_path) as journal:
        found = journal.get("k")
        assert found and (
            found.response.text,
            found.raw,
            found.earlier,
            calls(journal),
        ) == (kept, raw, True, 2)
    assert len(list((tmp_path / "journal").glob("*.jsonl"))) == (1 if raw else 2)


@pytest.mark.parametrize("as_receipt", [False, True])
def test_a_refused_answer_of_a_worker_answers_nothing(
    tmp_path: Path, as_receipt: bool
) -> None:
    with opened(tmp_path) as journal:
        worker = Worker(tmp_path, journal)
        worker.report("k", reply("hm"))
        journal.append(
            "k", request("k").digest, Response.failed("bad_reply", "hm?"), refused=True
        )
        assert (journal.get("k"), journal.refusals("k")) == (None, 1)
        if as_receipt:
            worker.receipt("k", reply("<image1>", picture(7)), draw=1)
        else:
            worker.keep("k", reply("yes"), draw=1)
    assert texts_of(tmp_path) == {"k": "<image1>" if as_receipt else "yes"}


def test_what_a_dead_worker_had_written_and_not_reported_is_recovered_once(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as journal:
        worker = Worker(tmp_path, journal)
        worker.report("reported", reply("reported"))
        worker.keep("line", reply("a line"))
        worker.receipt("receipt", reply("<image1>", picture(7)))
        with worker.segment.path.open("ab") as file:
            file.write(b'{"k":"torn')
        asked = {
            key: request(key).digest for key in ("line", "receipt", "torn", "never")
        }
        found = journal.recover(worker.segment.path, asked)
        assert {key: response.text for key, response in found.items()} == {
            "line": "a line",
            "receipt": "<image1>",
        }
        assert calls(journal) == 2 + 2 + 1
        kept = journal.append("line", asked["line"], found["line"], to=MODEL)
        assert (kept.raw, calls(journal)) == (True, 5)
        assert (journal.recover(worker.segment.path, asked).keys(), calls(journal)) == (
            found.keys(),
            5,
        )


def test_a_damaged_receipt_of_a_dead_worker_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path) as journal:
        worker = Worker(tmp_path, journal)
        path = worker.segment._write_receipt(
            {"k": "k", "d": "d"}, reply("<image1>", picture()), [picture()]
        )
        path.write_bytes(path.read_bytes()[:-3])
        assert journal.recover(worker.segment.path, {"k": "d"}) == {}
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_journal_that_counts_no_spending_has_the_same_answers(
    tmp_path: Path,
) -> None:
    written(tmp_path, k=Response.failed("server", "gone"), b=reply("first"))
    written(tmp_path, **{"k": reply("back"), 'quoted "key"': reply("odd")})
    folder, media = tmp_path / "journal", MediaStore(tmp_path / "media")
    journal = Journal(folder, media, writable=False, counts_spending=False)
    texts = []
    for key in ("k", "b", 'quoted "key"'):
        entry = journal.get(key)
        texts.append(entry and entry.response.text)
    journal.close()
    assert texts == ["back", "first", "odd"]
