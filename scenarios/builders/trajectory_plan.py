"""One built user's facts: a topic with events, two axes with a way along them, and four queries that rest on both."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from mnemoscope.scenarios.builders.trajectory_dates import evidence_days
from mnemoscope.scenarios.builders.trajectory_draws import Draws
from mnemoscope.scenarios.builders.trajectory_words import Axis, Phrases, Words

__all__ = ["Dated", "UserPlan", "axis_levels", "plan_user"]

_EVENTS, _STATES = (2, 5), (4, 8)
_SETTLED = 3


@dataclass(frozen=True, slots=True)
class Dated:
    """An event or a state, as told of the user and by the user."""

    third: str
    first: str
    day: date


@dataclass(frozen=True, slots=True)
class UserPlan:
    """What is true of a user, what is asked, and where each text comes from."""

    user_id: str
    persona: str
    topic: str
    axes: tuple[Axis, Axis]
    events: tuple[Dated, ...]
    states: tuple[Dated, ...]
    queries: tuple[str, str, str, str]
    type2_evidence: tuple[int, ...]
    """The event whose attempt, and the event whose outcome, the second query mixes."""
    type4_evidence: tuple[int, ...]
    """States on the settled side of both axes, which the fourth query's decision goes against."""
    provenance: dict[str, object]

    @property
    def axis_texts(self) -> list[str]:
        """Both axes as `X <-> Y`."""
        return [f"{axis.poles[0]} <-> {axis.poles[1]}" for axis in self.axes]


@dataclass(frozen=True, slots=True)
class _Way:
    """A user's levels on one axis, from 0 at the first pole to 4 at the second."""

    levels: tuple[int, ...]
    settled: int
    """The pole that the user has come to: 0 or 1."""

    def on_settled_side(self, place: int) -> bool:
        """Whether the user stands on that pole's side."""
        level = self.levels[place]
        return (level if self.settled else 4 - level) >= _SETTLED


def plan_user(words: Words, phrases: Phrases, user_id: str) -> UserPlan:
    """Draw one user.

    Events and states are told as facts; the second query takes the attempt of one event and the outcome of another,
    the fourth decides for the pole that the user has left, on both axes. The last state is a step back, so that
    knowing the newest session alone misleads. The second query retells what it mixes in other words, so that common
    words do not lead to the evidence.

    Args:
        words: The language's templates.
        phrases: The user's draws.
        user_id: The id to give.
    """
    rng = phrases.rng
    topic_place = rng.randrange(len(words.topics))
    topic = words.topics[topic_place]
    places = rng.sample(range(len(topic.tries)), rng.randint(*_EVENTS))
    axis_places = rng.sample(range(len(words.axes)), 2)
    count = rng.randint(*_STATES)
    days = rng.sample(evidence_days(rng, len(places) + count), len(places) + count)
    event_days, state_days = sorted(days[: len(places)]), sorted(days[len(places) :])
    tries = [tuple(phrases.expand(part, words.words_first) for part in topic.tries[place]) for place in places]
    events = tuple(
        _told(words, words.event.format(action=action, outcome=outcome), day)
        for (action, outcome), day in zip(tries, event_days, strict=True)
    )
    axes = (words.axes[axis_places[0]], words.axes[axis_places[1]])
    ways = _ways(rng, count)
    states, state_sources = _states(words, phrases, axes, ways, state_days)
    blend = tuple(rng.sample(range(len(tries)), 2))
    against = tuple(n for n in range(count) if all(way.on_settled_side(n) for way in ways))
    retold = [topic.retold[place] for place in places]
    queries, query_sources = _queries(words, phrases, topic.name, retold, blend, axes, ways)
    return UserPlan(
        user_id,
        phrases.expand(words.persona),
        topic.name,
        axes,
        events,
        states,
        queries,
        blend,
        against,
        {
            "persona": "persona",
            "topic": f"topics[{topic_place}]",
            "axes": [f"axes[{place}] {words.axes[place].id}" for place in axis_places],
            "events": [f"topics[{topic_place}].tries[{place}]" for place in places],
            "event_timestamps": "drawn: distinct days of the window",
            "trajectory": state_sources,
            "trajectory_timestamps": "drawn: distinct days of the window",
            "type2_evid": {
                "attempt of event": blend[0],
                "outcome of event": blend[1],
                "retold": [f"topics[{topic_place}].retold[{places[n]}]" for n in blend],
            },
            "type4_evid": "states on the settled side of both axes",
            **query_sources,
        },
    )


def axis_levels(rng: Draws, count: int, *, relapse: bool) -> tuple[int, ...]:
    """A way from one end of an axis (0) to the other (4) that is never a straight line.

    Up to a turning point the levels are 0 and 1, after it 3 and 4. With `relapse` the last is 2; without, the last two
    are 4 and 3. At least two levels before the last are 3 or 4.

    Args:
        rng: Draws the turning point and the levels.
        count: How many, 4–8.
        relapse: Whether the last level falls back to the middle.
    """
    turn = rng.randint(max(1, count - 6), count - 3)
    before = rng.sample([0, 0, 0, 1, 1, 1], turn)
    tail = [2] if relapse else [4, 3]
    bag = [3, 3, 3, 4, 4, 4] if relapse else [3, 3, 4, 4]
    return (*before, *rng.sample(bag, count - turn - len(tail)), *tail)


def _ways(rng: Draws, count: int) -> tuple[_Way, _Way]:
    relapsing = rng.randrange(2)
    ways = []
    for place in range(2):
        settled = rng.randrange(2)
        levels = axis_levels(rng, count, relapse=place == relapsing)
        ways.append(_Way(levels if settled else tuple(4 - level for level in levels), settled))
    return ways[0], ways[1]


def _states(
    words: Words, phrases: Phrases, axes: tuple[Axis, Axis], ways: tuple[_Way, _Way], days: list[date]
) -> tuple[tuple[Dated, ...], list[object]]:
    rng = phrases.rng
    contexts = rng.sample(range(len(words.contexts)), len(days))
    decks = [[rng.sample(range(len(templates)), len(templates)) for templates in axis.levels] for axis in axes]
    states: list[Dated] = []
    sources: list[object] = []
    for place, day in enumerate(days):
        templates, source = [], {"context": f"contexts[{contexts[place]}]"}
        for name, axis, way, deck in zip("ab", axes, ways, decks, strict=True):
            level = way.levels[place]
            drawn = deck[level].pop()
            templates.append(phrases.expand(axis.levels[level][drawn]))
            source[name] = f"{axis.id}.levels[{level}][{drawn}]"
        context = phrases.expand(words.contexts[contexts[place]])
        did = phrases.expand(words.state, {"context": context, "a": templates[0], "b": templates[1]})
        states.append(_told(words, did, day))
        sources.append(source)
    return tuple(states), sources


def _told(words: Words, did: str, day: date) -> Dated:
    third, first = did, did
    for name, word in words.words_third.items():
        third = third.replace(f"{{{name}}}", word)
    for name, word in words.words_first.items():
        first = first.replace(f"{{{name}}}", word)
    return Dated(words.third.replace("{did}", third), words.first.replace("{did}", first), day)


def _queries(
    words: Words,
    phrases: Phrases,
    topic: str,
    retold: list[tuple[str, str]],
    blend: tuple[int, ...],
    axes: tuple[Axis, Axis],
    ways: tuple[_Way, _Way],
) -> tuple[tuple[str, str, str, str], dict[str, object]]:
    rng = phrases.rng
    mixed = {"topic": topic, "action": retold[blend[0]][0], "outcome": retold[blend[1]][1]}
    type1, place1 = phrases.fresh(words.ask1, {"topic": topic})
    type2, place2 = phrases.fresh(words.ask2, mixed)
    piece = rng.randrange(len(words.pieces))
    labels = {"piece": words.pieces[piece], "la": axes[0].label, "lb": axes[1].label}
    type3, place3 = phrases.fresh(words.ask3, labels)
    org, role = rng.randrange(len(words.orgs)), rng.randrange(len(words.roles))
    picks = [rng.randrange(2), rng.randrange(2)]
    left = [axis.choose[1 - way.settled][pick] for axis, way, pick in zip(axes, ways, picks, strict=True)]
    capital = left[0][:1].upper() + left[0][1:]
    decision = {"org": words.orgs[org], "role": words.roles[role], "a": left[0], "A": capital, "b": left[1]}
    type4, place4 = phrases.fresh(words.ask4, decision)
    decided = [
        f"{axis.id}.choose[{1 - way.settled}][{pick}]" for axis, way, pick in zip(axes, ways, picks, strict=True)
    ]
    sources: dict[str, object] = {
        "type1": f"ask1[{place1}]",
        "type2": f"ask2[{place2}]",
        "type3": {"template": f"ask3[{place3}]", "piece": f"pieces[{piece}]"},
        "type4": {"template": f"ask4[{place4}]", "org": org, "role": role, "decision": decided},
    }
    return (type1, type2, type3, type4), sources
