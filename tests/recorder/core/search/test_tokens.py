"""How text is cut, and that every word of it is found."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.search.fold import PICTOGRAPHS, UNSPACED, fold
from recorder.core.search.tokens import (
    LETTER,
    TOKEN_CHARACTERS,
    index_tokens,
    is_short_prefix,
    query_runs,
    query_tokens,
)

LETTERS = 'abcXYZ019_-./\\"nu äßé çΣ שׁ اَلع हिन्दी が한ｶﾞ服务端ที่นี่ 𠮷 ﬁ ½ \u00ad\u200c\u200d\ud800'
TEXTS = st.one_of(st.text(max_size=40), st.text(LETTERS, max_size=40))


def finds(text, searched, *, is_prefix=False):
    """Return whether an index of the tokens of a text finds what is searched."""
    phrase = query_tokens(searched, is_prefix=is_prefix)
    if phrase is None:
        return False
    tokens, wanted = list(index_tokens(text)), phrase.tokens
    for at in range(len(tokens) - len(wanted) + 1):
        *begin, last = tokens[at : at + len(wanted)]
        if begin == list(wanted[:-1]) and (
            last == wanted[-1] or (phrase.is_prefix and last.startswith(wanted[-1]))
        ):
            return True
    return False


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Read /usr/local/bin, v1.2.3-beta!", "read usr local bin v1 2 3 beta"),
        ("foo_bar camelCase", "foo bar camelcase ¦ camel ¦ case"),
        ("HTTPServer2 getX IDs", "httpserver2 getx ids ¦ http ¦ server2 ¦ get"),
        ("camelCase camel camelCase", "camelcase camel camelcase ¦ case"),
        ("修改youer服务端的计划", "修改 改 youer 服务 务端 端的 的计 计划 划"),
        ("\uff26\uff35\uff2c\uff2c ｶﾞｷﾞ ﬁne", "full ガギ ギ fine"),
        ("Straße CAFÉ", "strasse cafe"),
        ("اَلْعَرَبِيَّة", "العربية"),
        ("हिन्दी", "हिन्दी"),
        (r"caf\u00e9 \u5185\u90e8", "cafe 内部 部"),
        (r'{"a": "\\u5185\\u90e8"}', "a 内部 部"),
        (r"\ud842\udfb7", "𠮷"),
        (r"one\ntwo", "one two ntwo"),
        ("が", "が"),
        ("+ - * → ─ ≠ ●", ""),
        ("deploy 🎉 done✓✓", "deploy 🎉 done ✓ ✓"),
        ("👩\u200d💻 👍🏽 ❤\ufe0f 1\ufe0f\u20e3", "👩 💻 👍 🏽 ❤ 1"),
    ],
)
def test_texts_are_cut_into_tokens(text, tokens):
    assert list(index_tokens(text)) == [fold(token) for token in tokens.split()]


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("修改服务端的计划", "服务"),
        ("修改服务端的计划", "服务端的"),
        ("修改服务端的计划", "务"),
        ("修改服务端的计划", "划"),
        ("修改youer服务端", "youer"),
        ("修改youer服务端", "youer服务"),
        ("東京タワーに行く", "タワー"),
        ("東京タワーに行く", "京タ"),
        ("서버를 다시 시작", "서버"),
        ("ที่นี่มีน้ำ", "น้ำ"),
        ("ที่นี่มีน้ำ", "นี่"),
        ("2026年11月", "11月"),
        (r"C:\new\test.py", "new"),
        (r"C:\new\test.py", r"C:\new\test.py"),
        (r"print('hello\nworld')", "world"),
        ("deploy 🎉 done", "🎉"),
        ("deploy 🎉 done", "deploy 🎉 done"),
        ("fixed✅服务", "✅"),
        ("fixed✅服务", "fixed✅服务"),
    ],
)
def test_a_part_of_a_text_is_found(text, searched):
    assert finds(text, searched)


@pytest.mark.parametrize(
    ("text", "searched"),
    [("格式化", "化格"), ("food", "foo"), ("服 务", "服务"), ("foo-bar", "bar foo"), ("かが", "がか")],
)
def test_what_a_text_does_not_hold_is_not_found(text, searched):
    assert not finds(text, searched)


@pytest.mark.parametrize("searched", ["user", "UserName", "name", "getUser", "get", "getusername", "use*"])
@pytest.mark.parametrize("text", ["x getUserName()", "self.getUserName", "GetUserName", "läuft getUserName"])
def test_a_part_of_an_identifier_is_found(text, searched):
    assert finds(text, searched.rstrip("*"), is_prefix=searched.endswith("*"))


def test_parts_of_long_identifiers_are_found():
    text = "getUserNameFromRequestContextOrDefaultValue"
    for searched in ("UserName", "NameFromRequestContext", "DefaultValue", "getUserNameFromRequest", "or"):
        assert finds(text, searched)
    assert finds(text, "UserNameFromRequestContextOrDefaultValue")


@pytest.mark.parametrize("searched", ["get user", "user name", "name x", "x get", "sername", "etUser"])
def test_no_phrase_and_no_other_part_of_an_identifier_is_found(searched):
    assert not finds("a getUserName x parseQuery", searched)


def test_random_letters_are_no_identifier():
    text = "aGVsbG8gd29ybGQsIHRoaXMgaXMgYmFzZTY0"
    assert list(index_tokens(text)) == [text.lower()]
    assert list(index_tokens("nameOf" * 20_000)) == [("nameof" * 11)[:TOKEN_CHARACTERS]]


def test_a_prefix_finds_the_begin_of_a_word():
    assert finds("recording", "record", is_prefix=True)
    assert not finds("prerecording", "record", is_prefix=True)


def test_a_beginning_of_a_word_has_two_characters_and_a_shorter_one_is_the_word():
    assert finds("recording", "re", is_prefix=True)
    assert not finds("recording", "r", is_prefix=True)
    assert finds("r: recording", "r", is_prefix=True)
    assert not finds("a pool exists", "pool e", is_prefix=True)
    assert finds("服务端", "服", is_prefix=True)
    assert [is_short_prefix(text) for text in ("r", "re", "a/r", "ü", "服", "--")] == [
        *(True, False, True, True, False, False)
    ]


def test_a_word_beyond_the_limit_is_found_whole():
    word = "a" * (TOKEN_CHARACTERS + 9)
    assert finds(f"x {word} y", word)
    assert max(map(len, index_tokens(word))) == TOKEN_CHARACTERS


def test_a_text_without_letters_is_no_phrase():
    assert query_tokens("!?") is None


@given(TEXTS, TEXTS, TEXTS)
def test_every_word_is_found_at_every_place(before, word, after):
    for run in query_runs(word):
        assert finds(f"{before} {run.text} {after}", run.text)


@given(st.text(st.sampled_from("服务端的计划タワー서버ที่นี่น้ำ"), min_size=1, max_size=12), st.data())
def test_every_part_of_an_unspaced_run_is_found(run, data):
    begin = data.draw(st.integers(0, len(run) - 1))
    end = data.draw(st.integers(begin + 1, len(run)))
    assert finds(f"x {run}y", run[begin:end])


@given(TEXTS)
def test_tokens_are_safe_to_store(text):
    for token in index_tokens(text):
        assert token
        assert len(token) <= TOKEN_CHARACTERS
        token.encode()
        assert not any(c.isascii() and not (c.islower() or c.isdigit()) for c in token)
        assert not any(c.isspace() for c in token)


@given(st.text(max_size=30))
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


def test_pictographs_are_no_letters():
    found = [chr(code) for code in range(0x20000) if re.match(f"[{PICTOGRAPHS}]", chr(code))]
    assert len(found) > 2_000
    assert not any(re.match(rf"{LETTER}|[{UNSPACED}]", character) for character in found)


def test_classes_of_characters_do_not_overlap_with_latin():
    assert not any(c in UNSPACED for c in "az09")
