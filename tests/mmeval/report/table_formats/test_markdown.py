from tests.support.number_documents import ONE, TWO, table


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_markdown_has_a_column_for_everything_of_one_run_and_one_for_each_of_several() -> None:
    headers, _, whole, part = map(cells, table("markdown", ONE).splitlines())
    assert headers == ["Tasks", "Version", "Metric", "↑/↓", "Value", "±", "Stderr", "95 % CI", "Scored", "Notes"]
    assert whole == ["A", "1.0", "m", "↑", "0.5000", "±", "0.1250", "0.2500 to 0.7500", "4/4", ""]
    assert part == [r"- level=50% & \more{}", "", "m", "↑", "N/A", "±", "N/A", "N/A", "0/4", "4 unscored"]
    headers, _, first, *_ = map(cells, table("markdown", ONE, TWO).splitlines())
    assert headers == ["Tasks", "Version", "Metric", "↑/↓", "one", "two", "Notes"]
    assert first[4:6] == ["0.5000 (0.2500 to 0.7500)", "0.7500†"]
    assert first[6].startswith("two does not compare")
