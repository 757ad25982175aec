"""The config and the agent of a turn are those that answered it."""

import pytest

from recorder.core.records import ModelConfig, Turn
from tests.support import build
from tests.support.memory_store import Play

HAIKU = {"model": "claude-haiku-4-5", "provider": "anthropic"}


def turn(index, model, provider="anthropic", tokens=10):
    yield build.turn_start(index=index)
    yield build.turn_end(message=build.assistant(model=model, provider=provider), tokens=tokens)


def answering_models(play):
    return [each.config.model for each in play.of(Turn)]


def test_a_turn_that_another_model_answers_has_a_config_of_its_own():
    play = Play(build.agent_start(config_snapshot=HAIKU))
    play.feed(*turn(0, "claude-haiku-4-5"), *turn(1, "claude-sonnet-4-5"), *turn(2, "claude-sonnet-4-5"))

    assert answering_models(play) == ["claude-haiku-4-5", "claude-sonnet-4-5", "claude-sonnet-4-5"]
    assert play.loop().config.model == "claude-haiku-4-5"
    assert play.loop().has_switched
    assert len(play.of(ModelConfig)) == 2


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-haiku-4-5", "anthropic"),
        ("claude-haiku-4-5-20251001", "anthropic"),
        ("anthropic/claude-haiku-4-5", "anthropic"),
        ("claude-haiku-4-5", ""),
        ("claude-haiku-4-5", "unknown"),
        ("", ""),
    ],
)
def test_a_version_or_a_missing_name_is_the_config_of_the_loop(model, provider):
    play = Play(build.agent_start(config_snapshot=HAIKU), *turn(0, model, provider))

    assert play.one(Turn).config is play.loop().config
    assert not play.loop().has_switched


@pytest.mark.parametrize(
    ("model", "provider"), [("claude-haiku-4-5-fast", "anthropic"), ("claude-haiku-4-5", "bedrock")]
)
def test_another_model_or_provider_is_another_config(model, provider):
    play = Play(build.agent_start(config_snapshot=HAIKU), *turn(0, model, provider))

    found = play.one(Turn).config
    assert (found.model, found.provider) == (model, provider)


def test_a_turn_belongs_to_the_agent_that_was_active_when_it_started():
    play = Play(build.agent_start(agent_id="root"), *turn(0, "m"))
    play.feed(build.turn_start(index=1), build.ours("AgentSwitched", to="expert"), build.turn_end())
    play.feed(*turn(2, "m"))

    assert [each.agent_id for each in play.of(Turn)] == ["", "", "expert"]
    assert play.loop().has_switched


def test_errors_count_in_their_turn_once_and_the_rest_in_the_loop():
    play = Play(
        build.agent_start(), build.turn_start(), build.tool_start(call="c1"), build.tool_start(call="c2")
    )
    play.feed(build.tool_end(call="c1", is_error=True))
    play.feed(build.turn_end(message=build.assistant(stop="error", error="Overloaded.")))
    play.feed(build.tool_end(call="c2", is_error=True))

    assert (play.one(Turn).errors, play.loop().turn_errors, play.loop().errors) == (2, 2, 3)
