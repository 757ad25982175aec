"""The filter of shared HTML: what becomes of URLs, forms and text."""

from html import unescape

import pytest
from django.utils.html import escape
from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.share.addresses import Addresses
from dashboard.pages.share.html_filter import filtered, masked_run
from dashboard.security.shared_view import SharedView
from recorder.models import Project, ShareLink

SECRET = "s" * 43
LINK = ShareLink(pk=1, project=Project(pk=1, slug="default"), kind="session", target=7)
OWN = f"/s/{SECRET}/sessions/7"


def shown(html, mask=str):
    return filtered(html, Addresses(SharedView(LINK, SECRET), "testserver"), mask)


def hide(text):
    return text.replace("ada@example.org", "[masked]")


@pytest.mark.parametrize(
    ("html", "result"),
    [
        ('<a href="/p/default/sessions/7/loops/8#loop">x</a>', f'<a href="{OWN}/loops/8#loop">x</a>'),
        (
            '<a class="link" href="/p/default/sessions/8" title="t">x <b>y</b></a>!',
            '<span class="">another session</span>!',
        ),
        ('<a class="link row" href="/p/default/costs">x</a>!', '<span class="row">x</span>!'),
        ('<a class="button" href="/p/default/costs">x</a>!', "!"),
        ('<a href="/p/default/sessions/7?tab=events">x</a>!', "!"),
        ('<a href="/p/other/sessions/7">x</a>!', "!"),
        ('<a href="javascript:alert(1)">x</a>!', "!"),
        ('<a href="http://testserver/p/default/costs">x</a>', '<span class="">x</span>'),
        (
            '<a href="https://example.org/a?b=1&amp;c=2">x</a>',
            '<a href="https://example.org/a?b=1&amp;c=2">x</a>',
        ),
        ('<a href="#loop">x</a><a href="?row=5">y</a>', '<a href="#loop">x</a><a href="?row=5">y</a>'),
        ('<button hx-get="/api/v1/notes">x</button>!', "!"),
        ('<div data-zoom="/p/default/sessions/8?a=1" data-n="1">x</div>', '<div data-n="1">x</div>'),
        ('<form method="post"><p>a<form></form></p></form>!', "!"),
        ('<form method="get"><input name="a"></form>', '<form method="get"><input name="a"></form>'),
        ('<form action="/p/default/sessions/7/pin"><button>x</button></form>!', "!"),
        ('<nav class="breadcrumbs"><nav>a</nav>b</nav>!', "!"),
        (
            '<img src="/p/default/events/9/image?at=message.content.1">',
            f'<img src="/s/{SECRET}/events/9/image?at=message.content.1">',
        ),
        ('<img src="/p/default/nonsense">!', "!"),
        ("<!-- note -->a", "a"),
        ('<svg viewBox="0 0 1 1"><use href="/static/i.svg#a"/></svg>',) * 2,
        ("1 < 2 &amp; <b>3</b>",) * 2,
    ],
)
def test_urls_lead_below_the_link_or_are_removed_with_their_controls(html, result):
    assert shown(html) == result


@pytest.mark.parametrize(
    "html",
    [
        "<p>Write to ada@example.org.</p>",
        "<p>Write to ada<b>@example</b>.<i>org</i>.</p>",
        '<p title="to ada@example.org">x</p>',
        '<p data-text="ada@example.org">x</p>',
        "<pre>ada&#64;example&#x2e;org</pre>",
        "<title>ada@example.org</title>",
    ],
)
def test_text_is_masked_in_texts_attributes_and_over_inline_elements(html):
    result = shown(html, hide)
    assert "[masked]" in result
    assert "example" not in result
    assert result.count("<") == html.count("<")


def test_text_of_two_blocks_is_masked_apart():
    assert shown("<p>ada@exa</p><p>mple.org</p>", hide) == "<p>ada@exa</p><p>mple.org</p>"


@given(
    st.lists(st.text("ab<&'", max_size=6), min_size=1, max_size=5),
    st.text("ab<&", min_size=1, max_size=3),
    st.text("xyz", max_size=4),
)
def test_a_run_of_texts_is_masked_as_one_text(texts, value, mask):
    made = masked_run([escape(text) for text in texts], lambda text: text.replace(value, mask))
    assert len(made) == len(texts)
    assert unescape("".join(made)) == "".join(texts).replace(value, mask)
    assert "<" not in "".join(made)


@given(st.lists(st.sampled_from(["<p>", "</p>", "<b>", "</b>", "a", "&amp;", '<i title="x">', "<br>", "é "])))
def test_html_without_urls_is_left_as_it_is(parts):
    html = "".join(parts)
    assert shown(html) == html


@pytest.mark.parametrize(
    ("html", "result"),
    [
        ("<h1>card 4111 1111 11…</h1>", "<h1>card…</h1>"),
        ('<h1 title="pay 4111-1111 1…">x</h1>', '<h1 title="pay…">x</h1>'),
        ("<b>db_password=Xk3…</b> <i>then</i>", "<b>…</b> <i>then</i>"),
        ("<td>one &lt;two three… </td>", "<td>one &lt;two… </td>"),
        ("<title>my card 4111 1… · Loopscope</title>", "<title>my card… · Loopscope</title>"),
        ('<div class="prose cut"><div><p>Let me see…</p></div><p>Well…</p></div><p>a b…</p>',
         '<div class="prose cut"><div><p>Let me see…</p></div><p>Well…</p></div><p>a…</p>'),
        ("<pre>a b…</pre><br><p>a b…</p>", "<pre>a b…</pre><br><p>a…</p>"),
    ],
)  # fmt: skip
def test_a_text_that_was_cut_loses_its_last_word_and_the_numbers_before_it(html, result):
    assert shown(html) == result
    plain = ShareLink(pk=1, project=LINK.project, kind="session", target=7, is_masked=False)
    assert filtered(html, Addresses(SharedView(plain, SECRET), "testserver"), str) == html
