"""What if by API: a fixture computed by hand, sums of a period, other projects, and hostile names."""

import csv
import io
import json

import pytest
from django.contrib.auth.models import User

from recorder.ledger import follower
from recorder.models import Membership, Project
from tests.recorder.ledger import carried_file
from tests.support import build

pytestmark = pytest.mark.django_db

MARKUP = '"><img src=x onerror="window.__pwned=3">'
# The 23 calls read 236,355 tokens, write 28,270 and answer 460.
SONNET = "0.183819"  # 236,355 x 300 + 28,270 x 3,750 + 460 x 15,000 nano-dollars
HAIKU = "0.061273"  # 236,355 x 100 + 28,270 x 1,250 + 460 x 5,000
# Requests below 4,096 tokens are too short for its cache: 1 and 23 would not be written, 4,100 x 250 less; 2
# would be neither read, 2,000 x 900 more, nor written, 25 x 250 less.
HAIKU_LOW, HAIKU_HIGH = "0.060248", "0.06306675"
# Call 12 reads 12,865 of the 12,905 tokens that it wrote: 249,220 x 300 + 15,405 x 6,000 + 460 x 15,000
AN_HOUR = "0.174096"
AN_HOUR_WITHOUT_READS = "0.2474265"  # 236,355 x 300 + 28,270 x 6,000 + 460 x 15,000
TOOLS = [{"name": "mcp__files__read", "description": "Reads."}, {"name": "never", "description": "x" * 400}]


def with_tools():
    return [
        {**event, "payload": {**event["payload"], "tools": TOOLS}}
        if event["type"] == "TurnRequest"
        else event
        for event in carried_file.events()
    ]


def moved(events, session):
    text = json.dumps(list(events)).replace('"s.a.1"', f'"{session}.a.1"').replace('"s"', f'"{session}"')
    return json.loads(text)


def figure(found, kind, name=None):
    (one,) = [each for each in found["figures"] if (each["figure"], each["name"]) == (kind, name)]
    return one


def amounts(one):
    return [one[name] for name in ("recorded_usd", "cost_usd", "low_usd", "high_usd")]


@pytest.fixture
def see(client, project):
    user = User.objects.create_user("reader")
    Membership.objects.create(project=project, user=user, role=Membership.Role.VIEWER)
    client.force_login(user)

    def see(query="", suffix=""):
        answer = client.get(f"/p/default/what-if{suffix}{query}")
        assert answer.status_code == 200
        return b"".join(answer).decode()

    return see


def test_the_figures_are_those_computed_by_hand(get, feed):
    feed(*carried_file.events())
    follower.run_all()
    names = ["anthropic:claude-haiku-4-5", "anthropic:claude-sonnet-4-6"]

    found = get("context/what-if", session="s", model=names)

    assert (found["state"], found["calls"], found["unpriced_calls"]) == ("computed", 23, 0)
    assert amounts(figure(found, "model", names[0])) == [SONNET, HAIKU, HAIKU_LOW, HAIKU_HIGH]
    assert amounts(figure(found, "model", names[1])) == [SONNET] * 4
    hour = figure(found, "one_hour_cache")
    assert amounts(hour) == [SONNET, AN_HOUR, AN_HOUR, AN_HOUR_WITHOUT_READS]
    assert hour["difference_usd"] == "-0.009723"
    assert amounts(figure(found, "without_judge")) == [SONNET] * 4


def test_definitions_cost_what_the_ledger_says(get, feed):
    feed(*with_tools())
    follower.run_all()

    found = get("context/what-if", session="s")
    blocks = get("context", session_id="s")["blocks"]

    for name in ("mcp__files__read", "never"):
        one = figure(found, "without_definition", name)
        (block,) = [each for each in blocks if (each["kind"], each["name"]) == ("tool_definition", name)]
        assert (one["calls"], one["times_called"], one["recorded_usd"]) == (23, 0, SONNET)
        assert one["tokens"] == 23 * block["tokens"]
        assert abs(float(one["difference_usd"]) + float(block["carried_usd"])) < 23e-9  # rounded a call
    server = figure(found, "without_server", "files")
    assert (
        server["difference_usd"] == figure(found, "without_definition", "mcp__files__read")["difference_usd"]
    )


def test_a_period_is_the_sum_of_its_sessions(get, feed):
    feed(*carried_file.events())
    feed(*moved(with_tools(), "t"))
    follower.run_all()
    names = ["anthropic:claude-haiku-4-5", "openai:gpt-5-mini"]

    whole = get("context/what-if", since="2026-02-11T00:00Z", until="2026-02-12T00:00Z", model=names)
    parts = [get("context/what-if", session=session, model=names) for session in "st"]

    for one in whole["figures"][:4]:
        for place, name in enumerate(("recorded_usd", "cost_usd", "low_usd", "high_usd")):
            of_parts = [amounts(figure(part, one["figure"], one["name"]))[place] for part in parts]
            assert round(float(one[name]) * 1e9) == sum(round(float(each) * 1e9) for each in of_parts)
    assert get("context/what-if", since="2026-02-12T00:00Z")["state"] == "nothing_recorded"
    assert get("context/what-if", agent="agent-b")["state"] == "nothing_recorded"
    assert get("context/what-if", agent="agent-a")["calls"] == 46


def test_calls_of_another_project_do_not_count(get, feed):
    feed(*carried_file.events(), into=Project.objects.create(slug="other"))
    follower.run_all()

    assert get("context/what-if")["state"] == "nothing_recorded"
    get("context/what-if", expect=404, session="s")


def test_before_the_ledger_is_made_the_page_says_so(see, feed):
    feed(*carried_file.events())

    assert "No block ledger yet." in see("?session=s")


def test_without_a_price_or_a_call_the_page_says_so(see, get, feed):
    assert "Nothing recorded." in see()
    config = {"model": MARKUP, "provider": MARKUP, "api": "anthropic_messages"}
    usage = {"input": 10, "output": 5}
    message = {**build.assistant(model=MARKUP, provider=MARKUP), "usage": usage}
    feed(build.agent_start(config_snapshot=config), build.turn_start(), build.message_end(message=message))
    feed(build.turn_end(message=message, usage=usage), build.agent_end())

    assert get("context/what-if", session="s")["unpriced_calls"] == 1
    assert "No call has a cost." in see("?session=s")


def test_hostile_names_are_text_and_a_model_without_a_price_is_named(see, feed):
    feed(*moved(carried_file.events(), "s"))

    page = see("?session=s&model=%3Cimg%3Ax")

    assert "<img" not in page
    assert "No price for <bdi>&lt;img:x</bdi>." in page


def test_files_have_every_figure(see, get, feed):
    feed(*with_tools())
    follower.run_all()

    rows = list(csv.DictReader(io.StringIO(see("?session=s", ".csv"))))
    items = json.loads(see("?session=s", ".json"))["items"]

    names = ("figure", "recorded_usd", "cost_usd", "low_usd", "high_usd", "difference_usd")
    expected = [[one[name] for name in names] for one in get("context/what-if", session="s")["figures"]]
    assert [[item[name] for name in names] for item in items] == expected
    assert [float(row["cost_usd"]) for row in rows] == [float(one[2]) for one in expected]
    hour = next(row for row in rows if row["figure"] == "one_hour_cache")
    assert hour["bounded"].startswith("Arithmetic on the recorded gaps: 1 miss after")


@pytest.mark.parametrize("name", ["claude-haiku-4-5", "anthropic:"])
def test_a_model_without_its_provider_is_refused(get, name):
    found = get("context/what-if", expect=400, session="s", model=["openai:gpt-5.4", name])

    assert found["code"] == "bad_query"
    assert "a model is PROVIDER:MODEL" in found["message"]
