"""What a reply is like on its surface: repetition and language. Rules, no judge.

- ``repetition``: share of the reply's runs of four tokens that stand earlier in the reply or in one of the assistant's
  earlier turns of the current session, 0–1; lower is better. The label says where most of it comes from. Tokens are
  words; in scripts without spaces they are pairs of characters. Runs that the user said are no repetition of the
  assistant's.
- ``language-match``: 1 where the reply is written in the script of the utterance, else 0. The script that most words
  are in is the reply's main one (two characters of a script without spaces count as a word; Han beside kana is
  Japanese). An utterance in two scripts may be answered in either that holds a third of it.

Deviations: neither is published by one of the benchmarks; both are guards that other scores are read beside.
`language-match` sees scripts, not languages: English and French are both Latin to it, Chinese in either form is Han.

Trivial policies: an empty reply has neither score; the same sentence every time scores near 1 on `repetition` once it
stands in the session; answering always in one language scores the share of utterances in its script.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import regex

from mnemoscope.core.language.tokens import lexical_tokens
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers
from mnemoscope.evaluators.metrics.metric import excluded, scored
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = ["LanguageMatch", "Repetition", "main_script", "scripts_of"]

_RUN = 4
"""Tokens of a run: shorter ones repeat by chance."""
_ENOUGH = 1 / 3
_UNSPACED = ("Han", "Kana", "Thai", "Lao", "Khmer", "Myanmar")
_SPACED = ("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Hangul", "Devanagari")
_WORDS = {name: regex.compile(rf"\p{{Script={name}}}[\p{{Script={name}}}\p{{M}}'’]*") for name in _SPACED}
_CHARACTERS = {name: regex.compile(rf"\p{{Script={name}}}") for name in _UNSPACED if name != "Kana"} | {
    "Kana": regex.compile(r"[\p{Script=Hiragana}\p{Script=Katakana}]")
}
_KANA_SHARE = 0.1

Ngram = tuple[str, ...]


class Repetition:
    """`repetition`: how much of the reply the assistant has said before; lower is better."""

    name = "repetition"
    family = "surface"
    lower_is_better = True

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Every probe."""
        return True

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        runs = _runs(case.reply.visible_text)
        if not runs:
            return [excluded(self.name, "fewer than four words", judge_key="repetition-1")]
        spoken = [turn.text for turn in case.probe.recent_turns if turn.role == "assistant"]
        earlier = {run for text in spoken for run in _runs(text)}
        from_session = sum(run in earlier for run in runs)
        own = sum(run not in earlier for run in _repeated(runs))
        score = (from_session + own) / len(runs)
        label = "none" if not score else "earlier turns" if from_session >= own else "own words"
        figures = {"runs": len(runs), "earlier": from_session, "own": own}
        return [scored(self.name, score, label, judge_key="repetition-1", figures=figures)]


class LanguageMatch:
    """`language-match`: the reply is in the script of the utterance."""

    name = "language-match"
    family = "surface"
    lower_is_better = False

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Every probe."""
        return True

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """Utterances without a letter."""
        asked = main_script(case.probe.text)
        return None if asked else excluded(self.name, "no letters in the utterance", judge_key="script-1")

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """One verdict on subject `reply`."""
        if (out := self.exclusion(case)) is not None:
            return [out]
        said = main_script(case.reply.visible_text)
        if said is None:
            return [excluded(self.name, "no letters in the reply", judge_key="script-1")]
        asked, main = scripts_of(case.probe.text), main_script(case.probe.text)
        matches = said == main or asked.get(said, 0.0) >= _ENOUGH
        label = said if matches else f"{said} for {main}"
        shares = {name: round(share, 6) for name, share in sorted(asked.items())}
        return [scored(self.name, float(matches), label, judge_key="script-1", figures={"utterance": shares})]


def main_script(text: str) -> str | None:
    """The script that most words are in; None for a text without letters of a known script.

    Example:
        >>> main_script("我昨天用 Kubernetes 部署了服务"), main_script("Mira said 你好")
        ('Han', 'Latin')
    """
    shares = scripts_of(text)
    return max(sorted(shares), key=lambda name: shares[name]) if shares else None


def scripts_of(text: str) -> dict[str, float]:
    """Script to its share of the words, 0–1; the shares add up to 1, and a text without letters has none."""
    return dict(_shares(text))


@lru_cache(maxsize=4_096)
def _shares(text: str) -> tuple[tuple[str, float], ...]:
    if text.isascii():  # one script to look for
        return (("Latin", 1.0),) if any(map(str.isalpha, text)) else ()
    words = {name: float(len(pattern.findall(text))) for name, pattern in _WORDS.items()}
    words |= {name: len(pattern.findall(text)) / 2 for name, pattern in _CHARACTERS.items()}
    if words["Kana"] > _KANA_SHARE * (words["Kana"] + words["Han"]):
        words["Kana"] += words.pop("Han")
    total = sum(words.values())
    return tuple((name, count / total) for name, count in words.items() if count)


def _runs(text: str) -> list[Ngram]:
    tokens = lexical_tokens(text)
    return [tokens[i : i + _RUN] for i in range(len(tokens) - _RUN + 1)]


def _repeated(runs: Iterable[Ngram]) -> list[Ngram]:
    """Every occurrence but the first of each run."""
    return [run for run, count in Counter(runs).items() for _ in range(count - 1)]
