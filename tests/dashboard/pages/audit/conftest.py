"""A project with an admin, and clients that are signed in."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from recorder.models import Membership, Project


@pytest.fixture
def acme(db):
    return Project.objects.create(slug="acme")


@pytest.fixture
def sign_in(acme):
    def sign_in(role="admin", name="ada", *, is_superuser=False):
        user = User.objects.create_user(name, is_superuser=is_superuser)
        if role:
            Membership.objects.create(project=acme, user=user, role=role)
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def admin(sign_in):
    return sign_in()
