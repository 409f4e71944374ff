import random

from mmeval.system.number_set import NumberSet


def test_it_is_a_set() -> None:
    draw, actual, expected = random.Random(0), NumberSet(), set[int]()
    for _ in range(2000):
        number = draw.randrange(300)
        for numbers in (actual, expected):
            numbers.discard(number) if number % 3 else numbers.add(number // 2)
    assert (actual, len(actual), list(actual)) == (
        expected,
        len(expected),
        sorted(expected),
    )
    assert [number in actual for number in range(400)] == [
        number in expected for number in range(400)
    ]
    assert "1" not in actual
