from __future__ import annotations

from collections.abc import Iterator

import pytest

from mmeval.dataset.readable import LoaderFailure, readable


def loaded(error: BaseException) -> Iterator[str]:
    yield "first"
    raise error


def test_rows_of_a_whole_data_set_have_no_failure() -> None:
    assert list(readable(["first", "second"])) == ["first", "second"]


@pytest.mark.parametrize("error", [OSError("disk"), SystemExit(1)], ids=repr)
def test_a_loader_that_raises_ends_its_rows_by_a_failure(
    error: Exception | SystemExit,
) -> None:
    assert list(readable(loaded(error))) == ["first", LoaderFailure(error)]


def test_ctrl_c_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        list(readable(loaded(KeyboardInterrupt())))
