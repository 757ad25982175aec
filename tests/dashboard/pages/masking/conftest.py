"""A project with an admin and others, each signed in with a client of their own."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from recorder.models import Membership, Project


@pytest.fixture
def acme(db):
    return Project.objects.create(slug="acme")


@pytest.fixture
def signed_in(acme):
    """Return a client of a new user, of this role in the project; "" for a stranger."""

    def sign_in(name, role=""):
        user = User.objects.create_user(name)
        if role:
            Membership.objects.create(project=acme, user=user, role=role)
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def admin(signed_in):
    return signed_in("mira", "admin")
