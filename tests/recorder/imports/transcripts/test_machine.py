"""The name of the sender's computer: metadata of the loops that its transcripts begin."""

import pytest

from recorder.models import Session
from recorder.projection.rebuild import rebuild
from tests.loopscope_client.push.lines import line
from tests.support.endpoint_clients import post

pytestmark = pytest.mark.django_db(transaction=True)


def send(token, numbers, machine):
    body = b"".join(line("pi", number) for number in numbers)
    about = {"x_producer": "pi:of-pi", "x_first_seq": numbers[0], "x_loopscope_machine": machine}
    return post(body, token, query="format=pi", **about)


def machines():
    return [session.metadata["machine"] for session in Session.objects.all()]


def test_loops_name_the_machine_of_the_first_request_also_after_a_rebuild(project, token):
    assert send(token, range(2), "Büro").status == 200
    assert send(token, range(2, 4), "other").status == 200
    assert machines() == [["Büro"]]

    rebuild(project)

    assert machines() == [["Büro"]]


@pytest.mark.parametrize("machine", ["", " ", "x" * 101, "a\u202eb"])
def test_an_invalid_name_is_refused(project, token, machine):
    answer = send(token, range(2), machine)

    assert (answer.status, answer.json["code"]) == (400, "bad_machine")
    assert not Session.objects.exists()
