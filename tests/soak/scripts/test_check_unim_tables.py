import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mmeval.tasks.unim.domains import DOMAINS, FIELDS
from scripts.check_unim_tables import (
    PRODUCTS,
    Cells,
    Row,
    Unreadable,
    compared,
    main,
    read_tables,
)
from scripts.make_unim_page import PAGE, TABLES
from tests.support.doc_examples import ROOT, blocks_run_by, commands

MEANS = {"AnyGPT": 13, "NExT-GPT": 9, "MIO": 14, "UniMA": 36}
"""The numbers of fields that are not the mean of their domains."""


def domain_cells(chance: random.Random) -> Cells:
    """A row as a paper prints it: computed in full, then rounded."""
    tau = chance.uniform(20, 100)
    coherence = chance.uniform(0, 100)
    style = chance.uniform(0, 100)
    absolute = {name: chance.uniform(0, 100) for name in PRODUCTS}
    absolute["ICS"] = 0.8 * coherence + 0.2 * style
    relative = {f"{name} rel": tau * value / 100 for name, value in absolute.items()}
    cells = {
        "tau": tau,
        "HC": coherence,
        "SH": style,
        **{f"{n} abs": v for n, v in absolute.items()},
        **relative,
    }
    return {column: round(value, 1) for column, value in cells.items()}


def tables(seed: int = 0, model: str = "Orchard") -> list[Row]:
    """Thirty domains, and the fields as their means."""
    chance = random.Random(seed)
    domains = [
        Row(model, str(domain.number), domain_cells(chance)) for domain in DOMAINS
    ]
    return [*domains, *(Row(model, field, means(domains, field)) for field in FIELDS)]


def means(domains: list[Row], field: str) -> Cells:
    own = [
        row.cells
        for row, domain in zip(domains, DOMAINS, strict=True)
        if domain.field == field
    ]
    return {
        column: round(sum(cells[column] for cells in own) / len(own), 1)
        for column in own[0]
    }


def planted(rows: list[Row], name: str, column: str, value: float) -> list[Row]:
    """The tables with one cell that says something else."""
    return [
        row._replace(cells={**row.cells, column: value}) if row.name == name else row
        for row in rows
    ]


def wrong(rows: list[Row]) -> set[tuple[str, str, str]]:
    return {
        (one.name, one.column, one.rule) for one in compared(rows) if not one.agrees
    }


@pytest.mark.parametrize("seed", range(3))
def test_tables_that_are_only_rounded_agree(seed: int) -> None:
    rows = tables(seed)
    assert wrong(rows) == set()
    assert len(list(compared(rows))) == 30 * 5 + 3 * (1 + len(rows[0].cells))


@pytest.mark.parametrize(
    ("name", "column", "more", "rules"),
    [
        (
            "8",
            "LeS rel",
            -2,
            {("8", "tau x abs"), ("natural_science", "mean of domains")},
        ),
        (
            "natural_science",
            "LeS abs",
            27.8 - 22.74,
            {("natural_science", "mean of domains")},
        ),
        (
            "general_area",
            "ICS abs",
            6.0,
            {("general_area", rule) for rule in ("mean of domains", ".8 HC + .2 SH")},
        ),
    ],
    ids=["no product", "the misprint of AnyGPT", "coherence that is not of its parts"],
)
def test_a_cell_that_says_something_else_is_found(
    name: str, column: str, more: float, rules: set[tuple[str, str]]
) -> None:
    rows = tables()
    (cell,) = [row.cells[column] for row in rows if row.name == name]
    assert wrong(planted(rows, name, column, cell + more)) == {
        (row, column, rule) for row, rule in rules
    }


def test_a_field_that_lacks_a_domain_of_its_model_is_not_recomputed() -> None:
    rows = [*tables(), *(row for row in tables(1, "Kettle") if row.name != "1")]
    rules = {
        (one.model, one.name) for one in compared(rows) if one.rule == "mean of domains"
    }
    assert wrong(rows) == set()
    assert {("Orchard", field) for field in FIELDS} < rules
    assert ("Kettle", "natural_science") not in rules


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("model,row,FID\nm,1,2\n", "header"),
        ("row,SC\n1,2\n", "header"),
        ("model,row,SC\nm,1,much\n", ":2: .*much"),
        ("model,row,SC\nm,Alchemy,2\n", ":2: 'Alchemy'"),
    ],
    ids=["unknown column", "no model", "no number", "no domain"],
)
def test_a_file_that_is_no_such_table_is_refused_with_its_line(
    tmp_path: Path, text: str, shown: str
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text)
    with pytest.raises(Unreadable, match=shown):
        read_tables(file)
    assert main([str(tmp_path / "no.csv")]) == main([]) == 2


def test_81_of_the_papers_768_numbers_do_not_follow_from_others_and_one_of_these_is_of_a_domain() -> (
    None
):
    found = list(compared(read_tables(TABLES)))
    others = [one for one in found if not one.agrees]
    assert (len(found), len(others)) == (768, 81)
    assert Counter((one.rule, one.model) for one in others) == {
        ("tau x abs", "AnyGPT"): 1,
        **{
            (".8 HC + .2 SH", model): count
            for model, count in {"AnyGPT": 2, "NExT-GPT": 3, "MIO": 3}.items()
        },
        **{("mean of domains", model): count for model, count in MEANS.items()},
    }
    (domain,) = [one for one in others if one.name not in FIELDS]
    assert (domain.model, domain.name, domain.column, domain.printed) == (
        "AnyGPT",
        "8",
        "LeS rel",
        41.3,
    )


def test_the_command_of_the_page_names_what_deviates() -> None:
    (block,) = blocks_run_by(
        "tests/soak/scripts/test_check_unim_tables.py::"
        "test_the_command_of_the_page_names_what_deviates"
    )
    (command,) = commands(block.text)
    words = command.text.split()[1:]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("687 of 768")
    assert done.stdout.strip() in PAGE.read_text("utf-8")
