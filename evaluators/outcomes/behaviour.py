"""What users do after a reply: say it again, take it up, come back, stay longer. Counted from logs, never guessed.

These are deterministic readings of the user's own words and dates, and a floor: a paraphrase is not seen. MemUse (arXiv
2608.24189) counts re-provisions and uptake by hand: users took up 19 of 64 proactive recalls.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Literal

import numpy as np
import regex

from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.evaluators.detectors.phrases import corrects
from mnemoscope.evaluators.outcomes.records import Moment, SessionKey, SessionOutcome
from mnemoscope.evaluators.statistics.bootstrap import bootstrap_columns
from mnemoscope.evaluators.statistics.intervals import wilson

__all__ = [
    "Changes",
    "Rate",
    "ReProvisions",
    "Uptake",
    "clustered_rate",
    "length_changes",
    "re_provides",
    "re_provisions",
    "return_rate",
    "returned",
    "uptake",
]

_AGAIN = regex.compile(
    r"\b(?:as|like) i(?:['’]ve| have)? (?:already |just )?(?:said|told|mentioned|wrote|explained)\b"
    r"|\bi(?:['’]ve| have)? (?:already|just) (?:said|told|mentioned|wrote|explained)\b"
    r"|\bi(?:['’]ve| have)? (?:told|mentioned (?:it |that |this )?to) you\b|\bremember,? i (?:said|told|mentioned)\b"
    r"|我(?:之前|以前|上次|刚才|刚刚|已经|早就)?(?:跟你|和你|对你)?(?:说|讲|提|告诉)(?:过|了)|就像我说的|刚才不是说"
)


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of sessions, with the interval by users."""

    share: float | None
    """0–1; None where no session counts."""
    low: float | None
    high: float | None
    """95 % cluster bootstrap over users; None below two users."""
    hits: int
    n: int
    users: int
    left_out: Mapping[str, int]
    """Reason to number of sessions."""


@dataclass(frozen=True, slots=True)
class Changes:
    """A change from each session to the user's next one."""

    unit: Literal["turns", "minutes"]
    by_session: Mapping[SessionKey, float]
    """Next session's length minus this one's."""
    mean: float | None
    low: float | None
    high: float | None
    users: int
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ReProvisions:
    """How often users said a thing again, after a miss and, for comparison, after a reply that had used it."""

    after_miss: int
    misses: int
    after_use: int
    uses: int
    left_out: Mapping[str, int]
    """`not judged`, `session ended`."""

    @property
    def rate_after_miss(self) -> float | None:
        """0–1; None without misses."""
        return self.after_miss / self.misses if self.misses else None

    @property
    def rate_after_use(self) -> float | None:
        """0–1; None without uses."""
        return self.after_use / self.uses if self.uses else None


@dataclass(frozen=True, slots=True)
class Uptake:
    """What users' next turns made of what replies had recalled."""

    taken: int
    put_right: int
    """The next turn corrects the reply."""
    left: int
    left_out: Mapping[str, int]
    """`nothing recalled`, `session ended`."""

    @property
    def recalls(self) -> int:
        """Recalls that had a next turn."""
        return self.taken + self.put_right + self.left

    @property
    def rate(self) -> float | None:
        """Taken up by recalls, 0–1; None without recalls."""
        return self.taken / self.recalls if self.recalls else None


def re_provides(text: str) -> bool:
    """Whether a user says that something was said before; English and Chinese wordings.

    Example:
        >>> re_provides("As I said, the cat is called Pixel."), re_provides("我之前说过我对花生过敏")
        (True, True)
        >>> re_provides("The cat is called Pixel.")
        False
    """
    return _AGAIN.search(text.lower()) is not None


def re_provisions(moments: Iterable[Moment]) -> ReProvisions:
    """Count turns that say a thing again, by what the reply before them did.

    Args:
        moments: Moments with `used` and the user's next turn.
    """
    again: Counter[bool] = Counter()
    seen: Counter[bool] = Counter()
    left_out: Counter[str] = Counter()
    for moment in moments:
        if moment.used is None:
            left_out["not judged"] += 1
        elif moment.next_turn is None:
            left_out["session ended"] += 1
        else:
            seen[moment.used] += 1
            again[moment.used] += re_provides(moment.next_turn)
    return ReProvisions(again[False], seen[False], again[True], seen[True], dict(sorted(left_out.items())))


def uptake(moments: Iterable[Moment]) -> Uptake:
    """Count recalls that the user's next turn takes up, puts right or leaves.

    A recall is taken up where the next turn has a content word of it that the user's turn before had not; a turn that
    corrects the reply has put it right instead, whatever its words.

    Args:
        moments: Moments with what the reply recalled and the user's turns around it.
    """
    found: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for moment in moments:
        if not moment.recalled.strip():
            left_out["nothing recalled"] += 1
        elif moment.next_turn is None:
            left_out["session ended"] += 1
        elif corrects(moment.next_turn):
            found["put right"] += 1
        else:
            new = set(content_tokens(moment.recalled)) - set(content_tokens(moment.trigger))
            found["taken" if new & set(content_tokens(moment.next_turn)) else "left"] += 1
    return Uptake(found["taken"], found["put right"], found["left"], dict(sorted(left_out.items())))


def returned(
    outcomes: Iterable[SessionOutcome], *, days: int, until: date | None = None
) -> tuple[Mapping[SessionKey, float], int]:
    """Whether each session's user came back within some days: 1 or 0, and the number of sessions that cannot be told.

    A session whose days are not over by the end of the log tells nothing unless its user has come back already.

    Args:
        outcomes: All sessions of the log, rated or not.
        days: How many days after a session a next one counts; one of the same day counts.
        until: Last day that the log covers; None: the day of its last session.

    Raises:
        ValueError: `days` is below 1.
    """
    if days < 1:
        raise ValueError(f"days is {days}; it is 1 or more")
    by_user = _in_order(outcomes)
    last = until or max((o.date for sessions in by_user.values() for o in sessions), default=None)
    found: dict[SessionKey, float] = {}
    open_ended = 0
    for sessions in by_user.values():
        for this, following in zip(sessions, [*sessions[1:], None], strict=True):
            if following is not None and (following.date - this.date).days <= days:
                found[this.key] = 1.0
            elif last is not None and (last - this.date).days >= days:
                found[this.key] = 0.0
            else:
                open_ended += 1
    return found, open_ended


def return_rate(
    outcomes: Iterable[SessionOutcome],
    *,
    days: int = 7,
    until: date | None = None,
    seed: int = 0,
    resamples: int = 10_000,
) -> Rate:
    """Share of sessions whose user came back within some days; see `returned`.

    Args:
        outcomes: All sessions of the log.
        days: How many days after a session a next one counts.
        until: Last day that the log covers; None: the day of its last session.
        seed: Of the bootstrap over users.
        resamples: Of the bootstrap.
    """
    found, open_ended = returned(outcomes, days=days, until=until)
    left_out = {"log ends before": open_ended} if open_ended else {}
    return clustered_rate(found, left_out, seed=seed, resamples=resamples)


def clustered_rate(
    hits: Mapping[SessionKey, float], left_out: Mapping[str, int], *, seed: int = 0, resamples: int = 10_000
) -> Rate:
    """The share of ones among sessions, with a bootstrap over users; Wilson's interval over users for all or none."""
    mean, low, high, users = _mean_by_user(hits, seed, resamples)
    if mean is not None and mean in (0.0, 1.0) and users > 1:  # no resample differs, which is not certainty
        ends = wilson(int(mean) * users, users)
        low, high = ends.low, ends.high
    return Rate(mean, low, high, int(sum(hits.values())), len(hits), users, left_out)


def length_changes(
    outcomes: Iterable[SessionOutcome],
    *,
    unit: Literal["turns", "minutes"] = "turns",
    seed: int = 0,
    resamples: int = 10_000,
) -> Changes:
    """How much longer or shorter the user's next session is.

    Args:
        outcomes: All sessions of the log.
        unit: What length is measured in.
        seed: Of the bootstrap over users.
        resamples: Of the bootstrap.
    """
    found: dict[SessionKey, float] = {}
    left_out: Counter[str] = Counter()
    for sessions in _in_order(outcomes).values():
        left_out["last session"] += 1
        for this, following in pairwise(sessions):
            before, after = _length(this, unit), _length(following, unit)
            if before is None or after is None:
                left_out[f"no {unit}"] += 1
            else:
                found[this.key] = after - before
    mean, low, high, users = _mean_by_user(found, seed, resamples)
    return Changes(unit, found, mean, low, high, users, dict(sorted(left_out.items())))


def _length(outcome: SessionOutcome, unit: Literal["turns", "minutes"]) -> float | None:
    return outcome.turns if unit == "turns" else outcome.minutes


def _in_order(outcomes: Iterable[SessionOutcome]) -> dict[str, Sequence[SessionOutcome]]:
    """Sessions by user and date; those of one day stay in the order given."""
    by_user: defaultdict[str, list[SessionOutcome]] = defaultdict(list)
    for outcome in outcomes:
        by_user[outcome.user].append(outcome)
    return {user: sorted(sessions, key=lambda o: o.date) for user, sessions in sorted(by_user.items())}


def _mean_by_user(
    values: Mapping[SessionKey, float], seed: int, resamples: int
) -> tuple[float | None, float | None, float | None, int]:
    if not values:
        return None, None, None, 0
    users = {user: place for place, user in enumerate(sorted({key.user for key in values}))}
    sums, sizes = np.zeros((len(users), 1)), np.zeros((len(users), 1))
    for key, value in values.items():
        sums[users[key.user]] += value
        sizes[users[key.user]] += 1
    low, high, _ = bootstrap_columns(sums, sizes, seed=seed, resamples=resamples)
    known = not np.isnan(low[0])
    mean = float(sums.sum() / sizes.sum())
    return mean, float(low[0]) if known else None, float(high[0]) if known else None, len(users)
