"""The mutation harness of the loader tests: one damage to a small valid file, and the one outcome that is right for it.

A loader's test writes a small valid value, a `load` that takes bytes, and a table of rules; then::

    SMALL = Small(value=VALUE, load=load, rules=(Rule("dropped-key", r".*\\.caption", VALID), …), ids=(r"\\[\\]\\.id",))

    @settings(max_examples=100, deadline=None)
    @given(small_mutations(SMALL))
    def test_mutations(mutation: Mutation) -> None:
        check(SMALL, mutation)

Rules are tried in order; where none matches, `DEFAULTS` says the outcome: bytes that only look different load the same,
everything else is refused. The value must hold a character outside ASCII, or a wrong encoding would change nothing.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import strategies as st

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.source import ScenarioSource

MUTATIONS = (
    "dropped-key",  # a key of an object is gone
    "other-type",  # a value is an object, true or a text where it was something else; never null, number or list
    "null",  # a value is null
    "truncated",  # the file ends early
    "wrong-encoding",  # the file is saved in something else than UTF-8, without a mark
    "byte-order-mark",  # the file begins with the UTF-8 mark
    "crlf",  # line ends are carriage return and line feed
    "duplicate-id",  # a record has the id of its neighbour
    "repeated-key",  # an object gives one key twice
    "huge-integer",  # a scalar is 10**30
    "nested-list",  # a scalar is a list of lists
    "not-a-number",  # a scalar is NaN
)
"""The classes of damage."""

Outcome = Literal["same", "valid", "noted", "refused"]
SAME: Outcome = "same"
"""It loads, and the scenarios are those of the undamaged file."""
VALID: Outcome = "valid"
"""It loads: what is left is another valid file (an optional field is gone)."""
NOTED: Outcome = "noted"
"""It loads, and the report has a notice that it did not have before."""
REFUSED: Outcome = "refused"
"""A DataError that names the file and, unless the bytes themselves are unreadable, a record or a field."""
OUTCOMES: tuple[Outcome, ...] = (SAME, VALID, NOTED, REFUSED)

DEFAULTS: dict[str, Outcome] = dict.fromkeys(MUTATIONS, REFUSED) | {"byte-order-mark": SAME, "crlf": SAME}

Path = tuple[str | int, ...]
_BYTES = ("truncated", "wrong-encoding", "byte-order-mark", "crlf")
_SCALAR = ("huge-integer", "nested-list", "not-a-number")
_ENCODINGS = ("utf-16-le", "utf-16-be", "gb18030", "big5", "cp1252", "latin-1")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came out of a load that ran to its end."""

    scenarios: tuple[Scenario, ...]
    notices: Counter[str]

    @classmethod
    def of(cls, source: ScenarioSource) -> Loaded:
        """Read a source to its end."""
        scenarios = tuple(source)
        return cls(scenarios, Counter(notice.kind for notice in source.report.notices))

    def content(self) -> list[dict[str, Any]]:
        """The scenarios without their cards, which hold the file's hash."""
        return [scenario.model_dump(exclude={"card"}) for scenario in self.scenarios]


@dataclass(frozen=True, slots=True)
class Rule:
    """The right outcome of one class of damage at some places."""

    kinds: str
    """One class, several separated by spaces, or `*`."""
    place: str
    """Regular expression over the whole place, such as `\\[\\]\\.qa\\[\\]\\.answer`; list indexes are left out."""
    outcome: Outcome
    notice: str | None = None
    """For `noted`: the kind of notice that must be new, or None for any."""

    def matches(self, kind: str, place: str) -> bool:
        """Whether the rule speaks about this damage."""
        return (self.kinds == "*" or kind in self.kinds.split()) and re.fullmatch(self.place, place) is not None


@dataclass(frozen=True, slots=True)
class Mutation:
    """One damage: its class, where, and the seed of what is left to chance."""

    kind: str
    path: Path
    seed: int


@dataclass(slots=True)
class Small:
    """A small valid file of one benchmark, how it is loaded, and what its damages lead to."""

    value: Any
    load: Callable[[bytes], Loaded]
    """Writes the bytes to a file and loads it to the end; a DataError passes through."""
    rules: Sequence[Rule]
    ids: Sequence[str] = ()
    """Places of ids that must differ between the records of one list."""
    lines: bool = False
    """JSONL: the value is a list, one record per line."""
    file: str = ""
    """What an error must name as the file; empty for any."""
    _undamaged: Loaded | None = field(default=None, init=False)

    @property
    def undamaged(self) -> Loaded:
        """The load of the file as it is."""
        if self._undamaged is None:
            self._undamaged = self.load(dump(self.value, lines=self.lines).encode())
        return self._undamaged

    def rule(self, kind: str, path: Path) -> Rule:
        """The first rule that speaks about the damage, or the default."""
        place = place_of(path)
        matching = (rule for rule in self.rules if rule.matches(kind, place))
        return next(matching, Rule(kind, ".*", DEFAULTS[kind]))


def dump(value: Any, *, lines: bool = False) -> str:
    """The text of a file: indented JSON, or one record per line."""
    if lines:
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in value)
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def place_of(path: Path) -> str:
    """A path without its list indexes: `(0, "qa", 3, "answer")` is `[].qa[].answer`."""
    text = "".join("[]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")


def paths(value: object, path: Path = ()) -> list[Path]:
    """Every path below the top of a value."""
    found = [path] if path else []
    children: Sequence[tuple[str | int, object]] = ()
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return found + [inner for key, child in children for inner in paths(child, (*path, key))]


def at(value: Any, path: Path) -> Any:
    """What stands at a path."""
    for key in path:
        value = value[key]
    return value


def places(value: Any, kind: str, *, ids: Sequence[str] = ()) -> list[Path]:
    """Where a class of damage can be done; one empty path for damage to the bytes."""
    if kind in _BYTES:
        return [()]
    found = paths(value)
    if kind in ("dropped-key", "repeated-key"):
        return [path for path in found if isinstance(path[-1], str)]
    if kind == "duplicate-id":
        marked = [path for path in found if any(re.fullmatch(place, place_of(path)) for place in ids)]
        return [path for path in marked if _neighbours(value, path)]
    if kind in _SCALAR:
        return [path for path in found if not isinstance(at(value, path), dict | list)]
    if kind == "null":
        return [path for path in found if at(value, path) is not None]
    return found


def mutate(value: Any, kind: str, path: Path, rng: random.Random, *, lines: bool = False) -> bytes:
    """The bytes of a value with one damage.

    Args:
        value: The undamaged value; it is not changed.
        kind: One of `MUTATIONS`.
        path: One of `places(value, kind)`.
        rng: Chooses among equal forms of the same damage.
        lines: JSONL instead of JSON.

    Returns:
        The damaged file.
    """
    if kind in _BYTES:
        return mutate_text(dump(value, lines=lines), kind, rng)
    if kind == "repeated-key":
        return _with_repeated_key(value, path, lines=lines)
    value = copy.deepcopy(value)
    parent, key = at(value, path[:-1]), path[-1]
    if kind == "dropped-key":
        del parent[key]
    elif kind == "duplicate-id":
        parent[key] = rng.choice(_neighbours(value, path))
    else:
        parent[key] = _other(kind, parent[key], rng)
    return dump(value, lines=lines).encode()


def mutate_text(text: str, kind: str, rng: random.Random) -> bytes:
    """The bytes of a text file (CSV too) with one damage to the bytes.

    A text of several records without a bracket around them is cut inside a line, as a cut between lines leaves a valid
    file; damage in the last line's end alone counts as none.
    """
    raw = text.encode()
    if kind == "truncated":
        ends = [i for i in range(1, len(raw)) if raw[i - 1 : i] != b"\n" and raw[i : i + 1] != b"\n"]
        return raw[: rng.choice(ends)]
    if kind == "wrong-encoding":
        return rng.choice(_foreign(text))
    if kind == "byte-order-mark":
        return b"\xef\xbb\xbf" + raw
    if kind == "crlf":
        return text.replace("\n", "\r\n").encode()
    raise ValueError(f"{kind} is no damage to bytes")


@st.composite
def small_mutations(draw: st.DrawFn, small: Small) -> Mutation:
    """Damages of a small file: every class equally often, then a place."""
    kind = draw(st.sampled_from([kind for kind in MUTATIONS if places(small.value, kind, ids=small.ids)]))
    path = draw(st.sampled_from(places(small.value, kind, ids=small.ids)))
    return Mutation(kind, path, draw(st.integers(0, 2**16)))


def check(small: Small, mutation: Mutation) -> None:
    """Do the damage, load, and assert the outcome that the table gives for it, and no other."""
    kind, path = mutation.kind, mutation.path
    rule = small.rule(kind, path)
    where = f"{kind} at {place_of(path) or 'the bytes'}, should be {rule.outcome}"
    undamaged = small.undamaged
    data = mutate(small.value, kind, path, random.Random(mutation.seed), lines=small.lines)
    try:
        loaded = small.load(data)
    except DataError as error:
        assert rule.outcome == REFUSED, f"{where}; refused with: {error}"
        assert error.file not in ("", "None"), where
        assert small.file in error.file, f"{where}; blamed {error.file}"
        assert kind in _BYTES or error.record is not None or error.field is not None, f"{where}; no place in: {error}"
        return
    if rule.outcome == REFUSED:
        pytest.fail(f"{where}; it loaded with new notices {dict(loaded.notices - undamaged.notices)}")
    if rule.outcome == SAME:
        assert loaded.content() == undamaged.content(), where
    if rule.outcome == NOTED:
        new = loaded.notices - undamaged.notices
        assert new[rule.notice] if rule.notice else new, f"{where}; new notices {dict(new)}"


def _neighbours(value: Any, path: Path) -> list[Any]:
    """Values at the same place in the other records of the innermost list that the path goes through."""
    depth = max((i for i, key in enumerate(path) if isinstance(key, int)), default=None)
    if depth is None:
        return []
    rest, mine = path[depth + 1 :], at(value, path)
    found = []
    for index, record in enumerate(at(value, path[:depth])):
        try:
            other = at(record, rest)
        except (KeyError, IndexError, TypeError):
            continue
        if index != path[depth] and other != mine:
            found.append(other)
    return found


def _other(kind: str, old: Any, rng: random.Random) -> Any:
    if kind == "null":
        return None
    if kind == "huge-integer":
        return 10**30
    if kind == "nested-list":
        return [[old]]
    if kind == "not-a-number":
        return float("nan")
    others: list[Any] = [{"x": "y"}, True, "no such thing"]
    return rng.choice([other for other in others if type(other) is not type(old)])


def _with_repeated_key(value: Any, path: Path, *, lines: bool) -> bytes:
    """Write the key a second time under a mark that is then given the key's name."""
    mark = "\ue000 repeated"
    value = copy.deepcopy(value)
    parent, key = at(value, path[:-1]), path[-1]
    parent[mark] = copy.deepcopy(parent[key])
    return (
        dump(value, lines=lines)
        .replace(json.dumps(mark, ensure_ascii=False), json.dumps(key, ensure_ascii=False))
        .encode()
    )


def _foreign(text: str) -> list[bytes]:
    """The text in every other encoding that can hold it and that is no UTF-8."""
    found = []
    for encoding in _ENCODINGS:
        try:
            raw = text.encode(encoding)
        except UnicodeEncodeError:
            continue
        try:
            if raw.decode() == text:
                raise AssertionError("the small file needs a character outside ASCII")
        except UnicodeDecodeError:
            found.append(raw)
            continue
        if b"\0" in raw[:4]:
            found.append(raw)
    return found
