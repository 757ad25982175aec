"""The client's rules are those of the catalogue, and mask the same as RE2 does."""

import inspect
import json
import re
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopscope_client.masking import checks, strings
from loopscope_client.masking import rules as client_rules
from loopscope_client.masking.masker import Masker
from loopscope_client.masking.rules import RULES
from recorder.core.events.fields import is_id
from recorder.masking import json_strings, rule
from recorder.masking.catalogue import BY_NAME, DEFINITE
from recorder.masking.masker import Masker as ServerMasker
from recorder.masking.matcher import RuleSettings, compile_rules
from tests.recorder.masking.secrets import contexts, documents, encoded
from tools.client_masking import BLANK, FOLDED, FOLDER, LINEAR, pattern_of, rules_module, unescape_module

NAMES = [each.name for each in DEFINITE]
SERVER = ServerMasker(compile_rules(RuleSettings()), b"k" * 32)
CLIENT = Masker(b"k" * 32)
planted = st.sampled_from(NAMES).flatmap(contexts)


def spans_of_both(line):
    of_client = [(start, end, RULES[rank].name) for start, end, rank in CLIENT.spans(line)]
    return of_client, [tuple(span) for span in SERVER.spans(line)]


def test_the_generated_modules_are_those_of_the_catalogue():
    assert (FOLDER / "rules.py").read_text() == rules_module(), "stale: python -m tools.client_masking"
    assert (FOLDER / "unescape.py").read_text() == unescape_module(), "stale: python -m tools.client_masking"


def test_every_definite_rule_has_the_name_anchors_pattern_group_and_check_of_the_catalogue():
    assert [each.name for each in RULES] == NAMES
    for kind in ("IDS", "ID_LISTS", "TIMES", "TYPES"):
        assert getattr(client_rules, kind) == getattr(json_strings, kind)
    for ours, theirs in zip(RULES, DEFINITE, strict=True):
        assert ours.anchors == FOLDED.get(ours.name, theirs.anchors)
        assert ours.ignores_case == (ours.name in FOLDED)
        assert (ours.pattern, ours.group) == pattern_of(theirs)
        assert ours.check == (theirs.check.__name__ if theirs.check else "")
        if ours.name not in LINEAR:
            as_in_re2 = ours.pattern.replace(f"[{BLANK}]", r"\s").replace(BLANK, r"\s")
            assert as_in_re2 == theirs.pattern
            assert ours.group == theirs.group


@given(st.text(max_size=4) | st.sampled_from(["a" * 512, "a" * 513, "é" * 257, "\u202e", "a\x7f", "\ud800"]))
def test_an_id_is_one_for_both(text):
    assert strings.is_id(text) == is_id(text)


def test_the_shapes_of_times_and_types_are_those_of_the_recorder():
    for name in ("_TIME", "_TYPE", "_TRACE_VALUE"):
        assert getattr(strings, name) == getattr(json_strings, name)


def test_the_checks_are_those_of_the_catalogue():
    for name, check in checks.CHECKS.items():
        assert inspect.getsource(check) == inspect.getsource(getattr(rule, name))
    for name in ("_TEMPLATE", "_PORT"):
        assert getattr(checks, name) == getattr(rule, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_of_each_rule_is_masked_by_both_in_the_same_place(name):
    @given(contexts(name))
    @settings(max_examples=10, deadline=None)
    def check(pair):
        text, secret = pair
        line = json.dumps({"type": "Custom", "loop_id": "l", "text": f"x {text} y"}).encode()
        ours, servers = spans_of_both(line)
        assert ours == servers != []
        assert secret not in json.loads(CLIENT.line(line))["text"]

    check()


@given(planted, st.data())
@settings(max_examples=300, deadline=None)
def test_both_mask_the_same_in_any_place_and_spelling(pair, data):
    line = data.draw(encoded(data.draw(documents(pair[0]))))

    ours, servers = spans_of_both(line)

    assert ours == servers
    assert CLIENT.line(line) == SERVER.mask(line).line


BEGINNINGS = (
    "password= pwd: & ? ; :// @ user=a host=b eyJ abcdefghijkl . AKIA Bearer authorization: Basic {} é "
    "Version: Comment: sk- SECRET_ACCESSKEY key-"
).split()
KEYS = [f"-----{edge} PRIVATE KEY-----" for edge in ("BEGIN", "END")]
FRAGMENTS = st.sampled_from([*BEGINNINGS, *KEYS]) | st.text("aA1 =:_-/\\\"'\x0b\n\t", max_size=12)


@given(st.lists(FRAGMENTS, max_size=30).map("".join))
@settings(max_examples=500, deadline=None)
def test_both_mask_the_same_in_texts_of_beginnings_and_blanks(text):
    ours, servers = spans_of_both(text.encode())

    assert ours == servers


@given(
    st.lists(st.sampled_from(["Version: GnuPG v2", "Comment: a b", "Proc-Type: 4,ENCRYPTED"]), max_size=4),
    st.lists(st.sampled_from(["MIIEowIBAAKCAQEA7bq1", "abcdefghijklmnop+/==", "short"]), max_size=4),
    st.sampled_from(["\n", " ", "\\n", '",\n"', "\n\n"]),
)
@settings(max_examples=300, deadline=None)
def test_both_mask_the_same_part_of_a_key_with_headers(headers, lines, between):
    text = between.join(["x -----BEGIN RSA PRIVATE KEY-----", *headers, *lines, ", the end"])

    for line in (text.encode(), json.dumps({"text": text}).encode()):
        ours, servers = spans_of_both(line)
        assert ours == servers


@pytest.mark.parametrize(
    "unit",
    [
        "[masked:jwt:5f0c2a9e] AKIAIOSFODNN7EXAMPLE ",
        KEYS[0],
        "eyJaaaaaaaa-",
        "user=a ",
        f"{KEYS[0]}\nVersion: ",
        KEYS[0] + "Version: " * 40,
    ],
)
def test_many_beginnings_without_an_end_take_a_time_that_is_linear(unit):
    """Sixteen times as many take 16 times as long; if each searched to the end, it were 256 times."""

    def duration(count):
        line = (unit * count + "password=").encode()
        times = []
        for _ in range(3):
            start = thread_time()
            CLIENT.line(line)
            times.append(thread_time() - start)
        return min(times)

    assert duration(8_000) < 80 * duration(500)


def test_the_names_of_rules_fit_into_the_marks_that_the_server_counts():
    assert all(re.fullmatch(r"[a-z0-9-]{1,40}", each.name) and each.name in BY_NAME for each in RULES)
