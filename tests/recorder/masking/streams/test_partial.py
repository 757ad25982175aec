"""Reports of a running tool hide secrets, whether a report continues the one before or repeats it."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.masking.masker import Masker
from recorder.masking.matcher import RuleSettings, compile_rules
from recorder.masking.streams.partial import Partial
from recorder.masking.streams.stream import HELD_MAX
from tests.recorder.masking.secrets import PEM, PLAIN
from tests.recorder.masking.streams.own_parts import cuts, leaks, planted

MASKER = Masker(compile_rules(RuleSettings()), b"k" * 32)
KEY = "AKIA" + "IOSFODNN7EXAMPLE"
MASK = MASKER.mark(KEY.encode(), "aws-access-key-id").decode()
BLOCK = f"-----BEGIN RSA PRIVATE KEY-----\n{PEM * 200}-----END RSA PRIVATE KEY-----"


def push(reports, *, hides_words=True):
    partial = Partial()
    return [partial.push(MASKER, each, hides_words=hides_words) for each in reports]


def growing(parts):
    return list(itertools.accumulate(parts))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_no_part_of_a_secret_is_shown_wherever_the_text_is_cut(data):
    name, context, secret = data.draw(planted)
    text = f"{data.draw(PLAIN)} {context}\n{data.draw(PLAIN)}"
    for _ in range(data.draw(st.integers(0, 1))):
        text = json.dumps({"q": text}, ensure_ascii=data.draw(st.booleans()))
    parts = data.draw(cuts(text))
    for reports in (parts, growing(parts)):
        assert leaks(name, secret, "".join(push(reports)), text) == []


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_report_without_secrets_is_unchanged(data):
    words = st.sampled_from(["AK", "sk-", "pattern", "10.5", "camelCaseWord", "é", "\n", "}", "😀", "ok"])
    parts = [f"{each} " for each in data.draw(st.lists(words, max_size=20))]
    assert push(parts) == parts
    assert push(growing(parts)) == growing(parts)


def test_a_secret_over_two_reports_is_masked_in_both():
    first, second = push([f"key {KEY[:9]}", f"{KEY[9:]} done"])
    assert (first[:30], second) == ("key [masked:unfinished-secret:", f"{MASK} done")


def test_a_report_that_repeats_the_one_before_has_the_mask_of_the_whole_secret():
    text = f"running 3 tests\nkey {KEY}\nok\n"
    *_, with_start, with_key, last = push(growing(["running 3 tests\n", f"key {KEY[:9]}", KEY[9:], "\nok\n"]))
    assert with_start.startswith("running 3 tests\nkey [masked:unfinished-secret:")
    assert with_key == f"running 3 tests\nkey {MASK}"
    assert last == text.replace(KEY, MASK)


def test_a_report_that_repeats_only_the_end_of_the_one_before_hides_the_secret():
    lines = ["one", "two", f"key {KEY}", "three"]
    windows = ["\n".join(lines[:2]), f"two\nkey {KEY[:10]}", f"two\nkey {KEY}", f"key {KEY}\nthree"]
    shown = push(windows)
    assert shown[2:] == [f"two\nkey {MASK}", f"key {MASK}\nthree"]
    assert KEY[4:10] not in shown[1]


@pytest.mark.parametrize("size", [100, 3000])
def test_a_long_key_in_parts_is_never_shown(size):
    parts = [BLOCK[at : at + size] for at in range(0, len(BLOCK), size)]
    shown = "".join(push(["begin ", *parts, "; done"]))
    assert len(BLOCK) > HELD_MAX
    assert PEM[:12] not in shown
    assert shown.startswith("begin [masked:")
    assert shown.endswith("; done")


def test_a_name_or_a_hash_at_the_end_of_a_message_is_shown():
    texts = ["Pushed 3f2a9c0d1e2b3f4a5c6d7e8f", "Built camelCaseWordOfMany1"]
    assert push(texts, hides_words=False) == texts
