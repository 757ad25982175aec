"""Files of a session: by file and in order, with diffs and exit codes, as a member sees them."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import User

from dashboard.pages.files import queries
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project, Session
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)
MINUS, NONE = "\N{MINUS SIGN}", "\N{EN DASH}"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def project():
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project):
    def feed(*events):
        assert (
            ingest(Batch(project.pk, None, None, [build.line(each) for each in events], "native")).rejected
            == []
        )

    return feed


@pytest.fixture
def see(client, project):
    user = User.objects.create_user("reader")
    project.memberships.create(user=user, role="viewer")
    client.force_login(user)

    def see(query="", session="s", status=200):
        pk = Session.objects.get(session_id=session).pk
        answer = client.get(f"/p/default/sessions/{pk}/files{query}")
        assert answer.status_code == status
        return answer.content.decode()

    return see


def begin(loop="s.a.1"):
    return [build.agent_start(loop), build.turn_start(loop)]


def called(number, tool, arguments, text="ok", *, loop="s.a.1", is_error=False):
    start = build.tool_start(loop, f"c{number}", tool, args=arguments)
    end = build.tool_end(loop, f"c{number}", tool, is_error=is_error)
    return [start, end | {"result": {"content": [{"type": "text", "text": text}], "details": None}}]


def edit(path, before, after):
    return {"file_path": path, "old_string": before, "new_string": after}


def table(html):
    found = html.partition("file-list")[2].partition("<tbody>")[2].partition("</tbody>")[0]
    rows = [
        re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", row))).strip() for row in found.split("</tr>")
    ]
    return rows[:-1]


def order(html):
    found = html.partition("file-touches")[2].partition("</ol>")[0]
    items = re.findall(r'<li class="file-touch">(.*?)</li>', found, re.S)
    return [
        re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", item.partition("<details>")[0]))).strip()
        for item in items
    ]


def test_files_are_counted_and_calls_listed_in_order(feed, see):
    feed(
        *begin(),
        *called(1, "Read", {"file_path": "src/app.py"}),
        *called(2, "Edit", edit("src/app.py", "a\nb", "a\nc\nd")),
        *called(3, "Write", {"file_path": "notes.md", "content": "One\nTwo"}),
        *called(
            4, "Bash", {"command": "pytest -q", "description": "Test"}, "Exit code 2\n1 failed", is_error=True
        ),
        *called(5, "Grep", {"pattern": "x"}),
    )
    html = see()

    assert table(html) == [f"src/app.py 1 +2 {MINUS}1 1 all", f"notes.md 1 +2 {MINUS}0 0 all"]
    listed = [re.sub(r" \d\d:\d\d(:\d\d)?$", "", row) for row in order(html)]
    assert [row.split(" ")[0] for row in listed] == ["Read", "Edited", "Written", "Command"]
    assert "Command pytest -q exit 2 failed" in listed[3]
    assert "<del>-b</del>" in html
    assert "<ins>+c</ins>" in html


def test_a_row_leads_to_its_call(feed, see, client):
    feed(*begin(), *called(1, "Read", {"file_path": "a.py"}))
    (url,) = re.findall(r'href="([^"]*#session-tool-\d+)"', see())

    page, _, anchor = unescape(url).partition("#")
    assert f'id="{anchor}"' in client.get(page).content.decode()


def test_an_action_and_a_file_narrow_the_list(feed, see):
    feed(
        *begin(),
        *called(1, "Read", {"file_path": "a.py"}),
        *called(2, "Edit", edit("a.py", "a", "b")),
        *called(3, "Edit", edit("b.py", "a", "b")),
    )

    assert len(order(see("?action=edited"))) == 2
    assert len(order(see("?action=edited&path=a.py"))) == 1
    assert len(order(see("?path=a.py"))) == 2
    assert len(table(see("?path=a.py"))) == 2
    assert "Ignored action" in see("?action=eaten")
    assert "Nothing matches" in see("?path=c.py")


def test_a_failed_edit_changed_nothing(feed, see):
    feed(*begin(), *called(1, "Edit", edit("a.py", "a", "b"), "not found", is_error=True))

    assert table(see()) == [f"a.py 0 {NONE} {NONE} 0 all"]


def test_the_sessions_of_a_file_are_those_whose_calls_name_it(feed, see, client):
    feed(*begin(), *called(1, "Edit", edit("src/app.py", "a", "b")))
    feed(*begin("t.a.1"), *called(2, "Read", {"file_path": "src/app.py"}, loop="t.a.1"))
    feed(*begin("u.a.1"), *called(3, "Read", {"file_path": "other.py"}, loop="u.a.1"))
    (url,) = re.findall(r'href="([^"]*)"\s*title="Sessions whose', see())
    listed = client.get(unescape(url)).content.decode().partition("<main")[2]

    keys = {session.session_id: f"/sessions/{session.pk}" for session in Session.objects.all()}
    assert [name for name, path in keys.items() if f'{path}"' in listed] == ["s", "t"]


def test_pages_of_the_list_follow_each_other(feed, see):
    feed(*begin())
    for number in range(60):
        feed(*called(number, "Read", {"file_path": f"{number}.py"}))

    first, second = order(see()), order(see("?page=2"))
    assert (len(first), len(second)) == (50, 10)
    assert "51 to 60 of 60 calls" in re.sub(r"\s+", " ", see("?page=2"))
    assert "Nothing matches" in see("?page=999999")


def test_older_calls_than_are_read_are_counted(feed, see, monkeypatch):
    monkeypatch.setattr(queries, "CALLS", 2)
    feed(*begin())
    for number in range(5):
        feed(*called(number, "Read", {"file_path": f"{number}.py"}))
    html = see()

    assert [row.split()[1] for row in order(html)] == ["3.py", "4.py"]
    assert "3 older calls left out" in html


def test_queries_do_not_grow_with_the_calls(feed, see, django_assert_max_num_queries):
    feed(*begin())
    for number in range(50):
        feed(*called(number, "Bash", {"command": f"ls {number}"}, "Exit code 1"))

    with django_assert_max_num_queries(16):
        assert len(order(see())) == 50


def test_what_agents_write_is_text(feed, see):
    feed(
        *begin(),
        *called(1, "Edit", edit(HOSTILE, HOSTILE, HOSTILE + "b")),
        *called(2, "Bash", {"command": HOSTILE}),
    )
    html = see("?path=" + HOSTILE.replace(" ", "+"))

    assert "<img src=x" not in html
    assert "<img src=x" not in see()


def test_half_a_character_of_an_edit_is_shown_as_a_mark(feed, see):
    feed(*begin(), *called(1, "Edit", edit("a.py", "a \ud83d", "b")))

    assert "\N{REPLACEMENT CHARACTER}" in see()


def test_a_change_without_its_lines_has_no_numbers(feed, see):
    feed(*begin(), *called(1, "Delete", {"file_path": "a.py"}))

    assert table(see()) == [f"a.py 1 {NONE} {NONE} 0 all"]


def test_a_session_without_files_says_so_and_one_of_another_project_is_not_found(feed, see, client):
    feed(*begin())
    assert "No tool call read, edited or wrote a file" in see()

    other = Project.objects.create(slug="other")
    lines = [
        build.line(each) for each in [*begin("o.a.1"), *called(1, "Read", {"file_path": "a"}, loop="o.a.1")]
    ]
    assert ingest(Batch(other.pk, None, None, lines, "native")).rejected == []
    see(session="o", status=404)
