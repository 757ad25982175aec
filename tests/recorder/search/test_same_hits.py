"""SQLite and PostgreSQL have the same hits: one corpus in both, searched by the same queries."""

from contextlib import contextmanager

import pytest
from django.db import connection, connections
from django.db.utils import load_backend
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.core.search.chunks import PART_TOKENS, SAME_TOKENS
from recorder.core.search.tokens import query_tokens
from recorder.models import SearchDocument
from recorder.search import documents, tables
from recorder.search.match import Match, head
from recorder.search.queries import TOP
from tests.recorder.search.test_completeness import CORPUS, unspaced_terms, words
from tests.support import build

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="compares PostgreSQL with SQLite"),
]

INDEX = 1  # the number of the project whose index table is made in both databases
KINDS = (SearchDocument.PROMPT, SearchDocument.ANSWER, SearchDocument.TOOL_RESULT)
SESSIONS = 3
LETTERS = "abcXYZ019_-./\\\"nu äßé çΣ שׁ اَلع हिन्दी が한ｶﾞ服务端ที่นี่ 𠮷 ﬁ 🎉✓ ½ \u00ad\u200c\u200d\ud800'&|!:*"
TEXTS = st.one_of(st.text(max_size=40), st.text(LETTERS, max_size=40))
LONG = (
    " ".join(f"word{n} 服务端{n}" for n in range(PART_TOKENS)),
    "same " * (2 * SAME_TOKENS) + "the end",
    "x" * 200,
)


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory):
    """Connect to a temporary SQLite file through the backend of the product."""
    settings_dict = connection.settings_dict | {
        "ENGINE": "recorder.database.sqlite",
        "NAME": str(tmp_path_factory.mktemp("sqlite") / "index.sqlite3"),
        "OPTIONS": {},
    }
    wrapper = load_backend(settings_dict["ENGINE"]).DatabaseWrapper(settings_dict, alias="default")
    yield wrapper
    wrapper.close()


@contextmanager
def running(wrapper):
    """Make a connection the one that the product uses."""
    before = connections["default"]
    connections["default"] = wrapper
    try:
        yield
    finally:
        connections["default"] = before


class Both:
    """The same texts indexed in both databases, over several kinds, sessions and buckets."""

    def __init__(self, sqlite, texts):
        self.wrappers = (connection._connections["default"], sqlite)
        rows = [row for number, text in enumerate(texts) for row in _rows(number, text)]
        assert [self._index(wrapper, rows) for wrapper in self.wrappers] == ["postgresql", "sqlite"]

    def _index(self, wrapper, rows):
        with running(wrapper):
            tables.create(INDEX)
            tables.add(INDEX, rows)
            return connection.vendor

    def hits(self, match):
        """Return the documents that match, after both databases agreed on them, page by page."""
        found = []
        for wrapper in self.wrappers:
            with running(wrapper):
                every = tables.newest(INDEX, match, TOP, 100_000)
                some = tables.newest(INDEX, match, every[len(every) // 2], 3) if every else []
                ranked = sorted(hit.pk for hit in tables.ranked(INDEX, match, 100_000))
                found.append((every, some, tables.count(INDEX, match, TOP, 50), ranked))
        postgresql, own = found
        assert postgresql == own, match
        return postgresql[0]


def _rows(number, text):
    """Return the rows of an answer; their keys leave buckets of PostgreSQL's index empty."""
    event = {"type": "MessageEnd", "loop_id": "s.a.1", "message": build.assistant(text)}
    kind, session = KINDS[number % len(KINDS)], number % SESSIONS
    return [
        (number * tables.BUCKET // 3 + part.part + 1, [*head(kind, session), *part.words])
        for part in documents.parts_of(event)
    ]


def matches(phrase):
    """Return the phrase alone, in a kind, in a session, and without sessions."""
    yield Match((phrase,))
    yield Match((phrase,), kinds=KINDS[:1])
    yield Match((phrase,), sessions=(1,))
    yield Match((phrase,), kinds=KINDS[1:], without=(0, 2))


def test_every_word_and_part_of_the_corpus_has_the_same_hits(sqlite):
    both = Both(sqlite, (*CORPUS, *LONG))
    terms = [*words(), *(term for size in (1, 2, 4) for term in unspaced_terms(size))]
    assert len(terms) > 250

    for term in terms:
        assert both.hits(Match((query_tokens(term),))), term
        assert both.hits(Match((query_tokens(term[:3], is_prefix=True),))), term


@pytest.mark.parametrize(
    ("searched", "number"), [("word7", 1), ("word7*", 2), ("服务端7999", 1), ("same same", 3), ("xxx*", 1)]
)
def test_texts_of_several_documents_have_the_same_hits(sqlite, searched, number):
    both = Both(sqlite, (*CORPUS, *LONG))
    phrase = query_tokens(searched.rstrip("*"), is_prefix=searched.endswith("*"))

    assert len(both.hits(Match((phrase,)))) >= number


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_texts_have_the_same_hits_for_any_words_of_theirs(sqlite, data):
    texts = data.draw(st.lists(TEXTS, min_size=1, max_size=8))
    both = Both(sqlite, (*texts, *CORPUS[:4]))
    phrases = []
    for text in (*texts, data.draw(TEXTS)):
        begin = data.draw(st.integers(0, len(text)))
        part = text[begin : begin + data.draw(st.integers(1, 12))]
        phrase = query_tokens(part, is_prefix=data.draw(st.booleans()))
        phrases += [phrase] if phrase else []

    for phrase in phrases:
        for match in matches(phrase):
            both.hits(match)
    if phrases:
        both.hits(Match(tuple(dict.fromkeys(phrases))))
