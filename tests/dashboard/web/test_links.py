"""URLs that pages link to."""

from django.urls import resolve

from dashboard.web import links


def test_a_url_resolves_to_its_arguments():
    for slug in ("default", "a-b_9", "1000000000000000", "1000000000000002"):
        for numbers in ((1, 2), (7, 7), (10**15, 10**15 + 1)):
            found = resolve(links.loop(slug, *numbers))
            assert found.url_name == "loop"
            assert found.kwargs == {"slug": slug, "pk": numbers[0], "loop": numbers[1]}
        assert resolve(links.sessions(slug)).kwargs == {"slug": slug}
        assert resolve(links.turn_calls(slug, 1, 2, 3)).kwargs["slug"] == slug


def test_as_of_an_event_only_links_of_the_same_session_keep_it():
    with links.staying(4, at=9):
        assert links.session("s", 4).endswith("?at=9")
        assert links.loop("s", 4, 5, tab="events").endswith("/5?at=9&tab=events")
        assert "at=" not in links.session("s", 5)
    assert "at=" not in links.session("s", 4)
