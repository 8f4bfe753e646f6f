"""The HTML report: one file that loads nothing, runs nothing but its own script, and hides nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.cli import main
from mnemoscope.comparison import compare_runs
from mnemoscope.comparison.merging import open_runs
from mnemoscope.config import RunConfig
from mnemoscope.core.errors import ConfigError, RunFileError
from mnemoscope.core.language.display import clip, visible_controls
from mnemoscope.report import write_report
from mnemoscope.report.highlight import pieces_of
from mnemoscope.report.outcomes import outcomes_of
from mnemoscope.report.page import percent
from mnemoscope.report.pairs import p_value
from mnemoscope.report.wording import wording
from mnemoscope.report.writing import speech

ALLOWED_TAGS = set(
    (
        "html head meta title style body a header div h1 h2 h3 h4 p dl dt dd nav ul li section main table thead tbody "
        "tr th td small bdi span svg line circle rect text g figure figcaption i details summary ol strong b br mark "
        "article footer script input select option button"
    ).split(" ")
)
VOID = {"meta", "br", "input"}
ADDRESSES = {"src", "href", "action", "formaction", "poster", "data", "srcset", "xlink:href", "srcdoc", "style"}


class Page(HTMLParser):
    """Tags, attributes and text of a page; complains about what is not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text: list[str] = []
        self.inline: dict[str, str] = {}
        self.bdi: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)
        if tag == "bdi":
            self.bdi.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("style", "script"):
            self.inline[self._open[-1]] = self.inline.get(self._open[-1], "") + data
            return
        self.text.append(data)
        if "bdi" in self._open:
            self.bdi[-1] += data

    def value(self, tag: str, name: str, attribute: str, other: str) -> str | None:
        """The attribute `other` of the tag whose attribute `name` is `attribute`."""
        for i, (t, n, v) in enumerate(self.attributes):
            if (t, n, v) == (tag, name, attribute):
                return next(v for t, n, v in self.attributes[i:] if t == tag and n == other)
        return None


def assert_inert(html: str) -> Page:
    """The properties that every report has, whatever the data."""
    page = Page(html)
    assert set(page.tags) <= ALLOWED_TAGS
    assert page.tags.count("script") == 1 and page.tags.count("style") == 1
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), f"{tag} has a handler {name}"
        if name in ADDRESSES:
            assert name == "href" and value is not None and value.startswith("#"), (tag, name, value)
    policy = page.value("meta", "http-equiv", "Content-Security-Policy", "content")
    assert policy is not None
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed["default-src"] == "'none'" and allowed["base-uri"] == "'none'" and allowed["form-action"] == "'none'"
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.inline[kind].encode()).digest()).decode()
        assert allowed[f"{kind}-src"] == f"'sha256-{digest}'", "only this very text may run"
    assert "http:" not in page.inline["script"] and "fetch(" not in page.inline["script"]
    assert "url(" not in page.inline["style"] and "@import" not in page.inline["style"]
    return page


@pytest.fixture
def replay(config: Callable[..., RunConfig], do_run: Callable[..., object]) -> Callable[..., Path]:
    def do(spec: str, **settings: Any) -> Path:
        made = config(scenarios=(spec,), **{"architectures": ("none", "full-context", "oracle"), **settings})
        do_run(made)
        assert made.out is not None
        return made.out

    return do


@pytest.fixture
def run_file(replay: Callable[..., Path], make_locomo: Callable[..., Path]) -> Path:
    return replay(f"locomo:{make_locomo()}", profiles=("baseline", "slots"))


def test_the_page_has_its_parts_and_loads_nothing(run_file: Path, tmp_path: Path) -> None:
    written = write_report([run_file], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = assert_inert(html)
    text = " ".join("".join(page.text).split())
    assert written.bytes == len(html.encode()) < 3_000_000
    assert (written.probes_shown, written.probes) == (10, 10)
    for words in (
        "60 of 60 done, 0 failed",
        "Where memory was lost",
        "1–4 non-adversarial",
        "a fixed rule, no judge",
        "reads gold",
        "Hidden from every system",
        "All 10 probes.",
        "no row for recent",
        "https://github.com/snap-research/locomo",
    ):
        assert words in text, words
    assert page.tags.count("details") > 100
    sha = hashlib.sha256((tmp_path / "locomo.json").read_bytes()).hexdigest()
    assert sha in text
    assert written.content_hashes[0][:16] in text


def test_the_same_run_file_gives_the_same_bytes(run_file: Path, tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_report([run_file], tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_each_probe_shows_what_was_stored_given_planned_said_and_judged(run_file: Path, tmp_path: Path) -> None:
    write_report([run_file], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    folds = html.split('<details class="probe"')[1:]
    assert len(folds) == 10
    fold = next(f for f in folds if "conv-1/q0" in f)
    assert 'data-stages="not-stored ' in fold
    gold = re.findall(r'<li class="gold"><span class="who"><b><bdi>(.*?)</bdi>.*?class="mono">(.*?)</span>', fold)
    assert gold == [("Mira", "D1:1")]
    assert "gold answer 1-0" in fold.partition('class="hidden-gold"')[2].partition("</dl>")[0]
    assert "<mark>" not in fold.partition("none stored with gold")[2].partition("</section>")[0]
    for memory in ("none", "full-context", "oracle"):
        assert f"<h3><bdi>{memory}</bdi>" in fold
    assert "new kiln from Ghent" in fold.partition("<b>Retrieved</b>")[2]
    assert "top-k(3)" in fold and "answer-f1" in fold and "<b>Nodes</b>" in fold


def test_with_roles_the_outcome_is_that_of_compliance(
    replay: Callable[..., Path], make_stratmem: Callable[..., Path]
) -> None:
    profiles = ("none", "all", "oracle")
    out = replay(f"stratmem:{make_stratmem()}", architectures=("pool",), profiles=profiles)
    with open_runs([out]) as runs:
        outcomes = outcomes_of(runs, {"stratmem": {"smc"}}, ())
    assert len(outcomes) == 3
    for by_system in outcomes.values():
        assert by_system == {"pool@none": "not-planned", "pool@all": "missed", "pool@oracle": "kept"}
    assert {f.facts for f in compare_runs([out]).funnels} == {3 * (2 + 1)}, "two must facts and one nice one each"


def test_hostile_dialogue_stays_text(
    replay: Callable[..., Path], case_dir: Callable[[str], Path], tmp_path: Path
) -> None:
    source = case_dir("SC-01") / "scenario.json"
    out = replay(f"locomo:{source}")
    write_report([out], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = assert_inert(html)
    shown = "".join(page.text)
    turns = json.loads(source.read_text(encoding="utf-8"))[0]["conversation"]["session_1"]
    assert len(turns) == 12
    for turn in turns:
        assert turn["text"] in shown, "visible exactly as typed"
        if "<" in turn["text"]:
            assert turn["text"] not in html, "never raw in the source"
    assert "javascript:" not in " ".join(value or "" for _, _, value in page.attributes)


def test_right_to_left_text_emoji_and_direction_controls(
    replay: Callable[..., Path], case_dir: Callable[[str], Path], write_json: Callable[..., Path], tmp_path: Path
) -> None:
    turns = json.loads((case_dir("UN-03") / "turns.json").read_text(encoding="utf-8"))
    talk = [{"speaker": "Mira", "dia_id": f"D1:{i}", "text": t["text"]} for i, t in enumerate(turns, start=1)]
    sample = {
        "sample_id": "bidi",
        "conversation": {
            "speaker_a": "Mira",
            "speaker_b": "Tomasz",
            "session_1_date_time": "9:00 am on 8 March, 2022",
            "session_1": talk,
        },
        "qa": [{"question": "What came?", "answer": "an invoice", "evidence": ["D1:3"], "category": 4}],
    }
    write_report([replay(f"locomo:{write_json('bidi.json', [sample])}")], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = assert_inert(html)
    assert "\u202e" not in html and "⟪RLO⟫" in html
    for turn in turns:
        assert any(visible_controls(turn["text"]) in isolated for isolated in page.bdi), "inside a bdi"


def test_cutting_never_tears_a_character_apart(case_dir: Callable[[str], Path]) -> None:
    for turn in json.loads((case_dir("UN-03") / "turns.json").read_text(encoding="utf-8")):
        for limit in range(5, 13):
            cut = clip(turn["text"], limit)
            if cut == turn["text"]:
                continue
            assert cut.endswith("…") and turn["text"].startswith(cut[:-1])
            rest = turn["text"][len(cut) - 1 :]
            assert not re.match("[\u200d\ufe0e\ufe0f\u0300-\u036f\U0001f3fb-\U0001f3ff]", rest)
            assert not cut[:-1].endswith("\u200d")


def test_a_locale_without_unicode_gives_the_same_bytes(
    replay: Callable[..., Path], case_dir: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = replay(f"locomo:{case_dir('DS-11') / 'utf8_scenario.json'}")
    ascii_only = {
        "LC_ALL": "C",
        "LANG": "C",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "ascii",
        "PYTHONCOERCECLOCALE": "0",
    }
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHON"))} | ascii_only
    code = (
        "import sys; from mnemoscope.cli import main\n"
        f"sys.exit(main(['report', {str(out)!r}, '--out', 'ascii.html']) or main(['compare', {str(out)!r}, '--json']))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert main(["report", str(out), "--out", str(tmp_path / "utf8.html")]) == 0
    capsys.readouterr()
    assert main(["compare", str(out), "--json"]) == 0
    assert done.stdout.endswith(capsys.readouterr().out.encode())
    page = (tmp_path / "ascii.html").read_bytes()
    assert page == (tmp_path / "utf8.html").read_bytes()
    assert "我上周领养了一只灰猫，名字叫像素🐈‍⬛。".encode() in page


def test_ids_are_never_file_names(
    replay: Callable[..., Path], case_dir: Callable[[str], Path], make_locomo: Callable[..., Path], tmp_path: Path
) -> None:
    ids = json.loads((case_dir("SC-07") / "ids.json").read_text(encoding="utf-8"))
    [sample] = json.loads(make_locomo(conversations=1).read_text(encoding="utf-8"))
    path = tmp_path / "ids.json"
    samples = [{**sample, "sample_id": name, "qa": sample["qa"][:1]} for name in ids]
    path.write_text(json.dumps(samples), encoding="utf-8")
    folder = tmp_path / "out"
    folder.mkdir()
    run = replay(f"locomo:{path}", out=folder / "run.db", architectures=("bm25",))
    write_report([run], folder / "report.html")
    assert sorted(p.name for p in folder.iterdir()) == ["report.html", "run.db"]
    shown = "".join(assert_inert((folder / "report.html").read_text(encoding="utf-8")).text)
    assert all(name in shown for name in ids)


def test_a_large_run_shows_the_worst_probes_and_counts_the_rest(run_file: Path, tmp_path: Path) -> None:
    whole = write_report([run_file], tmp_path / "whole.html")
    assert whole.probes_shown == 10
    room = whole.bytes - 60_000
    part = write_report([run_file], tmp_path / "part.html", page_bytes=room)
    assert part.bytes <= room and 1 <= part.probes_shown < 10
    html = (tmp_path / "part.html").read_text(encoding="utf-8")
    omitted = 10 - part.probes_shown
    assert f"{part.probes_shown} of 10 probes are shown" in html and f"{omitted} are left out" in html
    assert html.count('<details class="probe"') == part.probes_shown
    tiny = write_report([run_file], tmp_path / "tiny.html", page_bytes=1)
    assert tiny.probes_shown == 1
    assert_inert((tmp_path / "tiny.html").read_text(encoding="utf-8"))


def test_an_unfinished_run_says_so(run_file: Path, tmp_path: Path) -> None:
    import sqlite3

    db = sqlite3.connect(run_file)
    ids = db.execute("SELECT cell_id FROM cell WHERE system = 'oracle@slots'").fetchall()
    for table in ("verdict", "loss", "span", "cell"):
        db.executemany(f"DELETE FROM {table} WHERE cell_id = ?", ids)
    db.commit()
    db.close()
    write_report([run_file], tmp_path / "report.html")
    text = "".join(assert_inert((tmp_path / "report.html").read_text(encoding="utf-8")).text)
    assert "50 of 60 done, 0 failed – incomplete" in text
    assert "incomplete: 50 of 60 cells are there (oracle@slots 0/10)" in text


def test_chinese_words_around_unchanged_data(run_file: Path, tmp_path: Path) -> None:
    write_report([run_file], tmp_path / "zh.html", "zh")
    html = (tmp_path / "zh.html").read_text(encoding="utf-8")
    assert_inert(html)
    assert '<html lang="zh">' in html and "记忆丢失在哪里" in html and "new kiln from Ghent" in html
    with pytest.raises(ConfigError, match="en, zh"):
        write_report([run_file], tmp_path / "fr.html", "fr")
    assert not (tmp_path / "fr.html").exists()


def test_every_word_is_there_in_both_languages() -> None:
    english, chinese = wording("en"), wording("zh")
    templates = "".join(
        path.read_text(encoding="utf-8")
        for path in (Path(write_report.__code__.co_filename).parent / "templates").glob("*.j2")
    )
    used = {key for pair in re.findall(r"""\bt\((?:"([a-z_-]+)"|'([a-z_-]+)')[,)]""", templates) for key in pair if key}
    assert len(used) > 60
    for key in used:
        places = set(re.findall(r"\{(\w+)\}", english(key)))
        assert chinese(key) != key or key == "p_plain", f"no words for {key}"
        assert set(re.findall(r"\{(\w+)\}", chinese(key))) == places, key


def test_outputs_that_cannot_be_written_leave_everything_as_it_was(run_file: Path, tmp_path: Path) -> None:
    before = run_file.read_bytes()
    with pytest.raises(ConfigError, match="is one of the run files"):
        write_report([run_file], run_file)
    with pytest.raises(ConfigError, match="cannot be written"):
        write_report([run_file], tmp_path / "no" / "folder" / "report.html")
    (tmp_path / "taken.html").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        write_report([run_file], tmp_path / "taken.html")
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".taken")], "no draft is left"
    with pytest.raises(RunFileError, match="no run file"):
        write_report([tmp_path / "missing.db"], tmp_path / "report.html")
    assert run_file.read_bytes() == before


def test_the_command_says_what_it_wrote(run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.html"
    assert main(["report", str(run_file), "--out", str(target)]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(f"{target}: ") and "10 of 10 probes in full" in said.out
    assert "warning: no row for recent" in said.err
    assert main(["report", str(run_file), "--out", str(target), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bytes"] == target.stat().st_size and document["probes"] == 10
    assert main(["report", str(run_file), "--out", str(tmp_path)]) == 2
    assert "cannot be written" in capsys.readouterr().err


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_marked_pieces_join_to_the_text(text: str, quotes: list[str]) -> None:
    pieces = pieces_of(text, [*quotes, text[2:5]])
    assert "".join(piece.text for piece in pieces) == text
    assert all(a.marked != b.marked for a, b in pairwise(pieces))


@given(st.text(max_size=80), st.integers(1, 90))
def test_speech_is_one_element_whatever_it_says(text: str, limit: int) -> None:
    html = str(speech(text, limit))
    assert html.startswith("<bdi>") and html.endswith("</bdi>")
    assert html.count("<") == 2


def test_numbers_are_printed_plainly() -> None:
    assert percent(0.5424) == "54.2" and percent(None) == "–" and percent(-0.05, signed=True) == "−5.0"
    assert p_value(0.0) == "< .001" and p_value(1.0) == "1.000" and p_value(0.05) == ".050"
