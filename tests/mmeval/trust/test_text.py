from mmeval.trust.text import interval_text, labelled, table


def test_a_text_is_wrapped_behind_its_label() -> None:
    lines = labelled("verdict", "one two three", 18)
    assert lines == ["verdict   one two", "          three"]


def test_the_columns_of_a_table_are_aligned() -> None:
    lines = table(
        ("", "value"),
        [("judge", "0.5"), ("a", "10")],
    )
    assert lines == ["          value", "   judge    0.5", "   a         10"]


def test_a_missing_interval_is_a_dash() -> None:
    assert interval_text(None) == "-"
