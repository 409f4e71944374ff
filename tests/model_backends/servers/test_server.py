import pytest

from mmeval.model_backends.servers.server import memory_line

MEBIBYTE = 2**20


@pytest.mark.parametrize(
    "words",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GiB",
        "ValueError: No available memory for the cache blocks",
        "ValueError: To serve one request, 9 GiB KV cache is needed, which is larger",
    ],
)
def test_the_line_of_a_log_that_says_that_memory_ran_out_is_found(words: str) -> None:
    log = f"loading\n{words}\nshutting down\n".encode()
    assert memory_line(log) == words.encode()


def test_of_several_lines_about_memory_the_last_is_shown() -> None:
    assert memory_line(b"1: out of memory\n2: Out Of Memory") == b"2: Out Of Memory"


def test_a_log_that_says_nothing_of_memory_has_no_such_line() -> None:
    assert memory_line(b"loading\nready\n") == b""


@pytest.mark.parametrize("letter", [b"x", b"o", b"out of ", b"\n"])
def test_a_long_line_is_searched_in_one_pass(letter: bytes) -> None:
    # a search that begins anew at each letter would take minutes
    assert memory_line(letter * (MEBIBYTE // len(letter))) == b""


def test_of_a_long_line_what_stands_around_the_words_is_shown() -> None:
    line = memory_line(b"a" * MEBIBYTE + b" out of memory " + b"b" * MEBIBYTE)
    assert len(line) <= 300
    assert b" out of memory " in line
