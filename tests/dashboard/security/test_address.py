"""The address of a client, directly and behind proxies."""

import pytest
from django.test import RequestFactory

from dashboard.security.address import address_of, network_of


def request(address, forwarded=None):
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return RequestFactory().get("/", REMOTE_ADDR=address, headers=headers)


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        (0, "1.1.1.1", "10.0.0.1"),
        (1, None, "10.0.0.1"),
        (1, "1.1.1.1, 2.2.2.2", "2.2.2.2"),
        (2, "1.1.1.1, 2.2.2.2, 3.3.3.3", "2.2.2.2"),
        (2, "1.1.1.1", "10.0.0.1"),
        (1, "", "10.0.0.1"),
        (1, "x" * 200, "x" * 64),
    ],
)
def test_only_what_a_trusted_proxy_wrote_counts(settings, proxies, forwarded, expected):
    settings.LOOPSCOPE_PROXIES = proxies
    assert address_of(request("10.0.0.1", forwarded)) == expected


def test_the_addresses_of_one_ipv6_network_count_as_one():
    assert network_of(request("2001:db8::1")) == network_of(request("2001:db8::ffff:2"))
    assert network_of(request("2001:db8::1")) != network_of(request("2001:db8:0:1::1"))
    assert network_of(request("::ffff:10.0.0.1")) == "10.0.0.1"
