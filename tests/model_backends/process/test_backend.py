import ast
import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.authoring.testing import check_backend
from mmeval.errors import EXIT_MISSING, MmevalError, UsageError
from mmeval.media import Media, text_part
from mmeval.model_backends.process import ProcessBackend
from mmeval.records import GenerationParams, Request, Response, message
from tests.support.backend_runs import BAD, bad_command, bad_worker, noted, own_worker
from tests.support.cli import DEADLINE
from tests.support.tiny_media import picture


def made(folder: Path, **arguments: Any) -> ProcessBackend:
    return ProcessBackend(
        **{"command": [sys.executable, str(own_worker(folder))], **arguments}
    )


def answers(backend: ProcessBackend, *requests: Request) -> list[Response]:
    found = dict(backend.generate_batch(requests))
    asyncio.run(backend.close())
    return [found[row] for row in range(len(requests))]


@pytest.mark.parametrize("media", ["path", "inline"])
def test_the_worker_that_init_writes_keeps_the_rules_of_every_backend(
    media: str, tmp_path: Path
) -> None:
    backend = made(tmp_path, media=media)
    check_backend(backend)
    asyncio.run(backend.close())


def test_the_worker_that_init_writes_needs_python_3_8_alone_and_its_protocol_is_short(
    tmp_path: Path,
) -> None:
    text = own_worker(tmp_path).read_text()
    tree = ast.parse(text, feature_version=(3, 8))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    (serve,) = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == "serve"
    ]
    lines = (ast.get_source_segment(text, serve) or "").splitlines()
    assert imported - sys.stdlib_module_names == set()
    assert len([line for line in lines if line.strip()]) <= 40
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def test_an_answer_has_its_parts_in_the_order_of_the_worker(tmp_path: Path) -> None:
    request = Request((message("user", "a hare"),), wants=("audio", "text", "image"))
    (response,) = answers(made(tmp_path), request)
    assert response.output is not None
    assert [part.kind for part in response.output.parts] == ["audio", "text", "image"]


def test_what_a_library_prints_and_asks_for_harms_nothing(tmp_path: Path) -> None:
    serve = own_worker(tmp_path)
    text = serve.read_text()
    ask = "    for number, row in enumerate(rows):\n"
    assert text.count(ask) == 1
    noisy = (
        "    print('step 1')\n    os.system('echo step 2')\n    "
        "sys.stdout.write('step 3')\n    input('why? ')\n"
    )
    serve.write_text(text.replace(ask, noisy + ask))
    (response,) = answers(
        ProcessBackend(command=[sys.executable, str(serve)]),
        Request((message("user", "a"),)),
    )
    assert response.error is not None
    assert re.search(r"EOFError: .* \(serve\.py:\d+\)$", response.error.message)


def test_a_hello_with_an_unknown_kind_is_named_as_such(tmp_path: Path) -> None:
    serve = own_worker(tmp_path)
    serve.write_text(
        serve.read_text().replace(
            '"gives": ["text", "image"', '"gives": ["text", "imag"'
        )
    )
    with pytest.raises(UsageError, match=r"the worker's hello message: .*'imag'"):
        ProcessBackend(command=[sys.executable, str(serve)])


def test_a_worker_whose_disk_is_full_fails_the_rows_that_need_it_and_goes_on(
    tmp_path: Path,
) -> None:
    full = [
        "sh",
        "-c",
        'ulimit -f 0; exec "$@"',
        "sh",
        sys.executable,
        str(own_worker(tmp_path)),
    ]
    picture, words = (
        Request((message("user", "a"),), wants=(kind,)) for kind in ("image", "text")
    )
    backend = ProcessBackend(command=full, copies=0)
    found = [dict(backend.generate_batch([request]))[0] for request in (picture, words)]
    asyncio.run(backend.close())
    assert found[0].error is not None and found[0].error.message.startswith(
        "OSError: [Errno 27] File too large ("
    )
    assert found[1].error is None


def test_the_worker_that_init_writes_ends_where_its_last_line_is_cut(
    tmp_path: Path,
) -> None:
    ended = subprocess.run(
        [sys.executable, own_worker(tmp_path)],
        input=b'{"type": "lo',
        capture_output=True,
        timeout=DEADLINE,
    )
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["type"] == "hello"


def test_a_row_may_fail_without_a_message(tmp_path: Path) -> None:
    serve = own_worker(tmp_path)
    ask = "yield number, example(model, row)"
    serve.write_text(serve.read_text().replace(ask, 'yield number, Failed("too_long")'))
    (response,) = answers(
        ProcessBackend(command=[sys.executable, str(serve)]),
        Request((message("user", "a"),)),
    )
    assert response.error is not None
    assert response.error.kind == "too_long"


def test_media_have_names_that_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "wrong_answer.png").write_bytes(picture())
    worker = tmp_path / "worker.py"
    worker.write_text(
        BAD.read_text().replace(
            'part.get("text", "")', 'part.get("text") or part["path"] + "\\n"'
        )
    )
    backend = ProcessBackend(
        command=[sys.executable, str(worker), "none", str(tmp_path)]
    )
    media = [
        Media.from_path(tmp_path / "wrong_answer.png"),
        Media.from_bytes(picture(), "right_answer.png"),
    ]
    (response,) = answers(backend, Request((message("user", *media),)))
    assert [Path(line).name for line in response.text.splitlines()] == [
        f"{media[0].sha256}.png"
    ] * 2


def test_a_row_that_the_worker_does_not_take_is_not_sent(tmp_path: Path) -> None:
    image = Media.from_bytes(picture())
    backend = bad_worker("none", tmp_path, takes="text")
    rows = [
        Request((message("user", "one", image),)),
        Request((message("user", "two"),)),
    ]
    refused, answered = answers(backend, *rows)
    assert (refused.error.kind if refused.error else "") == "unsupported"
    assert answered.text == "two"
    assert [line.split()[1] for line in noted(tmp_path, "asked")] == ["two"]


def test_code_is_asked_for_as_text_and_placeholders_of_an_answer_are_found(
    tmp_path: Path,
) -> None:
    request = Request((message("user", text_part("see <image1>")),), wants=("code",))
    (response,) = answers(bad_worker("none", tmp_path), request)
    assert response.output is not None
    assert [(part.kind, part.dangling) for part in response.output.parts[:2]] == [
        ("text", False),
        ("image", True),
    ]


def test_arguments_and_what_the_worker_logs_arrive(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    backend = bad_worker("none", tmp_path, copies=0, devices="2,3", args={"steps": 4})
    answers(backend, Request((message("user", "a"),), GenerationParams(max_tokens=3)))
    assert [line.partition(" ")[2] for line in noted(tmp_path, "loads")] == [
        '{"steps": 4}'
    ]
    assert "worker: sees 2,3" in caplog.messages


# --- before anything is loaded --------------------------------------------------------


def test_a_backend_is_made_without_loading_anything_and_its_program_ends(
    tmp_path: Path,
) -> None:
    backend = bad_worker("none", tmp_path)
    assert backend.max_batch_size == 8
    assert backend.capabilities.output_mode == "interleaved"
    assert backend.capabilities.options == frozenset()
    assert noted(tmp_path, "loads") == []


def test_copies_are_told_apart_by_their_devices_and_one_copy_is_a_worker_too(
    tmp_path: Path,
) -> None:
    assert bad_worker("none", tmp_path).workers == ({"copies": 0, "devices": ""},)
    many = bad_worker("none", tmp_path, devices="0,1+2,3")
    assert many.workers == (
        {"copies": 0, "devices": "0,1"},
        {"copies": 0, "devices": "2,3"},
    )
    assert len(bad_worker("none", tmp_path, copies=3).workers) == 3
    copy = bad_worker("none", tmp_path, copies=0)
    asyncio.run(copy.close())
    assert copy.workers == ()
    assert many.provenance["devices"] == "0,1+2,3"


def test_the_identity_is_what_decides_an_answer_and_not_where_it_is_made(
    tmp_path: Path,
) -> None:
    worker, notes = tmp_path / "worker.py", tmp_path / "notes"
    worker.write_bytes(BAD.read_bytes())
    notes.mkdir()

    def identity(**arguments: Any) -> Mapping[str, Any]:
        given = {
            "command": f"{sys.executable} worker.py none {notes}",
            "cwd": str(tmp_path),
            **arguments,
        }
        return ProcessBackend(**given).identity

    before = identity()
    assert before == {
        "backend": "process",
        "model": "bad",
        "worker": {"checkpoint": "c"},
        "code": {"worker.py": before["code"]["worker.py"]},
    }
    same: list[dict[str, Any]] = [
        {"copies": 3},
        {"devices": "0+1"},
        {"media": "inline"},
        {"env": {"A": 1}},
    ]
    assert [identity(**one) for one in same] == [before] * 4
    (tmp_path / "elsewhere").mkdir()
    moved = worker.rename(tmp_path / "elsewhere" / "worker.py")
    assert identity(command=[sys.executable, str(moved), "none", str(notes)]) == before
    moved.write_bytes(BAD.read_bytes() + b"#")
    others = [identity(command=[sys.executable, str(moved), "none", str(notes)])]
    moved.rename(worker)
    worker.write_bytes(BAD.read_bytes())
    others += [
        identity(args={"steps": 4}),
        identity(name="good"),
        identity(code="worker.py+elsewhere"),
    ]
    (tmp_path / "elsewhere" / "model.py").write_text("x = 1")
    others += [identity(code="elsewhere")]
    assert [one == before for one in others] == [False, False, False, True, False]


def test_a_worker_that_changes_while_it_is_away_is_refused(tmp_path: Path) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(BAD.read_text())
    backend = ProcessBackend(
        command=[sys.executable, str(worker), "none", str(tmp_path)]
    )
    worker.write_text(BAD.read_text().replace('"checkpoint": "c"', '"checkpoint": "d"'))
    with pytest.raises(UsageError, match="hello"):
        backend.start()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"command": ""}, "command is empty"),
        ({"command": "python 'open"}, "quotation"),
        ({"command": "no-such-program serve.py"}, "'no-such-program' does not exist"),
        ({"cwd": "no-such-folder"}, "not a folder"),
        ({"code": "no-such-file.py"}, "no-such-file.py does not exist"),
        ({"takes": "text+video"}, "video is not one of"),
        ({"gives": "audio"}, "audio is not one of"),
        ({"mode": "wide"}, "interleaved"),
        ({"devices": "0+1", "copies": 3}, "2 copies"),
        ({"copies": -1}, "at least 0"),
        ({"hello_timeout": 0}, "hello_timeout=0 .* above 0"),
        ({"timeout": float("nan")}, "timeout=nan .* above 0"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_arguments_that_cannot_be_used_are_refused_by_name(
    arguments: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(MmevalError, match=words) as error:
        ProcessBackend(**{"command": bad_command("none", tmp_path), **arguments})
    assert error.value.exit_code in (2, EXIT_MISSING)


def test_what_the_worker_says_of_itself_can_be_narrowed(tmp_path: Path) -> None:
    narrow = bad_worker(
        "none", tmp_path, takes="text", gives="image", mode="single"
    ).capabilities
    assert {*narrow.inputs} == {"text", "code"}
    assert {*narrow.outputs} == {"image"}
    assert narrow.output_mode == "single"
    assert replace(narrow, options=None) != narrow
