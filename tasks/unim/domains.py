"""The domains of UniM: the paper's numbers, names, fields, and instances by level.

Only some of the names that the data use for domains are known. Each domain therefore
lists likely spellings. Any other name becomes a separate domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

FIELDS: Mapping[str, str] = {
    "natural_science": "Natural science",
    "social_science": "Social science",
    "general_area": "General area",
}
"""The fields by their names in the data, in the order of the paper."""
LEVELS = ("easy", "medium", "hard")


@dataclass(frozen=True)
class Domain:
    """A domain, with the paper's ``number``, ``title`` and ``counts`` by level.

    The counts are from table 13 of the paper. ``words`` are the spellings that the data
    may use. The first spelling is the name in mmeval.
    """

    number: int
    title: str
    field: str
    counts: tuple[int, int, int]
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.words[0]

    def count(self, level: str) -> int:
        return self.counts[LEVELS.index(level)]


def domain_of(word: str) -> Domain | None:
    """Finds the domain for a name in the data. Returns None for an unknown name."""
    return _by_word().get(word)


@cache
def _by_word() -> Mapping[str, Domain]:
    return {word: domain for domain in DOMAINS for word in domain.words}


_N, _S, _G = FIELDS

DOMAINS = (
    Domain(1, "Math", _N, (806, 777, 48), ("math", "mathematics", "maths")),
    Domain(2, "Physics", _N, (40, 591, 374), ("physics",)),
    Domain(3, "Chemistry", _N, (312, 617, 113), ("chemistry",)),
    Domain(4, "Biology", _N, (545, 333, 263), ("biology",)),
    Domain(5, "Computer Science", _N, (72, 868, 218), ("computer_science", "computer")),
    Domain(
        6,
        "Programming",
        _N,
        (15, 64, 743),
        ("programming", "program", "code", "coding"),
    ),
    Domain(7, "Engineering", _N, (299, 310, 549), ("engineering", "engineer")),
    Domain(
        8, "Medicine", _N, (666, 462, 77), ("medicine", "medical", "medical_science")
    ),
    Domain(
        9,
        "Earth Science",
        _N,
        (212, 155, 273),
        ("earth_science", "earth_sciences", "earth", "geoscience"),
    ),
    Domain(
        10,
        "Env. Science",
        _N,
        (562, 186, 74),
        (
            "environmental_science",
            "environmental_sciences",
            "environment_science",
            "env_science",
            "environmental",
            "environment",
        ),
    ),
    Domain(11, "Finance", _S, (739, 1694, 135), ("finance", "financial")),
    Domain(12, "Law", _S, (256, 634, 121), ("law", "laws", "legal")),
    Domain(
        13, "Linguistics", _S, (570, 207, 53), ("linguistics", "linguistic", "language")
    ),
    Domain(14, "Psychology", _S, (398, 300, 397), ("psychology",)),
    Domain(15, "Education", _S, (165, 463, 72), ("education",)),
    Domain(16, "History", _S, (402, 196, 225), ("history",)),
    Domain(17, "Art", _S, (747, 1492, 279), ("art", "arts")),
    Domain(18, "Sociology", _S, (65, 879, 182), ("sociology", "society")),
    Domain(
        19,
        "Politics",
        _S,
        (204, 153, 56),
        ("politics", "political", "political_science"),
    ),
    Domain(20, "Philosophy", _S, (299, 191, 0), ("philosophy",)),
    Domain(21, "Sports", _G, (57, 313, 486), ("sports", "sport")),
    Domain(22, "News", _G, (200, 456, 350), ("news",)),
    Domain(23, "Culture", _G, (128, 170, 100), ("culture", "cultural")),
    Domain(24, "Entertainment", _G, (301, 188, 299), ("entertainment",)),
    Domain(25, "Food", _G, (256, 624, 296), ("food", "foods")),
    Domain(26, "Architecture", _G, (557, 601, 59), ("architecture",)),
    Domain(27, "Tourism", _G, (363, 617, 105), ("tourism", "travel")),
    Domain(28, "Fashion", _G, (700, 160, 85), ("fashion",)),
    Domain(29, "Health", _G, (662, 348, 215), ("health",)),
    Domain(30, "Pets", _G, (80, 39, 13), ("pets", "pet")),
)
