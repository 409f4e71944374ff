from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.tasks.unim.domains import DOMAINS, FIELDS, LEVELS, domain_of

FIELD_COUNTS = {
    "natural_science": (3529, 4363, 2732),
    "social_science": (3845, 6209, 1520),
    "general_area": (3304, 3516, 2008),
}
"""Easy, medium and hard instances by field (paper, tables 2 and 13)."""


def test_thirty_domains_have_the_counts_of_the_paper_and_spellings_of_their_own() -> (
    None
):
    fields = [(domain.number, domain.field) for domain in DOMAINS]
    assert fields == list(enumerate([field for field in FIELDS for _ in range(10)], 1))
    counts = {
        field: [domain.counts for domain in DOMAINS if domain.field == field]
        for field in FIELDS
    }
    assert {
        field: tuple(map(sum, zip(*own, strict=True))) for field, own in counts.items()
    } == FIELD_COUNTS
    assert [sum(domain.count(level) for domain in DOMAINS) for level in LEVELS] == [
        10_678,
        14_088,
        6_260,
    ]
    assert sum(sum(domain.counts) for domain in DOMAINS) == 31_026
    assert [domain.title for domain in DOMAINS if 0 in domain.counts] == ["Philosophy"]
    words = [word for domain in DOMAINS for word in domain.words]
    assert (len(words), domain_of("astrology")) == (len(set(words)), None)
    assert all(domain_of(word) is domain for domain in DOMAINS for word in domain.words)


def test_a_domain_has_a_task_that_reads_its_folder_and_its_field_weighs_it_like_any_other() -> (
    None
):
    domain = DOMAINS[4]
    (file,) = choose([f"unim_{domain.name}"], TaskIndex()).tasks.values()
    wanted = file.keys.filter["domain"]
    assert file.keys.dataset_name == domain.name
    assert (wanted if isinstance(wanted, list) else [wanted]) == list(domain.words)
    assert (file.keys.expected.rows, file.keys.expected.samples) == (
        None,
        sum(domain.counts),
    )
    assert sorted(choose(["unim_domains"], TaskIndex()).tasks) == sorted(
        f"unim_{domain.name}" for domain in DOMAINS
    )
    for field in FIELDS:
        group = choose([f"unim_{field}"], TaskIndex()).groups[f"unim_{field}"]
        assert group.members == tuple(
            f"unim_{domain.name}" for domain in DOMAINS if domain.field == field
        )
        assert ({metric.weight_by_size for metric in group.metrics}, group.layout) == (
            {False},
            "unim",
        )
