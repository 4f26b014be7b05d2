"""Where people come from: continents of nationalities, regions of ancestries, spellings of countries.

FHIBE's nationalities carry numbers ("146. Nigerian"); the continents are kept as sets of these numbers. The
grouping is the published one, with its gaps (106. Kittitian has no continent; 53. Cypriot has two).
"""

from collections.abc import Sequence


def _numbers(text: str) -> frozenset[int]:
    out: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        out.update(range(int(first), int(last or first) + 1))
    return frozenset(out)


CONTINENTS: dict[str, frozenset[int]] = {
    "227. African": _numbers(
        "2 5 20 25 31 33 35 37 39-40 44-46 56 62 65-66 68 74-75 78 85-86 100 105 114-115 121-122 125 129-130 "
        "138-141 146-147 168 172 175 177-178 183-184 186 192 200 202 206 211 223-224"
    ),
    "228. North or South American": _numbers(
        "3 7-8 13 16 19 21 23 26 28 36 38 41 43 48 50 57-58 61 128 131 137 145 156 158-159 164 169 189-190 209 213 "
        "217 219"
    ),
    "229. Asian": _numbers(
        "0 9 12 14-15 22 29 32 34 42 53 60 71 76 90 93-96 98 102-104 109-111 113 119 123-124 135 143 149 152-153 155 "
        "165 173 179 185 188 197-199 201 207-208 218 222"
    ),
    "230. European": _numbers(
        "1 4 11 17-18 24 27 30 49 53-55 59 67 69 72-73 77 79-81 91-92 97 99 112 116-118 120 126 133-134 136 151 "
        "161-162 166-167 170 176 180-181 187 195-196 212 215 220"
    ),
    "231. Oceanian": _numbers("10 47 70 83 107 127 132 144 148 154 157 160 171 182 203 210 216 220"),
    "232. Other": _numbers("191 225-226"),
}

REGIONS: dict[str, tuple[int, int]] = {
    "0. Africa": (0, 5),
    "6. Americas": (6, 10),
    "11. Asia": (11, 16),
    "17. Europe": (17, 21),
    "22. Oceania": (22, 26),
}
"""The five regions of ancestry, with the first and last number of what belongs to each."""

LARGEST: dict[str, tuple[str, ...]] = {"ancestry": tuple(REGIONS), "nationality": tuple(CONTINENTS)}
"""The values of these attributes that are continents."""


def is_largest(attributes: Sequence[str], values: Sequence[str]) -> bool:
    """Whether a group names its ancestry and nationality, where it has them, by continent.

    >>> is_largest(["ancestry", "age"], ["11. Asia", "[18, 30)"]), is_largest(["ancestry"], ["12. Central Asia"])
    (True, False)
    """
    return all(value in LARGEST[name] for name, value in zip(attributes, values, strict=True) if name in LARGEST)


def number(value: str) -> int | None:
    """The number that a value begins with.

    >>> number("146. Nigerian"), number("Kenya")
    (146, None)
    """
    head = value.split(".", 1)[0]
    return int(head) if head.isdecimal() else None


def continents(nationalities: list[str]) -> list[str]:
    """The continents of some nationalities, in the published order.

    >>> continents(["53. Cypriot"]), continents(["106. Kittitian"])
    (['229. Asian', '230. European'], [])
    """
    numbers = {number(value) for value in nationalities}
    return [name for name, members in CONTINENTS.items() if numbers & members]


def regions(ancestries: list[str]) -> list[str]:
    """The regions of some ancestries.

    >>> regions(["5. Western Africa", "12. Central Asia"])
    ['0. Africa', '11. Asia']
    """
    numbers = [n for value in ancestries if (n := number(value)) is not None]
    return [name for name, (first, last) in REGIONS.items() if any(first <= n <= last for n in numbers)]


_SPELLINGS: dict[str, str] = {
    "Angola": "Abgola",
    "Nigeria": "Abuja|Lagos|Nigerian|Nigeriia|Niheria|Nugeria",
    "Argentina": "Argentiina",
    "Australia": "Australie|Autsralia|Auustralia",
    "Bahamas": "Bahamas, The",
    "Canada": "Caanada|Canadad",
    "France": "French",
    "Viet Nam": "Hanoi Vietnam|Ho Chi Min|Veitnam|Vienam|Vietam|Vietnam|Vietname|Viietnam|Vitenam|Vitnam|Viwtnam",
    "China, Hong Kong Special Administrative Region": "Hong Kong",
    "Italy": "Italiana",
    "Kenya": "Keenya|Kenyan|Kiambu|Muranga|Nairobi Nairobi|Nyari",
    "Iceland": "Lceland",
    "Mexico": "Mexican",
    "Micronesia (Federated States of)": "Micronesia|Mironesi|Mironesia",
    "Morocco": "Morroco",
    "Netherlands (Kingdom of the)": "Netherlands",
    "Pakistan": "Pakisan|Pakisatn|Pakistain|Paksitan|Punjab",
    "Philippines": "Phillipines",
    "South Africa": "South Afica|South Afria|South African|Southern Africa",
    "Republic of Korea": "South Korea",
    "United Republic of Tanzania": "Tanzania",
    "Trinidad and Tobago": "Trinidad And Tobago",
    "Türkiye": "Turkey",
    "Ukraine": "Ua|Ukaine",
    "United Arab Emirates": "Uae",
    "Uganda": "Ugnd",
    "United Kingdom of Great Britain and Northern Ireland": "Uk|United Kingdom",
    "United States of America": "United States|Usa",
    "Venezuela (Bolivarian Republic of)": "Venezuela",
}
_COUNTRY = {spelling: name for name, spellings in _SPELLINGS.items() for spelling in spellings.split("|")}
_NO_COUNTRY = ("I Go", "Owow Disable Abilities Off Level Up")


def country(written: str) -> str | None:
    """The country that a person wrote by hand, in one spelling; None for words that name no country.

    >>> country("USA"), country(" kenya "), country("Cote d'ivoire"), country("I Go")
    ('United States of America', 'Kenya', "Cote D'Ivoire", None)
    """
    if written in _COUNTRY:
        return _COUNTRY[written]
    tidy = written.strip().title()
    if written in _NO_COUNTRY or tidy in _NO_COUNTRY:
        return None
    return _COUNTRY.get(tidy, tidy)
