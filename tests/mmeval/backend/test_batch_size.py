from mmeval.backend.batch_size import AUTO, BatchSize
from tests.support.toy import ToyLocal


class Usual(ToyLocal):
    usual_batch_size = 2


def test_a_batch_is_as_large_as_was_asked_for_or_is_usual_and_never_larger_than_the_backend_takes() -> (
    None
):
    for asked, rows, usual in (
        (AUTO, 4, 2),
        (BatchSize(3), 3, 3),
        (BatchSize(99), 4, 4),
    ):
        assert (
            asked.rows_for(ToyLocal(max_batch_size=4)),
            asked.rows_for(Usual(max_batch_size=4)),
        ) == (rows, usual)
