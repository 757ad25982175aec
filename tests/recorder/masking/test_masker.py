"""Masking: secrets go, everything else of a line stays."""

import json
import re
from math import inf
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.masking.catalogue import BY_NAME, CANDIDATES, RULES
from recorder.masking.counts import masks_in
from recorder.masking.masker import Masker
from recorder.masking.matcher import MARKER, OwnPattern, RuleSettings, compile_rules
from tests.recorder.masking.secrets import contexts, documents, encoded, planted

EVERY = RuleSettings(on=frozenset(rule.name for rule in CANDIDATES))
ALL = Masker(compile_rules(EVERY), b"k" * 32)
DEFAULT = Masker(compile_rules(RuleSettings()), b"k" * 32)
KEY = "AKIAIOSFODNN7EXAMPLE"


def masked(event, masker=DEFAULT):
    return masker.mask(json.dumps(event).encode()).line


def own(pattern, masker_settings=RuleSettings):
    return Masker(compile_rules(masker_settings(patterns=(OwnPattern("ticket", pattern),))), b"k" * 32)


def texts_in(value):
    """Return all strings of a value, and those of JSON within them."""
    if isinstance(value, dict):
        return [text for pair in value.items() for each in pair for text in texts_in(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts_in(each)]
    if not isinstance(value, str):
        return []
    try:
        inside = json.loads(value)
    except ValueError:
        return [value]
    return [value, *(texts_in(inside) if isinstance(inside, dict) else [])]


@given(planted, st.data())
@settings(max_examples=400, deadline=None)
def test_a_secret_of_any_rule_is_gone_from_any_string(found, data):
    name, text, secret = found
    event = data.draw(documents(text))
    line = data.draw(encoded(event))
    assert json.loads(line) == event

    after = ALL.mask(line)

    stored = json.loads(after.line)
    assert not any(secret in each for each in texts_in(stored)), name
    assert sum(after.counts.values()) == masks_in(after.line) > 0
    assert {key: stored[key] for key in event if key != "content"} == {
        key: event[key] for key in event if key != "content"
    }
    assert ALL.mask(after.line).line is after.line


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@given(data=st.data())
@settings(max_examples=5, deadline=None)
def test_a_rule_masks_its_secrets_alone(rule, data):
    text, secret = data.draw(contexts(rule.name))
    on = frozenset((rule.name,) if rule.kind == "candidate" else ())
    off = frozenset(each.name for each in RULES if each.kind == "definite" and each is not rule)
    alone = Masker(compile_rules(RuleSettings(on=on, off=off)), b"k" * 32)

    after = alone.mask(json.dumps({"content": text}).encode())

    assert secret not in json.loads(after.line)["content"]
    assert after.counts == {rule.name: 1}
    assert re.search(rb"\[masked:%s:[0-9a-f]{8}\]" % rule.name.encode(), after.line)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
@settings(deadline=None)
def test_a_line_without_a_secret_is_the_same_object(value):
    line = json.dumps({"content": value}).encode()
    assert DEFAULT.mask(line).line is line


def test_equal_secrets_have_equal_masks_in_a_project_and_others_elsewhere():
    other = Masker(compile_rules(RuleSettings()), b"j" * 32)
    tags = {mark for event in (f"a {KEY}", f"b\n{KEY}") for mark in MARKER.findall(masked({"x": event}))}
    assert len(tags) == 1
    assert not tags & set(MARKER.findall(masked({"x": KEY}, other)))
    assert not tags & set(MARKER.findall(masked({"x": KEY.replace("7", "8")})))


def test_a_key_block_has_one_mask_however_it_is_written():
    block = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
    twice = json.dumps({"inner": json.dumps({"key": block})})
    windows = block.replace("\n", "\r\n")
    lines = [masked({"x": text}) for text in (block, twice, windows, block.replace("\n", "\\n"))]
    assert len({mark for line in lines for mark in MARKER.findall(line)}) == 1
    assert [masks_in(line) for line in lines] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Password=S3crT9xqa;Server=h", "S3crT9xqa"),
        ("pwd=S3crT9xqa; Data Source=h", "S3crT9xqa"),
        ("Password='S3crT9xqb';Host=h", "S3crT9xqb"),
        ("Server=h;Password='S3crT9xqb'", "S3crT9xqb"),
        ("password=S3crT9xqc host=h user=u", "S3crT9xqc"),
        ("postgres://u:S3c/rT9xqd@h", "S3c/rT9xqd"),
        ("postgres://u:S3c'rT9xqe@h", "S3c'rT9xqe"),
        ("postgres://u:84629@db", "84629"),
        ("mysql://u:12@db/app", "12"),
    ],
)
def test_a_password_of_a_connection_string_goes_in_any_place(text, secret):
    for written in (text, json.dumps({"a": text}), json.dumps({"a": json.dumps([text])})):
        assert secret not in DEFAULT.mask(written.encode()).line.decode(), written
        assert secret.encode() not in DEFAULT.mask_bytes(written.encode())


LINES = ["-----BEGIN RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA7bq1uYd3k2", "abcdefghijklmnop0123456789"]


@pytest.mark.parametrize("number", ["{:6}→", "{:6}\t", "{}: ", "{:3} | ", "{}:", "{}-"])
def test_a_part_of_a_key_with_numbers_of_lines_goes(number):
    text = "\n".join(number.format(at) + line for at, line in enumerate(LINES, 1))
    for event in (text, json.dumps({"a": text}), json.dumps({"a": text}, ensure_ascii=False)):
        after = DEFAULT.mask(json.dumps({"x": event}).encode()).line.decode()
        assert not any(line in after for line in LINES[1:]), after


def test_a_key_block_in_a_list_of_lines_is_masked_in_each():
    lines = ["-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "-----END PRIVATE KEY-----"]
    after = json.loads(masked({"x": [*lines, "and the rest"]}))["x"]
    assert all(MARKER.fullmatch(each.encode()) for each in after[:3])
    assert after[3] == "and the rest"


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":["%s"]}',
        b'{"type":{"a":"%s"}}',
        b'{"type":"TurnStart","type":"%s"}',
        b'{"type":"Weird %s"}',
        b'{"type":"Weird-%s"}',
        b'{"type":"Notice","timestamp":"%s"}',
        b'{"type":"Notice","created_at":"2026-01-01 %s"}',
        b'{"type":"Notice","session_id":"x %s\\u0001"}',
        b'{"type":"Notice","session_id":["%s"]}',
        b'{"type":"Notice","loop_ids":[["%s"]]}',
        b'{"type":"Notice","loop_ids":{"a":"%s"}}',
    ],
)
def test_a_secret_in_a_field_of_the_envelope_that_holds_no_id_or_time_goes(line):
    assert KEY.encode() not in DEFAULT.mask(line % KEY.encode()).line


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"TurnStart-4","timestamp":"2026-11-27T06:09:08Z","loop_ids":["a4","b4"],"id":"4 4"}',
        b'{"type":"ToolExecution4","text":"%s","session_id":"a4"}' % b"x",
    ],
)
def test_types_times_and_ids_stay_though_an_own_pattern_matches_them(line):
    assert own("[0-9]").mask(line).line == line


def test_a_line_that_is_rejected_is_masked_as_a_text():
    line = json.dumps({"type": "TurnStart", "session_id": KEY, "loop_ids": [KEY]}).encode()
    assert KEY.encode() not in DEFAULT.mask_bytes(line)


def test_ids_and_times_of_the_envelope_stay_whatever_they_hold():
    event = {
        "type": "AgentStart", "session_id": KEY, "loop_id": f"{KEY}.1", "agent_id": KEY,
        "timestamp": "2026-01-01T00:00:00Z", "loop_ids": [KEY],
    }  # fmt: skip
    assert json.loads(masked(event | {"title": KEY}, DEFAULT)) == event | {
        "title": MARKER.search(masked({"title": KEY})).group().decode()
    }


def test_ids_and_times_of_spans_stay():
    number = own("[0-9a-f]{8,}")
    span = {"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331",
            "startTimeUnixNano": "1700000000000000000"}  # fmt: skip
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span | {"name": "deadbeef"}]}]}]}
    found = json.loads(masked(body, number))["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert {key: found[key] for key in span} == span
    assert MARKER.fullmatch(found["name"].encode())


def test_a_secret_in_the_place_of_a_trace_id_goes():
    assert KEY.encode() not in masked({"content": {"traceId": KEY}})


def test_numbers_stay():
    line = b'{"content": {"card": 4111111111111111, "price": 1.50, "big": 12345678901234567890}}'
    assert ALL.mask(line).line is line


def test_everything_around_a_secret_stays_byte_for_byte():
    line = b'{ "n":1.50 ,"content" : "\\u00e9\\t%s\\/", "n":1e5,"n":2}' % KEY.encode()
    after = DEFAULT.mask(line).line
    assert MARKER.sub(KEY.encode(), after) == line


def test_a_line_that_is_not_json_is_masked_as_text():
    assert KEY.encode() not in DEFAULT.mask(b'{"a": "%s' % KEY.encode()).line
    assert KEY.encode() not in DEFAULT.mask(b"\xff %s \xff" % KEY.encode()).line


def test_the_data_field_of_a_server_sent_event_is_masked():
    assert DEFAULT.mask(b'data: {"a": "%s"}' % KEY.encode()).line.startswith(b'data: {"a": "[masked:aws-')


@pytest.mark.parametrize(
    "text",
    [
        "postgres://localhost:5432/app",
        "https://example.org:8080/?q=a@b.example",
        "postgres://app:${DB_PASSWORD}@db/app",
        "redis://:{password}@db",
        "postgres://user:xxxx@db",
        "a task-list, a disk-usage and the risk-free rate",
        "The bearer authentication-scheme is described in RFC 6750",
        "npm_config_registry and hf_hub_download and sk-learn",
        "-----BEGIN PUBLIC KEY-----",
        "https://user:password@host.example/x and mongodb://user:pass@host",
        "http://localhost:3000/a/pkg@1.2",
        "http://localhost:8080?a=b@c",
        "let s=';Password='+pw+';Server=h'",
        "connect(password=password, host=host)",
        "connect(password=args.password, user=args.user)",
        "login(host=host, user=user, password=None, timeout=3)",
        'BEGIN = "-----BEGIN OPENSSH PRIVATE KEY-----"\nEND = "-----END OPENSSH PRIVATE KEY-----"',
    ],
)
def test_text_that_looks_like_a_secret_stays(text):
    line = json.dumps({"content": text}).encode()
    assert DEFAULT.mask(line).line is line


def test_a_card_number_with_a_wrong_check_digit_stays():
    line = b'{"content": "4111 1111 1111 1112"}'
    assert ALL.mask(line).line is line


def test_own_patterns_mask_their_first_group_or_all():
    assert (
        MARKER.sub(b"#", masked({"x": "ticket ABC-12 ok"}, own("[A-Z]{3}-[0-9]+"))) == b'{"x": "ticket # ok"}'
    )
    assert (
        MARKER.sub(b"#", masked({"x": "ticket ABC-12 ok"}, own("ticket ([^ ]+)"))) == b'{"x": "ticket # ok"}'
    )


@pytest.mark.parametrize("pattern", ["[a-z]+", "masked", ".", "é.", "(?s:.+)", '[^"]*x', "a(b)?", "[0-9]{2}"])
def test_an_own_pattern_leaves_json_valid_and_is_applied_once(pattern):
    event = {
        "type": "X",
        "loop_id": "s.a.1",
        "content": {"key": ["aé\n xabab 2026", json.dumps({"q": "ab"})]},
    }
    masker = own(pattern)
    after = masked(event, masker)
    assert set(json.loads(after)) == set(event)
    assert json.loads(after)["loop_id"] == "s.a.1"
    assert masker.mask(after).line == after


def test_a_rule_that_is_off_masks_nothing():
    off = Masker(compile_rules(RuleSettings(off=frozenset(("aws-access-key-id",)))), b"k" * 32)
    assert KEY.encode() in masked({"x": KEY}, off)


def test_what_is_found_in_a_text_has_spans_and_rules():
    text = f"é {KEY} and postgres://u:hunter2@h".encode()
    assert [(text[start:end], rule) for start, end, rule in DEFAULT.find(text)] == [
        (KEY.encode(), "aws-access-key-id"),
        (b"hunter2", "connection-string"),
    ]
    assert MARKER.sub(b"#", DEFAULT.mask_text(text.decode()).encode()).decode() == "é # and postgres://u:#@h"


def test_names_of_rules_are_unique_and_fit_a_mask():
    assert len(BY_NAME) == len(RULES)
    assert all(MARKER.fullmatch(f"[masked:{name}:00000000]".encode()) for name in BY_NAME)
    assert all(rule.anchors or rule.prefilter for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_time_of_a_rule_grows_with_the_text_alone(rule):
    """Texts of beginnings of secrets: a rule that searched the rest for each would take 64 times as long."""
    compiled = next(each for each in ALL.rules.rules if each.rule is rule)
    beginnings = (
        *rule.anchors,
        "4111 1111 ",
        "DE89 3704 ",
        "-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAAAAAAAAAA ",
    )
    for beginning in beginnings:
        for unit in (beginning.encode(), f"{beginning}aA1=:@/. ".encode()):
            size = 16_000 // len(unit)
            assert seconds(compiled, unit * size * 8) < 32 * seconds(compiled, unit * size) + 0.005


def seconds(compiled, text):
    """Return the shortest of three searches."""
    best = inf
    for _ in range(3):
        began = thread_time()
        sum(1 for _ in compiled.spans(text))
        best = min(best, thread_time() - began)
    return best


@pytest.mark.parametrize("unit", ["AKIA{:016} ", "[masked:jwt:5f0c2a9e] AKIA{:016}\n"])
def test_many_secrets_in_a_line_take_a_time_that_is_linear(unit):
    """Sixteen times as many take 16 times as long; each compared with each mask were 256 times."""

    def duration(count):
        line = json.dumps({"text": "".join(map(unit.format, range(count)))}).encode()
        times = []
        for _ in range(3):
            start = thread_time()
            assert DEFAULT.mask(line).counts == {"aws-access-key-id": count}
            times.append(thread_time() - start)
        return min(times)

    assert duration(16_000) < 60 * duration(1_000)
