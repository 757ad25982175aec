"""A client that masks: nothing of a secret in its spool or in what it sends, and it never raises."""

import json
import logging

import pytest
from hypothesis import Phase, find, settings

from loopscope_client import AsyncClient, Client
from loopscope_client.masking import masker as module
from loopscope_client.masking.masker import Masker
from loopscope_client.masking.rules import RULES
from recorder.masking.counts import masks_in
from recorder.masking.masker import Masker as ServerMasker
from recorder.masking.matcher import RuleSettings, compile_rules
from tests.recorder.masking.secrets import contexts

KEY = "AKIAIOSFODNN7EXAMPLE"
PEM = [
    "-----BEGIN RSA PRIVATE KEY-----",
    "MIIEowIBAAKCAQEA7bq1uYd3k2abcdef",
    "wJalrXUtnFEMIK7MDENGbPxabcdefghi",
    "-----END RSA PRIVATE KEY-----",
]
IDS = {"session_id": "chat", "loop_id": "chat.a.1", "timestamp": "2026-01-01T00:00:00Z"}
LONG_S = 60


def sample(name):
    """Return a text with a secret of a rule in it, and the secret."""
    quick = settings(max_examples=20, database=None, derandomize=True, phases=[Phase.generate])
    return find(contexts(name), lambda _: True, settings=quick)


def events_with(text):
    """Return events of every kind of text that a client records."""
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": text}],
    }
    return [
        {"type": "MessageEnd", "message": message, **IDS},
        {"type": "MessageUpdate", "delta": {"text": text}, **IDS},
        {"type": "ToolExecutionStart", "tool_name": "t", "args": {"deep": [{"x": text}], text: 1}, **IDS},
        {"type": "ToolExecutionEnd", "result": {"content": json.dumps({"out": text})}, **IDS},
        {"type": "Notice", "kind": "note", "text": text, "data": {"n": 1.5}, **IDS},
        {"type": "AgentStart", "metadata": {"m": text}, "tags": [text], "title": text, **IDS},
        {"type": "Custom", "other": object, "text": text, **IDS},
    ]


def in_spool(tmp_path):
    return b"".join(path.read_bytes() for path in (tmp_path / "spool").rglob("*.jsonl"))


@pytest.fixture
def away(connect):
    """A client whose server is away, so that all lines stay in the spool."""

    def away(**options):
        return connect(url="http://127.0.0.1:9", **options)

    return away


def test_each_rule_masks_every_kind_of_event_before_the_spool(away, tmp_path):
    client = away(mask=True)
    secrets = {}
    for rule in RULES:
        text, secrets[rule.name] = sample(rule.name)
        for event in events_with(f" {text} "):
            client.send(event)

    lines = in_spool(tmp_path).splitlines()

    assert len(lines) == 7 * len(RULES)
    for name, secret in secrets.items():
        written = {secret.encode(), json.dumps(secret)[1:-1].encode(), secret.encode("utf-8")}
        assert not any(each in line for each in written for line in lines), name
    assert all(masks_in(line) for line in lines)
    assert all({field: json.loads(line)[field] for field in IDS} == IDS for line in lines)


def test_nothing_of_a_secret_is_sent_and_the_server_masks_nothing_again(server, connect):
    client = connect(mask=True)
    for event in events_with(KEY):
        client.send(event)
    assert client.forward(json.dumps({"type": "Notice", "text": KEY, **IDS}).encode())
    client.score("chat", "quality", 4, f"good, but {KEY}")
    assert client.flush(LONG_S)

    sent = [json.dumps(event).encode() for event in server.events()]

    assert len(sent) == 8
    assert KEY.encode() not in b"".join(sent)
    assert KEY not in json.dumps(server.scores)
    again = ServerMasker(compile_rules(RuleSettings()), b"k" * 32)
    assert all(again.mask(line).line == line and masks_in(line) for line in sent)


def test_a_key_in_several_parts_of_a_list_and_a_name_with_its_value_are_masked(away, tmp_path):
    client = away(mask=True)
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

    client.send({"type": "Custom", "lines": PEM, "args": {"aws_secret_access_key": secret}, **IDS})

    (line,) = in_spool(tmp_path).splitlines()
    assert not any(part.encode() in line for part in (*PEM[1:3], secret))
    assert len(json.loads(line)["lines"]) == 4


def test_ids_numbers_and_times_of_the_envelope_stay(away, tmp_path):
    client = away(mask=True)
    ids = {"session_id": KEY, "loop_id": f"{KEY}.a.1", "timestamp": "2026-01-01T00:00:00Z", "n": 12.50}

    client.send({"type": "Notice", "text": f"{KEY} and {KEY}", **ids})

    event = json.loads(in_spool(tmp_path))
    assert {field: event[field] for field in ids} == ids
    first, second = event["text"].split(" and ")
    assert first == second
    assert first.startswith("[masked:aws-access-key-id:")


def test_a_line_that_is_not_json_is_masked_as_text(away, tmp_path):
    client = away(mask=True)

    client.forward(f'{{"broken": {KEY}'.encode())

    assert KEY.encode() not in in_spool(tmp_path)


def test_a_long_text_is_masked_before_it_is_cut(away, tmp_path):
    client = away(mask=True)
    client.send({"type": "Custom", "text": "x" * ((1 << 18) - 10) + f" {KEY} " + "y " * (3 << 20), **IDS})

    assert KEY.encode()[:9] not in in_spool(tmp_path)


def test_without_the_option_lines_are_not_changed(away, tmp_path):
    away().send({"type": "Notice", "text": KEY, **IDS})

    assert json.loads(in_spool(tmp_path)) == {"type": "Notice", "text": KEY, **IDS}


def test_equal_secrets_have_equal_tags_in_a_process_or_by_a_key():
    line = json.dumps({"text": KEY}).encode()

    assert Masker().line(line) == Masker().line(line)
    assert Masker("a key").line(line) == Masker(b"a key").line(line) != Masker().line(line)
    assert Masker("a key").text(KEY) == json.loads(Masker("a key").line(line))["text"]
    assert Masker("a key").line(Masker("other").line(line)) == Masker("other").line(line)


def test_an_empty_key_is_refused(tmp_path):
    with pytest.raises(ValueError, match="empty"):
        Client("http://127.0.0.1:9", "token", spool=tmp_path, mask=True, mask_key="")


def test_what_cannot_be_masked_is_dropped_counted_and_logged_without_its_text(
    server, connect, tmp_path, monkeypatch, caplog
):
    client = connect(mask=True)

    def fails(_line):
        raise RuntimeError(KEY)

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(module, "matches", fails)
        client.send({"type": "MessageEnd", "text": KEY, **IDS})
        assert not client.forward(b'{"type":"MessageEnd","loop_id":"chat.a.1"}')
        client.score("chat", "quality", 4, KEY)
    client.send({"type": "AgentEnd", **IDS})
    assert client.flush(LONG_S)

    assert client.status.dropped == {"MessageEnd": 2}
    notice, end = server.events()
    assert notice["text"] == "2 events were not recorded: masking failed"
    assert end["type"] == "AgentEnd"
    assert server.scores == []
    assert "masking failed (RuntimeError)" in caplog.text
    assert KEY not in caplog.text
    assert KEY.encode() not in in_spool(tmp_path)


async def test_the_client_for_asyncio_masks_too(server, tmp_path):
    async with AsyncClient(server.url, "token", spool=tmp_path / "spool", mask=True, mask_key="k") as client:
        client.send({"type": "Notice", "text": KEY, **IDS})
        assert await client.flush(LONG_S)

    (event,) = server.events()
    assert event["text"] == Masker("k").text(KEY)
