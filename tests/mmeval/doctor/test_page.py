from mmeval.doctor.finding import Finding, Section
from mmeval.doctor.page import MIN_WIDTH, as_text, gathered

SHORT = Section(
    "Plugins",
    (
        Finding("ok", "38 plugins"),
        Finding("broken", "ill\x1b[2Jness", "pip uninstall dist-ill"),
    ),
)


def test_a_finding_is_a_line_and_what_fixes_it_the_next() -> None:
    plain = (
        "Plugins\n  ok       38 plugins\n  broken   ill [2Jness\n           -> pip "
        "uninstall dist-ill\n"
    )
    assert as_text([SHORT, Section("Nothing", ())], colour=False, width=80) == plain
    assert "\x1b[32mok       \x1b[0m38 plugins" in as_text(
        [SHORT], colour=True, width=80
    )


def test_a_long_finding_is_wrapped_and_a_command_is_not() -> None:
    command = "pip install " + "x" * 200
    for width, widest in ((70, 70), (10, MIN_WIDTH)):
        *_, last = lines = as_text(
            [Section("A", (Finding("note", "word " * 40, command),))],
            colour=False,
            width=width,
        ).splitlines()
        assert (
            widest - 5 <= max(len(line) for line in lines if "->" not in line) <= widest
        )
        assert last.endswith(f"-> {command}")


def of_task(name: str, *metrics: str) -> Section:
    """A task whose metrics lack the same model."""
    way = f"mmeval prepare {name} --weights"
    lacking = [
        Finding("missing", f"metric {one}: no weights", way, metric=one)
        for one in metrics
    ]
    return Section(f"Task {name}", (Finding("ok", "data: whole"), *lacking), word=name)


def test_what_tasks_have_in_common_is_shown_once_and_the_rest_below_the_name_of_its_task() -> (
    None
):
    first, tasks, last = gathered(
        [SHORT, of_task("a", "x"), of_task("b", "y"), Section("Network", ())]
    )
    assert (first, tasks.name, last.name) == (SHORT, "Tasks a, b", "Network")
    assert [finding.what for finding in tasks.findings] == [
        "data: whole",
        "metrics x, y: no weights",
    ]
    assert tasks.findings[1].how_to == "mmeval prepare a b --weights"
    assert [item.name for item in gathered([of_task("a", "x"), of_task("b")])] == [
        "Tasks a, b",
        "Task a",
    ]
