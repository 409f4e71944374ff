import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mmeval.authoring.testing.media import small_media
from mmeval.errors import UsageError
from mmeval.media import Media
from mmeval.model_backends.sandbox import SandboxBackend
from mmeval.records import Request, user
from tests.support.sandbox import asking, bubblewrap, output_of, run_code


def test_an_answer_is_what_was_printed_and_the_files_of_output_by_name() -> None:
    response = run_code(
        "import shutil\nprint('two files')\nshutil.copy('input/image1.png', "
        "'output/b.png')\n"
        "open('output/a.csv', 'w').write('x,y')\nopen('elsewhere.txt', 'w').write('no "
        "output')",
        small_media("image"),
    )
    output = output_of(response)
    assert [part.kind for part in output.parts] == ["text", "document", "image"]
    assert output.parts[0].text == "two files\n"
    assert response.warnings == ()
    table, picture = output.media()
    assert table.mime == "text/csv"
    assert table.read() == b"x,y"
    assert picture == small_media("image")
    assert "a.csv" not in table.name


def test_a_program_that_fails_is_an_answer_with_its_traceback() -> None:
    response = run_code("print('before')\nraise ValueError('no such number')")
    assert response.text.startswith("before\n")
    assert (
        "ValueError: no such number" in response.text
        and "line 2, in <module>" in response.text
    )
    assert response.warnings[0] == "exit status 1"
    assert (
        output_of(run_code("import sys; sys.exit(7)")).text.strip() == "[exit status 7]"
    )


def test_a_program_that_fails_after_too_many_files_states_both() -> None:
    response = run_code(
        "for at in range(9): open(f'output/{at}.txt', 'w').write('x')\nraise "
        "ValueError('then')",
        files=3,
    )
    assert (
        response.warnings[0] == "exit status 1"
        and "limit of files" in response.warnings[1]
    )
    assert "ValueError: then" in response.text


def test_errors_of_a_program_that_succeeds_are_part_of_its_answer() -> None:
    response = run_code("import sys\nprint(1)\nprint('a sign', file=sys.stderr)")
    assert [part.text for part in output_of(response).parts] == [
        "1\n",
        "\n[errors of the program]\na sign\n",
    ]
    assert response.warnings == ("errors of the program: a sign",)


def test_a_program_can_import_what_it_writes_and_no_package_unless_asked_for() -> None:
    own = "open('own.py', 'w').write('x = 5')\nimport own\nprint(own.x)\n"
    assert run_code(own).text == "5\n"
    assert "ModuleNotFoundError" in run_code("import PIL").text
    assert run_code("import PIL, sys\nprint('there')", packages=True).text == "there\n"


def test_a_request_without_a_program_and_one_with_too_large_media_are_errors() -> None:
    bubblewrap()
    backend = SandboxBackend(memory_mb=1)
    without = asyncio.run(backend.generate(Request((user("What is 2 + 2?"),))))
    large = asyncio.run(
        backend.generate(asking("1", Media.from_bytes(bytes(2**20 + 1))))
    )
    assert [one.error and one.error.kind for one in (without, large)] == [
        "bad_request",
        "too_long",
    ]


def test_each_argument_is_part_of_the_identity() -> None:
    bubblewrap()
    usual = SandboxBackend().identity
    others: list[dict[str, Any]] = [
        {"seconds": 1.5},
        {"memory_mb": 100},
        {"processes": 3},
        {"output_kb": 1},
        {"files": 2},
        {"file_mb": 3},
        {"packages": True},
        {"python": "/usr/bin/python3"}
        if Path("/usr/bin/python3").exists()
        else {"files": 9},
    ]
    assert all(SandboxBackend(**arguments).identity != usual for arguments in others)
    assert sys.prefix not in str(usual)


@pytest.mark.parametrize(
    "arguments",
    [{"seconds": 0}, {"files": -1}],
    ids=str,
)
def test_arguments_that_cannot_be_used_are_refused(
    arguments: dict[str, object],
) -> None:
    with pytest.raises(UsageError):
        SandboxBackend(**arguments)  # type: ignore[arg-type]


def test_as_many_programs_run_at_a_time_as_there_are_processors() -> None:
    bubblewrap()
    assert SandboxBackend().usual_connections == len(os.sched_getaffinity(0))
