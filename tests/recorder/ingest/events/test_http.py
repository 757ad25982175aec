"""The HTTP endpoint follows the protocol: what is stored, what is refused, and with which messages."""

import gzip
import json
import zlib
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from recorder.access import tokens
from recorder.journal.read import texts
from recorder.models import AccessToken, JournalEvent, Producer, Project, QuarantinedLine
from tests.support.build import agent_end, agent_start, line, turn_start
from tests.support.endpoint_clients import post

GOOD = [line(agent_start("s.a.1")), line(turn_start("s.a.1")), line(agent_end("s.a.1"))]
BAD = b'{"type":"TurnStart","loop_id":"s.a.1"}'


def body(*lines):
    return b"\n".join(lines) + b"\n"


def stored():
    return list(texts(JournalEvent.objects.values_list("id", flat=True)).values())


def test_lines_are_stored_as_they_came_and_acknowledged(token):
    answer = post(body(*GOOD), token, x_producer="p", x_first_seq=0)

    assert answer.status == 200
    assert answer.json == {"producer": "p", "upto": 2, "accepted": 3, "duplicates": 0, "rejected": []}
    assert stored() == GOOD


def test_blank_lines_take_no_number(token):
    answer = post(b"\n\r\n" + GOOD[0] + b"\n  \n\n" + GOOD[1], token, x_producer="p", x_first_seq=0)

    assert answer.json["upto"] == 1


def test_without_headers_the_server_makes_a_producer(token):
    first, second = post(body(*GOOD), token).json, post(body(*GOOD), token).json

    assert first["upto"] == second["upto"] == 2
    assert first["producer"] != second["producer"]


def test_an_empty_body_stores_nothing(token):
    assert post(b"", token).json["accepted"] == 0


def test_a_batch_sent_again_is_acknowledged_and_changes_nothing(token):
    post(body(*GOOD), token, x_producer="p", x_first_seq=0)

    answer = post(body(*GOOD), token, x_producer="p", x_first_seq=0)

    assert answer.json == {"producer": "p", "upto": 2, "accepted": 0, "duplicates": 3, "rejected": []}
    assert stored() == GOOD


def test_a_batch_that_overlaps_stores_only_what_is_new(token):
    post(body(*GOOD[:2]), token, x_producer="p", x_first_seq=0)

    answer = post(body(*GOOD[1:]), token, x_producer="p", x_first_seq=1)

    assert (answer.json["accepted"], answer.json["duplicates"]) == (1, 1)
    assert stored() == GOOD


def test_a_number_too_high_is_a_gap_and_nothing_is_stored(token):
    answer = post(body(*GOOD), token, x_producer="p", x_first_seq=5)

    assert (answer.status, answer.json["code"], answer.json["from"]) == (409, "gap", 0)
    assert not stored()
    assert not Producer.objects.exists()


def test_another_line_under_a_stored_number_is_a_conflict_and_the_stored_one_stays(token):
    post(body(*GOOD), token, x_producer="p", x_first_seq=0)

    answer = post(body(GOOD[0], GOOD[2], GOOD[2]), token, x_producer="p", x_first_seq=0)

    assert [(each["seq"], each["code"]) for each in answer.json["rejected"]] == [(1, "seq_conflict")]
    assert answer.json["duplicates"] == 2
    assert stored() == GOOD


def test_a_conflict_is_quarantined_once_however_often_it_comes(token):
    post(body(*GOOD), token, x_producer="p", x_first_seq=0)

    for _ in range(3):
        post(GOOD[2], token, x_producer="p", x_first_seq=0)

    assert QuarantinedLine.objects.count() == 1


def test_a_bad_line_is_rejected_alone_and_its_number_is_used_up(token):
    answer = post(body(GOOD[0], BAD, GOOD[2]), token, x_producer="p", x_first_seq=0)

    (rejected,) = answer.json["rejected"]
    assert (rejected["seq"], rejected["code"], rejected["path"]) == (1, "missing_field", "turn_index")
    assert (answer.json["upto"], answer.json["accepted"]) == (2, 2)
    assert stored() == [GOOD[0], GOOD[2]]
    assert bytes(QuarantinedLine.objects.get().raw) == BAD


def test_a_rejected_line_sent_again_is_a_plain_duplicate(token):
    post(body(GOOD[0], BAD, GOOD[2]), token, x_producer="p", x_first_seq=0)

    answer = post(body(GOOD[0], BAD, GOOD[2]), token, x_producer="p", x_first_seq=0)

    assert answer.json == {"producer": "p", "upto": 2, "accepted": 0, "duplicates": 3, "rejected": []}
    assert QuarantinedLine.objects.count() == 1


def test_only_the_beginning_of_a_refused_line_is_stored(token):
    raw = b'{"type":"AgentStart","note":"' + b"x" * 100_000 + b'"}'

    post(raw, token)

    quarantined = QuarantinedLine.objects.get()
    assert (bytes(quarantined.raw), quarantined.size) == (raw[: 64 * 1024], len(raw))


def test_a_line_that_is_too_large_is_rejected_alone(token):
    raw = b'{"type":"Newer","note":"' + b"x" * settings.LOOPSCOPE_LIMITS["event_bytes"] + b'"}'

    answer = post(body(raw, *GOOD), token)

    assert [each["code"] for each in answer.json["rejected"]] == ["too_large"]
    assert answer.json["accepted"] == 3


def test_a_producer_is_one_per_project(project, token):
    other = tokens.issue(Project.objects.create(slug="other"), "other", ["ingest"])
    post(body(*GOOD), token, x_producer="p", x_first_seq=0)

    assert post(body(*GOOD), other, x_producer="p", x_first_seq=0).json["accepted"] == 3


@pytest.mark.parametrize(
    "headers",
    [
        {"x_producer": "p"},
        {"x_first_seq": "0"},
        {"x_producer": "p", "x_first_seq": "-1"},
        {"x_producer": "p", "x_first_seq": "1.0"},
        {"x_producer": "p", "x_first_seq": "zero"},
        {"x_producer": "p", "x_first_seq": str(2**53)},
        {"x_producer": "", "x_first_seq": "0"},
        {"x_producer": "p" * 201, "x_first_seq": "0"},
        {"x_producer": b"p\x01", "x_first_seq": "0"},
    ],
)
def test_bad_numbering_stores_nothing(token, headers):
    answer = post(body(*GOOD), token, **headers)

    assert (answer.status, answer.json["code"]) == (400, "bad_seq")
    assert not stored()


@pytest.mark.parametrize("query", ["format=nonsense", "format=", "format=cagent-db"])
def test_a_format_that_is_not_read_is_refused(token, query):
    answer = post(body(*GOOD), token, query=query)

    assert (answer.status, answer.json["code"]) == (400, "bad_body")


def test_the_native_format_may_be_named(token):
    assert post(body(*GOOD), token, query="format=native").status == 200


def test_a_producer_keeps_to_one_format(token):
    start = b'{"type":"stream_started","session_id":"c","agent_name":"root"}'
    sent = {"x_producer": "p", "x_first_seq": 0}
    assert post(start, token, query="format=cagent", **sent).json["accepted"] == 1
    answer = post(body(*GOOD), token, **sent)
    assert (answer.status, answer.json["code"]) == (400, "bad_body")
    assert "sends cagent lines" in answer.json["message"]


def test_one_json_object_is_one_line_however_it_is_printed(token):
    printed = json.dumps(json.loads(GOOD[0]), indent=2).encode()

    answer = post(printed, token, content_type="application/json; charset=utf-8")

    assert answer.json["accepted"] == 1
    assert json.loads(stored()[0]) == json.loads(GOOD[0])
    assert b"\n" not in stored()[0]


def test_one_json_object_may_hold_a_number_of_any_length(token):
    long = b'{"type":"Custom","number":' + b"9" * 5_000 + b"}"

    assert post(long, token, content_type="application/json").json["accepted"] == 1


@pytest.mark.parametrize("raw", [b"[]", b"", b"{}{}", b'{"a":', b"3", b"\xff"])
def test_json_that_is_no_object_is_a_bad_body(token, raw):
    answer = post(raw, token, content_type="application/json")

    assert (answer.status, answer.json["code"]) == (400, "bad_body")


@pytest.mark.parametrize(
    "media", [None, "text/plain", "application/x-www-form-urlencoded", "application/x-ndjson; charset=utf-16"]
)
def test_other_media_types_are_refused(token, media):
    assert post(body(*GOOD), token, content_type=media).status == 415


def test_a_gzip_body_is_read(token):
    packed = gzip.compress(body(GOOD[0])) + gzip.compress(body(*GOOD[1:]))

    assert post(packed, token, content_encoding="gzip").json["accepted"] == 3


@pytest.mark.parametrize(
    "packed",
    [b"not gzip", gzip.compress(body(*GOOD))[:-9], gzip.compress(b"x") + b"more", zlib.compress(b"x")],
    ids=["not gzip", "cut off", "more behind", "zlib"],
)
def test_a_broken_gzip_body_stores_nothing(token, packed):
    answer = post(packed, token, content_encoding="gzip")

    assert (answer.status, answer.json["code"]) == (400, "bad_encoding")


def test_another_encoding_is_refused(token):
    assert post(body(*GOOD), token, content_encoding="br").status == 415


def test_a_body_that_inflates_too_far_is_refused(token):
    bomb = gzip.compress(b" " * (settings.LOOPSCOPE_LIMITS["inflated_bytes"] + 1))

    answer = post(bomb, token, content_encoding="gzip")

    assert (answer.status, answer.json["code"]) == (413, "too_large")


@pytest.mark.parametrize("length", [None, settings.LOOPSCOPE_LIMITS["body_bytes"] + 1])
def test_a_body_that_is_too_long_is_refused_by_its_length_and_by_its_count(token, length):
    long = b" " * (settings.LOOPSCOPE_LIMITS["body_bytes"] + 1)

    answer = post(long, token, content_length=length)

    assert (answer.status, answer.json["code"]) == (413, "too_large")


@pytest.mark.parametrize("given", [None, "", "lsk_x_y", "Basic abc", "lsk_é_x"])
def test_without_a_valid_token_nothing_is_stored(token, given):
    answer = post(body(*GOOD), authorization=given)

    assert (answer.status, answer.json["code"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert not stored()


def test_a_changed_secret_is_no_token(token):
    assert post(body(*GOOD), token[:-1] + ("0" if token[-1] != "0" else "1")).status == 401


def test_a_token_to_read_may_not_write(project):
    assert post(body(*GOOD), tokens.issue(project, "reader", ["read"])).status == 403


def test_a_token_ends_when_it_expires_or_is_revoked(project, token):
    late = tokens.issue(project, "late", ["ingest"], expires=timezone.now() - timedelta(seconds=1))
    tokens.revoke(token)

    assert post(body(*GOOD), late).status == 401
    assert post(body(*GOOD), token).status == 401


def test_a_token_remembers_when_it_was_used(token):
    post(body(*GOOD), token)

    used = AccessToken.objects.get()
    assert used.last_used_at is not None
    assert used.last_used_from == "127.0.0.1"


def test_a_token_remembers_the_address_before_the_proxy_and_at_most_one_a_minute(token, settings):
    settings.LOOPSCOPE_PROXIES = 1
    post(body(*GOOD), token, **{"x-forwarded-for": "1.1.1.1, 10.0.0.7"})
    post(body(line(agent_start("later.a.1"))), token, **{"x-forwarded-for": "10.0.0.8"})
    first = AccessToken.objects.get()
    assert first.last_used_from == "10.0.0.7"

    AccessToken.objects.update(last_used_at=first.last_used_at - timedelta(minutes=2))
    post(body(line(agent_start("last.a.1"))), token, **{"x-forwarded-for": "10.0.0.8"})
    assert AccessToken.objects.get().last_used_from == "10.0.0.8"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
def test_only_post_is_accepted(token, method):
    answer = post(b"", token, method=method)

    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_a_foreign_host_is_refused(token):
    assert post(body(*GOOD), token, host=b"evil.example").status == 400
    assert not stored()


def test_nothing_that_an_agent_wrote_is_in_an_answer_as_markup(token):
    answer = post(b'{"type":"<script>","type":"<script>"}', token)

    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
