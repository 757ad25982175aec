"""Completeness: an index finds what a scan for substrings finds, in many scripts, alike on both databases."""

import re

import pytest

from recorder.core.search.fold import UNSPACED, decode_escapes, fold
from recorder.core.search.tokens import LETTER, query_tokens
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import SearchDocument
from recorder.search import indexer, queries
from recorder.search.match import Match
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)

CORPUS = (
    "Please refactor the parser; the tests in tests/recorder/test_parser.py fail since v1.2.3-beta.",
    "Die Prüfung der Straße ergab: größer als erwartet, siehe Anhang (Übersicht).",
    "修改youer服务端的计划。然后重新启动数据库服务器。",
    "データベースのバックアップを毎日作成してください。ﾃｽﾄは完了しました。",
    "서버를 다시 시작하고 로그 파일을 확인하십시오.",
    "ที่นี่มีน้ำดื่มสะอาดและอาหารไทยอร่อยมาก",
    "اَلْعَرَبِيَّةُ لُغَةٌ جَمِيلَةٌ وَ العربية لغة جميلة",
    "def read_all(self, max_bytes: int = 65536) -> dict[str, bytes]:\n    return self._cache.popitem()",
    "/usr/local/bin/python3.11 -m pytest -q --maxfail=1 ./tests && echo $HOME/.cache",
    '{"city": "\\u5317\\u4eac", "note": "caf\\u00e9 ferm\\u00e9", "path": "C:\\\\new\\\\table"}',
    '{"inner": "{\\"name\\": \\"\\\\u6771\\\\u4eac\\\\u30bf\\\\u30ef\\\\u30fc\\"}"}',
    "ＦＵＬＬＷＩＤＴＨ ｔｅｘｔ and ﬁligree ligatures, naïve café résumé",  # noqa: RUF001
    "日本語とEnglishとไทยが混ざるtext2026年",
    "Deployed 🎉🎉 to production ✅: 3 ✗, 👩\u200d💻 is on it",
    "हिन्दी में खोज करना और Ελληνικά κείμενα, русский текст, שָׁלוֹם עולם",
)
WORD = re.compile(f"{LETTER}+")
RUN = re.compile(rf"[{UNSPACED}]+")


def normal(text):
    return fold(decode_escapes(text))


def words():
    """Return the words of the spaced scripts of the corpus, as people would type them."""
    found = {word for text in CORPUS for word in WORD.findall(re.sub(r"\\+[nt]?", " ", normal(text)))}
    return sorted(word for word in found if len(word) > 1)


def unspaced_terms(size):
    runs = {run for text in CORPUS for run in RUN.findall(normal(text))}
    return sorted({run[at : at + size] for run in runs for at in range(len(run) - size + 1)})


def found(project, term):
    phrase = query_tokens(term)
    pks = queries.newest(project.pk, Match((phrase,)), queries.TOP, 1_000).found
    return {hit.event for hit in pks if hit.kind != SearchDocument.TITLE}


@pytest.fixture
def events(project):
    """Record each text of the corpus as an answer; return the texts by journal id, folded."""
    messages = [
        {"type": "MessageEnd", "loop_id": "s.a.1", "message": build.assistant(text)} for text in CORPUS
    ]
    lines = [build.agent_start("s.a.1"), build.turn_start("s.a.1"), *messages]
    ingest(Batch(project.pk, "p", None, [build.line(event) for event in lines], "native"))
    indexer.run_all()
    answers = SearchDocument.objects.filter(kind=SearchDocument.ANSWER).order_by("pk")
    pks = list(answers.values_list("event", flat=True))
    assert len(pks) == len(CORPUS)
    return dict(zip(pks, map(normal, CORPUS), strict=True))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_part_of_an_unspaced_script_is_found_where_a_scan_finds_it(project, events, size):
    terms = unspaced_terms(size)
    assert len(terms) > 60
    for term in terms:
        assert found(project, term) == {pk for pk, text in events.items() if term in text}, term


def test_every_word_is_found_where_a_scan_finds_it(project, events):
    assert len(words()) > 70
    for word in words():
        scan = re.compile(rf"(?:(?<!{LETTER})|\\n?){re.escape(word)}(?!{LETTER})")
        expected = {pk for pk, text in events.items() if scan.search(text)}
        assert expected <= found(project, word), word


def test_every_pictograph_is_found_where_a_scan_finds_it(project, events):
    for character in "🎉✅✗👩💻":
        expected = {pk for pk, text in events.items() if character in text}
        assert found(project, character) == expected != set(), character


def test_words_are_found_however_they_are_written(project, events):
    for written, meant in (
        ("STRASSE", "straße"),
        ("Prufung", "prüfung"),
        ("العَربية", "العربية"),
        ("TEXT", "text"),
    ):
        assert found(project, written) == found(project, meant) != set()
