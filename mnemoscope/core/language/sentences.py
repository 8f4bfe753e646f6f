"""Sentences of English and Chinese text, as pieces of the text itself."""

from __future__ import annotations

import regex

__all__ = ["sentence_spans", "split_sentences"]

_END = regex.compile(r"[.!?。！？…]++[\"'”’」』）)\]\p{So}\p{Sk}\p{M}\u200d]*+|\n++")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_ABBREVIATION = regex.compile(
    r"(?:^|[^\p{L}\p{N}])(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Jr|Sr|vs|e\.g|i\.e|approx|(?-i:[A-HJ-Z]))\.$", regex.IGNORECASE
)
_HALF_DAY = regex.compile(r"\b[ap]\.m\.$", regex.IGNORECASE)
_GOES_ON = regex.compile(r"\s+[\p{Ll}\d]")
_LOOK_BACK = 8


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Where each sentence begins and ends, end marks included, surrounding blanks not.

    A dot inside a number or a word, after an initial or a title, or after `a.m.` in the middle of a sentence is no
    end; nor is an ellipsis that goes on with a small letter.

    Example:
        >>> sentence_spans("Hi!  It cost 3.50 euros.")
        [(0, 3), (5, 24)]
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if _ends(text, match.start(), match.end()):
            _append(spans, text, start, match.end())
            start = match.end()
    _append(spans, text, start, len(text))
    return spans


def split_sentences(text: str) -> list[str]:
    """Sentences of a text, end marks kept; see `sentence_spans`.

    Example:
        >>> split_sentences("It cost 3.50 euros. 我养了猫。真的！")
        ['It cost 3.50 euros.', '我养了猫。', '真的！']
    """
    return [text[start:end] for start, end in sentence_spans(text)]


def _ends(text: str, start: int, end: int) -> bool:
    mark = text[start]
    if mark in "\n。！？":
        return True
    following = text[end : end + 1]
    if following and not following.isspace() and not _UNSPACED.match(following):
        return False
    if mark == "…" or text.startswith("..", start):
        return _GOES_ON.match(text, end) is None
    if mark == "." and end == start + 1:
        before = text[max(0, start - _LOOK_BACK) : end]
        if _ABBREVIATION.search(before):
            return not following
        return not (_HALF_DAY.search(before) and _GOES_ON.match(text, end))
    return True


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    if piece.strip():
        spans.append((start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())))
