"""A model without a provider is priced by its name where the price list is unambiguous."""

import pytest

from recorder.core.formats.transcripts.claude_code.contents import provider_of
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Session, Turn
from recorder.pricing import price_list
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)


def play(project, model, **config):
    """Record a loop with one turn whose answer names no provider."""
    answer = build.assistant(model=model, provider="")
    events = [
        build.agent_start(config_snapshot={"model": model, "provider": "unknown", **config}),
        build.turn_start(),
        build.turn_end(message=answer, tokens=100_000),
        build.agent_end(tokens=100_000),
    ]
    ingest(Batch(project.pk, "p", 0, [build.line(event) for event in events], "native"))
    return Session.objects.get()


def test_the_only_maker_of_a_model_sets_its_price(project):
    assert play(project, "claude-sonnet-4-6").cost_nano == 3 * 10**8
    assert Turn.objects.get().price.provider == ""


def test_a_model_that_nobody_lists_has_no_price(project):
    session = play(project, "my-own-model")
    assert session.cost_nano is None


def test_a_provider_that_is_named_is_never_replaced(project):
    session = play(project, "claude-sonnet-4-6", provider="my-gateway")
    assert session.cost_nano is None


@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "gpt-5", "gemini-2.5-pro"])
def test_the_maker_has_the_price(model):
    maker = {"c": "anthropic", "g": "openai" if model.startswith("gpt") else "google"}[model[0]]
    assert price_list.listed(model, "") == price_list.listed(model, maker) != []


@pytest.mark.parametrize(
    ("route", "model", "provider"),
    [
        ("bedrock/", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "aws"),
        (
            "arn:aws:bedrock:eu-west-1:1:inference-profile/",
            "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
            "aws",
        ),
        ("openrouter/", "anthropic/claude-sonnet-4.5", "openrouter"),
        ("vertex_ai/", "claude-sonnet-4-5@20250929", ""),
        ("publishers/anthropic/models/", "claude-sonnet-4-5", ""),
    ],
)
def test_the_route_in_a_name_does_not_hide_the_price(route, model, provider):
    assert provider_of(route + model) == provider
    assert price_list.listed(route + model, provider) == price_list.listed(model, provider) != []


def test_a_call_without_tokens_computes_nothing(project):
    reported = {**build.turn_end(index=1, tokens=9), "cost": 0.5}
    events = [build.agent_start(), build.turn_start(), build.turn_end(), build.turn_start(index=1), reported]
    ingest(Batch(project.pk, "p", 0, [build.line(event) for event in events], "native"))
    assert Session.objects.get().cost_source == "reported"


def test_the_client_names_itself_as_the_source(project):
    events = [build.agent_start("s.a.1", source="client"), build.agent_start("t.a.1")]
    ingest(Batch(project.pk, "p", 0, [build.line(event) for event in events], "native"))
    assert list(Session.objects.order_by("pk").values_list("source", flat=True)) == ["client", "phi-core"]
