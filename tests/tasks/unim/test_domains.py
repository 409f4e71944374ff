"""The table of domains adds up to what the paper says elsewhere."""

from __future__ import annotations

import pytest

from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.tasks.unim.domains import DOMAINS, FIELDS, LEVELS, Domain, domain_of

FIELD_COUNTS = {
    "natural_science": (3529, 4363, 2732),
    "social_science": (3845, 6209, 1520),
    "general_area": (3304, 3516, 2008),
}
"""Easy, medium and hard instances by field (paper, tables 2 and 13)."""


def test_thirty_domains_ten_in_each_field_are_numbered_in_the_order_of_the_paper() -> None:
    assert [domain.number for domain in DOMAINS] == list(range(1, 31))
    assert [domain.field for domain in DOMAINS] == [field for field in FIELDS for _ in range(10)]


@pytest.mark.parametrize("field", FIELDS)
def test_the_domains_of_a_field_add_up_to_its_levels(field: str) -> None:
    counts = [domain.counts for domain in DOMAINS if domain.field == field]

    assert tuple(map(sum, zip(*counts, strict=True))) == FIELD_COUNTS[field]


def test_the_levels_add_up_to_the_whole() -> None:
    levels = [sum(domain.count(level) for domain in DOMAINS) for level in LEVELS]

    assert levels == [10_678, 14_088, 6_260]
    assert sum(domain.total for domain in DOMAINS) == 31_026


def test_philosophy_alone_has_no_hard_instance() -> None:
    assert [domain.title for domain in DOMAINS if 0 in domain.counts] == ["Philosophy"]


def test_no_spelling_means_two_domains() -> None:
    words = [word for domain in DOMAINS for word in domain.words]

    assert len(words) == len(set(words))
    assert all(domain_of(word) is domain for domain in DOMAINS for word in domain.words)
    assert domain_of("astrology") is None


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_each_domain_has_a_task_that_reads_its_folder_and_keeps_its_spellings(domain: Domain) -> None:
    (file,) = choose([domain.task], TaskIndex()).tasks.values()
    wanted = file.keys.filter["domain"]

    assert file.keys.dataset_name == domain.name
    assert (wanted if isinstance(wanted, list) else [wanted]) == list(domain.words)
    assert (file.keys.expected.rows, file.keys.expected.samples) == (None, domain.total)


@pytest.mark.parametrize("field", FIELDS)
def test_the_group_of_a_field_weighs_its_domains_alike(field: str) -> None:
    group = choose([f"unim_{field}"], TaskIndex()).groups[f"unim_{field}"]

    assert group.members == tuple(domain.task for domain in DOMAINS if domain.field == field)
    assert {metric.weight_by_size for metric in group.metrics} == {False}
    assert group.layout == "unim"


def test_the_domains_have_a_tag() -> None:
    assert sorted(choose(["unim_domains"], TaskIndex()).tasks) == sorted(domain.task for domain in DOMAINS)
