from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, Part, media_part, text_part
from mmeval.errors import StorageError
from mmeval.records.response import Response, Usage
from mmeval.store.journal import MAX_READERS, Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.segment import JournalLine, Segment
from mmeval.store.spending import Payee
from mmeval.store.ticket import Ticket, raw_head
from mmeval.system.json_lines import to_line
from tests.support.toy import picture, reply, request

DYING = """
import os, sys
from pathlib import Path
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.segment import Segment
from tests.support.dying import after, die
from tests.support.toy import picture, reply
journal = Journal(Path("journal"), MediaStore(Path("media")))
journal.append("earlier", "d0", reply("before"))
after(Segment, sys.argv[1], 1, die)
journal.append("k", "d", reply("see <image1>", picture(7)))
"""
"""An answer with a medium, in a process that is killed after one step of keeping it."""


@contextmanager
def opened(folder: Path, *, writable: bool = True) -> Iterator[Journal]:
    journal = Journal(folder / "journal", MediaStore(folder / "media"), writable=writable)
    try:
        yield journal
    finally:
        journal.close()


def written(folder: Path, **answers: Response) -> Path:
    """A closed journal with these answers; the path of its segment."""
    with opened(folder) as journal:
        for key, response in answers.items():
            journal.append(key, f"digest of {key}", response)
    return max((folder / "journal").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)


def text_of(folder: Path, key: str) -> str | None:
    with opened(folder) as journal:
        entry = journal.get(key)
        return None if entry is None else entry.response.text


def in_process(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).parents[3])
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r})\n{program}", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_an_answer_comes_back_with_everything_in_it(tmp_path: Path) -> None:
    parts = (
        Part("reasoning", text="hm", raw="<think>hm</think>"),
        text_part("a pictu\u0000re: "),
        media_part(picture(3)),
    )
    kept = Response(
        Interleaved(parts), finish_reason="length", usage=Usage(5, 9), latency=0.25, served="m-2", warnings=("w",)
    )
    written(tmp_path, k=kept)

    with opened(tmp_path) as journal:
        entry = journal.get("k")

        assert entry is not None
        assert (entry.request_digest, entry.response) == ("digest of k", kept)
        assert entry.response.output is not None
        assert entry.response.output.media()[0].read() == picture(3).data


@pytest.mark.parametrize("text", ["\ud800 alone", "line\nbreak\u2028and more", "\x00", '"}\\'], ids=ascii)
def test_awkward_characters_survive_in_keys_and_answers(tmp_path: Path, text: str) -> None:
    written(tmp_path, **{text: reply(text)})

    assert text_of(tmp_path, text) == text


def test_an_answer_is_readable_at_once_and_says_from_when_it_is_later(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.append("k", "d", reply("now"))
        found = journal.get("k")
        assert found is not None
        assert found.response.text == "now"
        assert ("k" in journal, len(journal), journal.since) == (True, 1, "")
    with opened(tmp_path) as journal:
        assert journal.since.startswith("20")


def test_a_failure_is_recorded_but_never_answers(tmp_path: Path) -> None:
    segment = written(tmp_path, k=Response.failed("server", "gone"))

    assert '"failed":{' in segment.read_text()
    assert text_of(tmp_path, "k") is None


def test_the_answer_after_a_failure_counts(tmp_path: Path) -> None:
    written(tmp_path, k=Response.failed("server", "gone"))
    written(tmp_path, k=reply("back"))

    assert text_of(tmp_path, "k") == "back"


def test_segments_of_several_writers_are_read_together(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as other:
        one.append("a", "d", reply("first"))
        other.append("b", "d", reply("second"))

    assert (text_of(tmp_path, "a"), text_of(tmp_path, "b")) == ("first", "second")


@pytest.mark.parametrize("names", ["ab", "ba"], ids=["in their order", "against it"])
def test_of_two_answers_to_a_call_the_newer_one_counts_whatever_its_segment_is_called(
    tmp_path: Path, names: str
) -> None:
    for age, (name, text) in enumerate(zip(names, ("older", "newer"), strict=True)):
        line = {"k": "key", "d": f"asked {age}", "to": [], "t": 100.0 + age, "r": reply(text).to_json()}
        path = tmp_path / "journal" / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(to_line(line) + b"\n")

    assert text_of(tmp_path, "key") == "newer"


def test_a_torn_last_line_is_ignored(tmp_path: Path) -> None:
    segment = written(tmp_path, a=reply("whole"), b=reply("torn"))
    segment.write_bytes(segment.read_bytes()[:-10])

    with opened(tmp_path) as journal:
        assert ("a" in journal, "b" in journal, journal.damaged) == (True, False, [])


@pytest.mark.parametrize(
    "damage", [b"{not json", b"\xff\xfe", b"[1]", b'{"k": 7, "d": "d", "r": {}}', b'{"r": {}}'], ids=repr
)
def test_a_damaged_line_is_reported_by_its_number_and_left_out(tmp_path: Path, damage: bytes) -> None:
    segment = written(tmp_path, a=reply("one"), b=reply("two"), c=reply("three"))
    lines = segment.read_bytes().splitlines()
    segment.write_bytes(b"\n".join([lines[0], damage, lines[2]]) + b"\n")

    with opened(tmp_path) as journal:
        assert ("a" in journal, "b" in journal, "c" in journal) == (True, False, True)
        assert [place.split(": ")[0] for place in journal.damaged] == [f"{segment}:2"]


@pytest.mark.parametrize("step", ["_write_receipt", "_store_media", "write_line"])
def test_a_process_killed_while_it_keeps_an_answer_loses_nothing(tmp_path: Path, step: str) -> None:
    assert in_process(tmp_path, DYING, step).returncode == -9

    with opened(tmp_path) as journal:
        entry = journal.get("k")
        assert entry is not None
        assert entry.response.output is not None
        assert (entry.request_digest, entry.response.output.media()[0].read()) == ("d", picture(7).data)
        assert ("earlier" in journal, list((tmp_path / "journal" / "inbox").iterdir())) == (True, [])


@pytest.mark.parametrize("step", ["_write_receipt", "_store_media", "write_line"])
def test_a_process_killed_while_it_keeps_an_answer_to_a_changed_question_loses_nothing(
    tmp_path: Path, step: str
) -> None:
    written(tmp_path, k=reply("to the question before"))
    assert in_process(tmp_path, DYING, step).returncode == -9

    for _ in range(2):
        with opened(tmp_path) as journal:
            entry = journal.get("k")
            assert entry is not None
            assert (entry.request_digest, entry.response.text) == ("d", "see <image1>")


def test_a_finished_receipt_keeps_the_type_that_only_a_name_tells(tmp_path: Path) -> None:
    # A table and plain words look the same; only the name says which, and the record says it from then on.
    table = Media.from_bytes(b"a,b\n1,2\n", "t.csv")
    with opened(tmp_path) as journal:
        journal._own._write_receipt(
            {"k": "k", "d": "d", "to": []}, Response(Interleaved((media_part(table),))), [table]
        )
    with opened(tmp_path) as journal:
        entry = journal.get("k")
        assert entry is not None
        assert entry.response.output is not None
        medium = entry.response.output.media()[0]
        assert (medium.mime, medium.read(), medium.name) == ("text/csv", table.data, "t.csv")


@pytest.mark.parametrize("cut", [0, 5, -3], ids=["empty", "line torn", "medium torn"])
def test_a_damaged_receipt_is_reported_and_its_call_is_open(tmp_path: Path, cut: int) -> None:
    with opened(tmp_path) as journal:
        path = journal._own._write_receipt({"k": "k", "d": "d"}, reply("<image1>", picture()), [picture()])
        path.write_bytes(path.read_bytes()[:cut])

    aside = path.with_suffix(".damaged")
    with opened(tmp_path) as journal:
        assert ("k" in journal, path.exists(), aside.exists()) == (False, False, True)
        assert journal.damaged[0].startswith(str(aside))


def test_a_moved_run_folder_finds_its_media(tmp_path: Path) -> None:
    # The second answer repeats a stored picture, as an agent does that passes on what it was given.
    with opened(tmp_path / "old") as journal:
        stored = journal.append("a", "d", reply("<image1>", picture(5))).response
        journal.append("b", "d", stored)
    (tmp_path / "old").rename(tmp_path / "new")

    with opened(tmp_path / "new") as journal:
        for key in ("a", "b"):
            entry = journal.get(key)
            assert entry is not None
            assert entry.response.output is not None
            assert entry.response.output.media()[0].read() == picture(5).data


@pytest.mark.parametrize("in_place", [True, False], ids=["a data set's own stay there", "a model's are kept"])
def test_media_that_are_files_already(tmp_path: Path, in_place: bool) -> None:
    given = tmp_path / "given.png"
    given.write_bytes(picture().read())
    with opened(tmp_path) as journal:
        journal.append("k", "d", reply("<image1>", Media.from_path(given)), in_place=in_place)

    (segment,) = (tmp_path / "journal").glob("*.jsonl")
    medium = json.loads(segment.read_bytes())["r"]["output"][0]["media"]
    assert medium.get("path") == (str(given) if in_place else None)
    assert (tmp_path / "media").exists() is not in_place


def test_a_process_that_asks_nothing_leaves_no_segment(tmp_path: Path) -> None:
    with opened(tmp_path):
        pass

    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_more_segments_than_may_be_open_is_read(tmp_path: Path) -> None:
    for number in range(MAX_READERS + 3):
        written(tmp_path, **{f"k{number}": reply(f"answer {number}")})

    with opened(tmp_path) as journal:
        entries = [journal.get(f"k{number}") for number in range(MAX_READERS + 3)]
        assert [entry and entry.response.text for entry in entries] == [f"answer {n}" for n in range(MAX_READERS + 3)]
        assert len(journal._readers) == MAX_READERS


def test_an_answer_of_this_process_is_no_earlier_one(tmp_path: Path) -> None:
    written(tmp_path, old=reply("old"))
    with opened(tmp_path) as journal:
        journal.append("new", "d", reply("new"))
        found = [journal.get(key) for key in ("old", "new")]
        assert [entry is not None and entry.earlier for entry in found] == [True, False]


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    "big", [lambda: reply("x" * 9000), lambda: reply("<image1>", Media.from_bytes(bytes(9000)))], ids=["text", "media"]
)
def test_a_full_disk_is_one_clear_error_and_what_came_before_stays(tmp_path: Path, big: Callable[[], Response]) -> None:
    with opened(tmp_path) as journal:
        journal.append("a", "d", reply("before"))
        with file_limit(4000), pytest.raises(StorageError, match=r"File too large.*Everything before it is kept: free"):
            journal.append("b", "d", big())
        journal.append("c", "d", reply("after"))

    with opened(tmp_path) as journal:
        assert ("a" in journal, "b" in journal, "c" in journal, journal.damaged) == (True, False, True, [])


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a file where the folder should be")

    with (
        pytest.raises(StorageError, match=r"journal.*cannot be written \(.*\); choose another --output_path"),
        opened(tmp_path) as journal,
    ):
        journal.append("k", "d", reply("an answer"))


def test_a_journal_that_is_only_read_writes_nothing(tmp_path: Path) -> None:
    written(tmp_path, k=reply("kept"))
    before = sorted((tmp_path / "journal").iterdir())

    with opened(tmp_path, writable=False) as journal:
        assert "k" in journal
    assert sorted((tmp_path / "journal").iterdir()) == before


# --- lines of workers --------------------------------------------------------------------------------------------

MODEL = Payee("model", "m", local=True)


def worker_of(folder: Path) -> Segment:
    """What a worker process writes with."""
    return Segment(folder / "journal", MediaStore(folder / "media"))


def kept_by(worker: Segment, key: str, response: Response, *, draw: int = 0) -> tuple[Ticket, JournalLine]:
    """What a worker does with an answer before it tells of it."""
    ticket = Ticket("trial", key, by="t#0", to=MODEL, attempt=1, draw=draw)
    return ticket, worker.keep(raw_head(ticket, request(key)), response)


def calls(journal: Journal) -> int:
    return journal.spending.total.calls


def test_what_a_worker_has_written_is_an_answer_that_is_counted_and_not_written_again(tmp_path: Path) -> None:
    worker = worker_of(tmp_path)
    with opened(tmp_path) as journal:
        ticket, written = kept_by(worker, "k", reply("<image1>", picture(5)))
        journal.adopt(ticket, request("k").digest, worker.path, written)
        entry = journal.append("k", request("k").digest, written.response, to=MODEL, attempt=1)
        assert (entry.response, entry.raw, "k" in journal, calls(journal)) == (written.response, True, True, 2)

    with opened(tmp_path) as journal:
        found = journal.get("k")
        assert found is not None
        assert (found.response, found.raw, found.earlier, calls(journal)) == (written.response, True, True, 2)
    assert len(list((tmp_path / "journal").glob("*.jsonl"))) == 1


def test_what_is_made_of_a_worker_s_answer_stands_for_it_and_costs_nothing(tmp_path: Path) -> None:
    worker = worker_of(tmp_path)
    with opened(tmp_path) as journal:
        ticket, written = kept_by(worker, "k", reply("as it came"))
        journal.adopt(ticket, request("k").digest, worker.path, written)
        journal.append("k", request("k").digest, reply("as it is kept"), to=MODEL, attempt=1)
        assert calls(journal) == 2

    with opened(tmp_path) as journal:
        found = journal.get("k")
        assert found is not None
        assert (found.response.text, found.raw, calls(journal)) == ("as it is kept", False, 2)


def test_a_worker_s_answer_that_was_refused_answers_nothing_until_the_next_draw(tmp_path: Path) -> None:
    worker = worker_of(tmp_path)
    with opened(tmp_path) as journal:
        ticket, written = kept_by(worker, "k", reply("hm"))
        journal.adopt(ticket, request("k").digest, worker.path, written)
        journal.append("k", request("k").digest, Response.failed("bad_reply", "hm?"), refused=True)
        assert (journal.get("k"), journal.refusals("k")) == (None, 1)
        kept_by(worker, "k", reply("yes"), draw=1)

    assert text_of(tmp_path, "k") == "yes"


def test_what_a_dead_worker_had_written_and_not_told_is_recovered(tmp_path: Path) -> None:
    worker = worker_of(tmp_path)
    with opened(tmp_path) as journal:
        ticket, told = kept_by(worker, "told", reply("told"))
        journal.adopt(ticket, request("told").digest, worker.path, told)
        kept_by(worker, "line", reply("a line"))
        head = raw_head(Ticket("trial", "receipt", to=MODEL), request("receipt"))
        worker._write_receipt(head, reply("<image1>", picture(7)), [picture(7)])
        with worker.path.open("ab") as file:
            file.write(b'{"k":"torn')

        asked = {key: request(key).digest for key in ("line", "receipt", "torn", "never")}
        found = journal.recover(worker.path, asked)
        assert {key: response.text for key, response in found.items()} == {"line": "a line", "receipt": "<image1>"}
        assert calls(journal) == 2 + 2 + 1
        kept = journal.append("line", asked["line"], found["line"], to=MODEL)
        assert (kept.raw, calls(journal)) == (True, 5)
        assert journal.recover(worker.path, asked).keys() == found.keys()
        assert calls(journal) == 5


def test_a_receipt_of_the_next_draw_is_no_second_copy_of_the_answer_that_was_refused(tmp_path: Path) -> None:
    worker = worker_of(tmp_path)
    with opened(tmp_path) as journal:
        ticket, written = kept_by(worker, "k", reply("hm"))
        journal.adopt(ticket, request("k").digest, worker.path, written)
        journal.append("k", request("k").digest, Response.failed("bad_reply", "hm?"), refused=True)
        head = raw_head(Ticket("trial", "k", to=MODEL, draw=1), request("k"))
        worker._write_receipt(head, reply("yes <image1>", picture()), [picture()])

    assert text_of(tmp_path, "k") == "yes <image1>"


def test_a_damaged_receipt_of_a_dead_worker_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    worker = worker_of(tmp_path)
    with opened(tmp_path) as journal:
        path = worker._write_receipt({"k": "k", "d": "d"}, reply("<image1>", picture()), [picture()])
        path.write_bytes(path.read_bytes()[:-3])
        assert journal.recover(worker.path, {"k": "d"}) == {}
    assert "is damaged and was left out; what it answered is asked again" in caplog.text
