"""Checks of the Host and Origin headers."""

import pytest

from dashboard.security.origin import host_allowed, origin_allowed


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        (b"127.0.0.1:8000", True),
        (b"localhost", True),
        (b"[::1]:8000", True),
        (b"LOCALHOST:8000", True),
        (b"evil.example", False),
        (b"127.0.0.1.evil.example", False),
        (b"127.0.0.1@evil.example", False),
        (b"127.0.0.1:8000, evil.example", False),
        (b"0.0.0.0", False),
        (b"2130706433", False),
        (b"", False),
        (b"\xff", False),
    ],
)
def test_only_allowed_hosts_are_answered(settings, host, is_ours):
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]

    assert host_allowed([(b"host", host)]) is is_ours


def test_a_request_with_two_hosts_or_none_is_refused():
    assert not host_allowed([])
    assert not host_allowed([(b"host", b"localhost"), (b"host", b"localhost")])


@pytest.mark.parametrize(
    ("origin", "is_ours"),
    [
        (b"http://localhost:8000", True),
        (b"http://LOCALHOST:8000", True),
        (b"http://localhost:3000", False),
        (b"http://localhost", False),
        (b"https://localhost:8000", False),
        (b"http://127.0.0.1:8000", False),
        (b"http://localhost:8000.evil.example", False),
        (b"http://evil.example", False),
        (b"http://localhost:8000/path", False),
        (b"http://localhost:99999", False),
        (b"null", False),
        (b"", False),
        (None, False),
    ],
)
def test_only_pages_of_this_site_open_a_socket(settings, origin, is_ours):
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
    given = [] if origin is None else [(b"origin", origin)]

    assert origin_allowed({"headers": [(b"host", b"localhost:8000"), *given]}) is is_ours


def test_behind_an_https_proxy_the_origin_is_https(settings):
    settings.ALLOWED_HOSTS = ["loops.example"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    headers = [(b"host", b"loops.example"), (b"x-forwarded-proto", b"https")]

    assert origin_allowed({"headers": [*headers, (b"origin", b"https://loops.example")]})
    assert not origin_allowed({"headers": [*headers, (b"origin", b"http://loops.example")]})
