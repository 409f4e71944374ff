import random

from mmeval.system.number_set import NumberSet


def test_it_is_a_set() -> None:
    draw, made, expected = random.Random(0), NumberSet(), set[int]()
    for _ in range(2000):
        number = draw.randrange(300)
        for one in (made, expected):
            one.discard(number) if number % 3 else one.add(number // 2)
    assert (made, len(made), list(made)) == (expected, len(expected), sorted(expected))
    assert [number in made for number in range(400)] == [
        number in expected for number in range(400)
    ]
    assert "1" not in made
