import pytest

from mmeval.metrics.text.numbers import last_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Of 1,200 trees 15 fell, so 1,185 stand.", "1185"),
        ("$1,150.50!", "1150.50"),
        ("x = −3.5", "-3.5"),
        ("from 1990-95", "95"),
        ("3 or 4", "4"),
        ("1,2,3", "3"),
        ("10,200,30", "30"),
        ("it is 1,00 €", "1.00"),
        ("not 7 but -3,5.", "-3.5"),
        ("0,125", "0.125"),
        ("1234,567", "1234.567"),
        ("1.234,56", "1234.56"),
        ("1,234,567.5", "1234567.5"),
        ("2,5e3", "2.5e3"),
        ("3, 5", "5"),
        ("3/4 of it", "3/4"),
        (r"\frac{3}{4}", "3/4"),
        ("on 3/4/2024", "2024"),
        ("about 6e23", "6e23"),
        ("答案是5个", "5"),
        ("H2O in v1.2", None),
        ("", None),
    ],
)
def test_the_last_number_of_a_text_is_read_as_people_write_it(
    text: str, number: str | None
) -> None:
    found = last_number(text)
    assert (found.text if found else None) == number


def test_a_text_of_many_digits_takes_linear_time() -> None:
    assert last_number("7" * 500_000) is None
