"""Comparison of two sessions."""

from recorder.models import Project, Session
from tests.support import build
from tests.support.small_loop import Loop


def two(feed):
    one, other = Loop("one"), Loop("two")
    feed(*one.whole("first"))
    feed(other.start(), *other.whole_turn("second"), *other.whole_turn("third"), other.end())
    return [Session.objects.get(session_id=name).pk for name in ("one", "two")]


def test_equal_figures_of_two_sessions_are_dimmed(client, see, feed):
    first, second = two(feed)
    see()

    html = client.get(f"/p/default/sessions/compare?of={second}&of={first}").content.decode()

    assert html.index("Ask second") < html.index("Ask first")
    rows = html.split("<tr")
    assert any(row.startswith(' class="text-faint"') and "Loops" in row for row in rows)
    assert any(not row.startswith(" class") and "Turns" in row for row in rows)


def test_all_configs_and_agents_of_a_session_are_named(client, see, feed):
    feed(*build.handed_over("one.a.1"), *build.small_loop("two.a.1"))
    first, second = Session.objects.order_by("pk").values_list("pk", flat=True)
    see()

    html = client.get(f"/p/default/sessions/compare?of={first}&of={second}").content.decode()

    rows = [html.partition(f"{word}</th>")[2].partition("</tr>")[0] for word in ("Agents", "Configs")]
    agents, configs = rows
    assert "agent-a, expert" in agents
    for model in ("claude-haiku-4-5", "claude-sonnet-4-5", "claude-sonnet-4-6"):
        assert f'<span class="clip">{model}</span>' in configs


def test_a_comparison_needs_two_sessions_of_the_project(client, see, feed, django_assert_num_queries):
    first, second = two(feed)
    feed(build.agent_start("far.x.1"), into=Project.objects.create(slug="other"))
    far = Session.objects.get(session_id="far").pk
    see()

    for query in ("", f"of={first}", f"of={first}&of={first}", f"of={first}&of={far}", "of=x&of=9" * 30):
        assert client.get(f"/p/default/sessions/compare?{query}").status_code == 404
    with django_assert_num_queries(14):
        client.get(f"/p/default/sessions/compare?of={first}&of={second}")
