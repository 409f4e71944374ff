from __future__ import annotations

import pickle

from mmeval.model_backends.hf.failures import RowError, in_a_line


def test_a_row_error_is_the_response_of_its_row_and_survives_a_process() -> None:
    error = pickle.loads(pickle.dumps(RowError("too_long", "much longer")))
    assert (error.response.error.kind, str(error)) == ("too_long", "too_long: much longer")


def test_the_error_of_a_library_is_one_short_line() -> None:
    assert in_a_line(ValueError("a\n  b")) == "ValueError: a b"
    assert in_a_line(ValueError()) == "ValueError"
    assert len(in_a_line(ValueError("x" * 9999))) < 330
