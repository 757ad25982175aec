"""A text in parts is masked as it is in one, and no part of a secret is shown."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.masking.catalogue import DEFINITE
from recorder.masking.masker import Masker
from recorder.masking.matcher import RuleSettings, compile_rules
from recorder.masking.streams.seal import seal, unseal
from recorder.masking.streams.stream import CONTEXT, HELD_MAX, Stream
from recorder.masking.unfinished.prefixes import prefixes_of
from tests.recorder.masking.secrets import PEM, PLAIN
from tests.recorder.masking.streams.own_parts import cuts, leaks, planted

MASKER = Masker(compile_rules(RuleSettings()), b"k" * 32)
KEY = "AKIA" + "IOSFODNN7EXAMPLE"
BLOCK = f"-----BEGIN RSA PRIVATE KEY-----\n{PEM * 40}-----END RSA PRIVATE KEY-----"


def push(parts):
    stream = Stream()
    return [stream.push(MASKER, part) for part in parts], stream


def test_prefixes_of_each_definite_rule_begin_with_its_public_part():
    for rule in DEFINITE:
        for prefix in prefixes_of(rule.pattern, rule.group):
            assert prefix.pattern.startswith(prefix.public[:-1])
            assert not re.compile(prefix.public).fullmatch("")


@pytest.mark.parametrize("pattern", ["(?=a)b", "a(?P<x>b)", "a)b"])
def test_syntax_that_is_not_read_is_an_error(pattern):
    with pytest.raises(ValueError, match=r"not read|bracket"):
        prefixes_of(pattern, 0)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_no_part_of_a_secret_is_shown_wherever_the_text_is_cut(data):
    name, context, secret = data.draw(planted)
    text = (
        data.draw(PLAIN)
        + " "
        + context
        + data.draw(st.sampled_from([" ", "\n", "&", "'"]))
        + data.draw(PLAIN)
    )
    for _ in range(data.draw(st.integers(0, 2))):
        text = json.dumps({"q": text}, ensure_ascii=data.draw(st.booleans()))
    shown, stream = push(data.draw(cuts(text)))
    live, whole = "".join(shown), "".join((*shown, stream.rest(MASKER)))
    assert leaks(name, secret, live, text) == []
    assert leaks(name, secret, whole, text) == []


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_text_without_secrets_is_unchanged_once_it_has_ended(data):
    words = st.sampled_from(
        ["AK", "AKIA", "sk-", "http://localhost:8080/x", "eyJ", "password=", "pattern", "Bearer of",
         "-----BEGIN", "10.5", "camelCaseWordOfMany1", "\\", "\\u00", "é", " ", "\n", "}", "&pwd=$X", "😀"]
    )  # fmt: skip
    text = " ".join(data.draw(st.lists(words, max_size=20)))
    if MASKER.mask_text(text) != text:
        return
    shown, stream = push(data.draw(cuts(text)))
    assert "".join((*shown, stream.rest(MASKER))) == text


def test_ordinary_text_is_not_held_back():
    text = "In 2026 the parser of http://example.org reads camelCase names, tasks and pa"
    shown, stream = push([text[at : at + 3] for at in range(0, len(text), 3)])
    assert "".join(shown) == text
    assert stream.held == b""


def test_a_key_block_over_hundreds_of_deltas_is_one_mask():
    text = f"the key:\n{BLOCK}\nas you see"
    parts = [text[at : at + 7] for at in range(0, len(text), 7)]
    shown, stream = push(parts)
    whole = "".join((*shown, stream.rest(MASKER)))
    assert whole.replace("-----[masked", "[masked") == MASKER.mask_text(text)  # the dashes came before
    assert all(part in text for part in shown if "[" not in part)


def test_equal_secrets_have_equal_tags_however_they_come():
    shown, _ = push(["x AK", "IA", KEY[4:9], KEY[9:], " y"])
    whole = MASKER.mask_text(f" {KEY} ")
    assert whole.strip() in "".join(shown)


@pytest.mark.parametrize("begin", ["eyJhbGciOiJIUzI1NiJ9", "sl.u.", "-----BEGIN PRIVATE KEY-----\n"])
def test_a_tail_without_an_end_is_masked_and_takes_no_more_memory(begin):
    stream = Stream()
    line = "Ab0" * 20 + ("\n" if "BEGIN" in begin else "")
    shown = stream.push(MASKER, begin)
    for _ in range(1000):
        shown += stream.push(MASKER, line)
        assert len(stream.held) <= HELD_MAX
        assert len(stream.context) <= CONTEXT
    assert "Ab0Ab0" not in shown
    assert "[masked:" in shown
    assert stream.push(MASKER, " {and} then").endswith("then")


def test_a_sealed_state_is_read_with_its_key_only():
    sealed = seal(KEY.encode(), b"a" * 32)
    assert unseal(sealed, b"a" * 32) == KEY.encode()
    assert unseal(sealed, b"b" * 32) is None
    assert unseal(sealed[:-1] + b"x", b"a" * 32) is None
    assert KEY.encode() not in sealed
    assert unseal(seal(b"", b"a" * 32), b"a" * 32) == b""
