"""A set of non-negative integers that takes one bit per integer, for sets that grow
with the data."""

from __future__ import annotations

from collections.abc import Iterator, MutableSet


class NumberSet(MutableSet[int]):
    """A set of small non-negative integers. They are iterated in ascending order."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self._count = 0

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int) or number >> 3 >= len(self._bits):
            return False
        return bool(self._bits[number >> 3] >> (number & 7) & 1)

    def __iter__(self) -> Iterator[int]:
        return (number for number in range(8 * len(self._bits)) if number in self)

    def __len__(self) -> int:
        return self._count

    def add(self, value: int) -> None:
        if value in self:
            return
        self._count += 1
        missing = (value >> 3) + 1 - len(self._bits)
        if missing > 0:
            self._bits.extend(bytes(missing))
        self._bits[value >> 3] |= 1 << (value & 7)

    def discard(self, value: int) -> None:
        if value in self:
            self._count -= 1
            self._bits[value >> 3] ^= 1 << (value & 7)
