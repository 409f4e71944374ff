import pickle

from mmeval.model_backends.hf.failures import RowError, in_a_line


def test_errors_are_short_lines_and_rows_of_their_own() -> None:
    error = pickle.loads(pickle.dumps(RowError("too_long", "much longer")))
    assert error.response.error.kind == "too_long"
    assert str(error) == "too_long: much longer"
    assert in_a_line(ValueError("a\n  b")) == "ValueError: a b"
    assert in_a_line(ValueError()) == "ValueError"
    assert len(in_a_line(ValueError("x" * 9999))) < 330
