"""Sign-in links: one request uses a link, also of two at once."""

from threading import Thread

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from recorder.access import signin_links

LOOK_S = 0.5  # in which a request that did not wait for the row would have ended


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_two_requests_at_once_one_uses_the_link():
    secret, found = signin_links.issue(User.objects.create_user("ada")), []

    def second():
        found.append(signin_links.consume(secret))
        connection.close()

    thread = Thread(target=second)
    with transaction.atomic():
        assert signin_links.consume(secret) is not None
        thread.start()
        thread.join(LOOK_S)
        assert found == []
    thread.join()
    assert found == [None]
