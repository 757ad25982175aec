"""Cost bars of the list: in proportion to the highest cost, also after live changes."""

import pytest

from tests.support import build

SONNET = {"model": "claude-sonnet-4-6", "provider": "anthropic", "api": "anthropic_messages"}


def spends(name, tokens):
    """Return a loop that reads as many tokens, at $3 a million."""
    answer = build.assistant(model=SONNET["model"], provider=SONNET["provider"])
    usage = {"input": tokens, "output": 0}
    return [
        build.line(event).decode()
        for event in (
            build.agent_start(name, config_snapshot=SONNET),
            {**build.turn_end(name, message=answer), "usage": usage},
            {**build.agent_end(name), "usage": usage},
        )
    ]


def lengths(page):
    """Return the length of each session's bar as a part of the full width."""
    return {
        row.locator("b").first.inner_text(): row.locator(".session-cost .meter").evaluate(
            "bar => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width"
        )
        for row in page.locator(".session-row").all()
    }


def test_a_bar_is_in_proportion_to_the_highest_cost(window, server):
    agent = server.agent()
    for name, tokens in (("dear.a.1", 100_000), ("half.a.1", 50_000), ("small.a.1", 4_200)):
        agent.send(*spends(name, tokens))
    page = window(viewport={"width": 1440, "height": 900}).open("/p/default/sessions")
    shown = {"dear": 1, "half": 0.5, "small": 0.042}
    assert lengths(page) == pytest.approx(shown, rel=0.05, abs=0.005)

    agent.send(*spends("small.a.2", 195_800))  # $0.6 in all
    page.locator('[data-max-cost="6.0e-01"]').wait_for(state="attached")
    shown = {"dear": 0.5, "half": 0.25, "small": 1}
    assert lengths(page) == pytest.approx(shown, rel=0.05, abs=0.005)
