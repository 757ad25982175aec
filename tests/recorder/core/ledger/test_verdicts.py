"""Verdicts on planted causes: each is named, the difference is the planted one, nothing is invented."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.core.ledger.difference import first_difference
from tests.recorder.core.ledger.conversation import CAUSES, Conversation

SEEDS = range(40)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("cause", CAUSES)
def test_a_planted_cause_is_named(cause, provider):
    right = 0
    for seed in SEEDS:
        talk = Conversation(seed, provider)
        before = [talk.call()]
        for _ in range(talk.pick.randint(2, 8)):
            talk.append()
            before.append(talk.call())
        assert [entry.judgement.verdict for _, entry in before[1:]] == ["append_only"] * (len(before) - 1)
        talk.append()
        talk.plant(cause)
        payload, entry = talk.call(compacted=cause == "compaction")
        right += entry.judgement.verdict == CAUSES[cause]
        difference = first_difference(before[-1][0], payload)
        if CAUSES[cause] in ("tools_changed", "system_changed", "history_edited"):
            assert difference is not None
            assert difference.block == entry.judgement.prefix_blocks + 1
        else:
            assert difference is None
        assert entry.judgement.lost_tokens >= 0
        talk.append()
        assert talk.call()[1].judgement.verdict == "append_only"

    assert right == len(SEEDS)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.sampled_from(["", *CAUSES]), max_size=8), st.booleans())
def test_windows_add_up_and_causes_have_evidence(seed, causes, is_openai):
    talk = Conversation(seed, "openai" if is_openai else "anthropic")
    payload, entry = talk.call()
    for cause in causes:
        before, talk_before = payload, entry
        talk.append()
        if cause:
            talk.plant(cause)
        payload, entry = talk.call(compacted=cause == "compaction")
        found = entry.judgement
        assert entry.known == sum(entry.kinds.values())
        if found.verdict in ("tools_changed", "system_changed", "history_edited"):
            assert first_difference(before, payload) is not None
        if found.verdict == "model_changed":
            assert before["model_id"] != payload["model_id"]
        if found.verdict == "ttl_lapsed":
            assert found.idle_s > found.life_s
        if found.verdict == "append_only":
            assert first_difference(before, payload) is None
        assert talk_before.number + 1 == entry.number


def test_a_provider_without_cache_figures_is_never_blamed():
    talk = Conversation(1, "local")
    talk.call()
    for _ in range(5):
        talk.append()
        talk.cached = []
        assert talk.call()[1].judgement.verdict == "append_only"


EDITS = [cause for cause, verdict in CAUSES.items() if verdict.endswith(("_changed", "_edited"))]


def talk_to(provider, *, turns=4):
    talk = Conversation(7, provider)
    for _ in range(turns):
        talk.call()
        talk.append()
    return talk


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("cause", [edit for edit in EDITS if edit != "model"])
def test_an_edit_at_the_same_time_as_a_lapsed_life_is_undecided(cause, provider):
    talk = talk_to(provider)
    talk.plant(cause)
    talk.plant("idle")

    found = talk.call(compacted=cause == "compaction")[1].judgement
    assert found.verdict == "undecided"
    assert found.lost_tokens > 0
    assert found.idle_s > found.life_s


def test_another_model_misses_whatever_the_time():
    talk = talk_to("anthropic")
    talk.plant("model")
    talk.plant("idle")

    assert talk.call()[1].judgement.verdict == "model_changed"


def test_an_edit_is_named_after_a_lapsed_life_if_all_before_it_was_read():
    talk = talk_to("anthropic", turns=8)
    talk.payload["messages"][7]["content"][0]["text"] = "edited"
    talk.at += timedelta(minutes=7)
    talk.read_at = talk.at  # another session has read the prefix in between

    found = talk.call()[1].judgement
    assert found.verdict == "history_edited"
    assert found.idle_s > found.life_s


def test_an_edit_that_lost_nothing_is_named_after_a_lapsed_life():
    talk = Conversation(1, "local")
    talk.call()
    talk.append()
    talk.plant("tool added")
    talk.plant("idle")
    talk.cached = []

    found = talk.call()[1].judgement
    assert (found.verdict, found.lost_tokens) == ("tools_changed", 0)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google"])
@pytest.mark.parametrize("kept", [2, 4, 6])
def test_a_miss_of_a_part_is_found_with_what_was_read(provider, kept):
    talk = talk_to(provider, turns=10)
    talk.cached = talk.cached[: kept + 3]  # tools, the system prompt, and some messages

    payload, entry = talk.call()
    found = entry.judgement
    read = found.expected_read - found.lost_tokens
    assert found.verdict == "provider_miss"
    assert 0 < read < found.expected_read
    assert first_difference(payload, payload) is None
