"""Markdown from agents: rendering, sanitizing, limits."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.rendering.markdown import TAGS, _Cache, markdown
from tests.support.count_calls import count_calls

ALLOWED = re.compile(rf"</?(?:{'|'.join(TAGS)})(?: [^<>]*)?/?>")
NAMES = {"href", "target", "rel", "class", "start"}


def assert_harmless(html):
    bare = ALLOWED.sub("", html)
    assert "<" not in bare
    for tag in ALLOWED.findall(html):
        for name in re.findall(r' ([\w:-]+)(?==")', re.sub(r'"[^"]*"', '""', tag)):
            assert name in NAMES


def test_prose_becomes_headings_lists_tables_and_code():
    html = markdown("# A\n\n- b\n- ~~c~~\n\n|d|\n|-|\n|e|\n\n```python\nf()\n```\n")
    for part in ("<h4>A</h4>", "<li>b</li>", "<s>c</s>", "<td>e</td>", '<code class="language-python">'):
        assert part in html


def test_a_line_break_in_an_answer_stays():
    assert "one<br />\ntwo" in markdown("one\ntwo").replace("<br>", "<br />")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://evil.example/pixel.png)",
        "<svg onload=alert(1)><script>1</script></svg>",
        "<form action=/signout method=post><button>x</button></form>",
        "<style>*{display:none}</style>",
        '<div hx-get="/p/default/settings" hx-trigger="load">x</div>',
        '<a href="javascript:alert(1)">x</a>',
        "<iframe src=https://evil.example></iframe>",
        '<meta http-equiv=refresh content="0;url=https://evil.example">',
        '```"onload=alert(1) x="\ncode\n```',
        "```python hx-get=/x\ncode\n```",
        "[x]: javascript:alert(1)\n\n[x]",
        "<!-- --><script>1</script>",
        '[x](https://e.example/"onmouseover=alert(1)//)',
        "\x00<scr\x00ipt>",
        "\ud800<b>",
    ],
)
def test_hostile_text_stays_text(text):
    html = markdown(text)
    assert_harmless(html)
    assert "<script" not in html
    assert "<img" not in html
    assert "<svg" not in html


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "/signout",
        "//evil.example/x",
        "?delete=1",
        "#main",
        "http:/p/default",
        "https:relative",
        "http://localhost:8000/p/default/settings",
        "http://127.0.0.1/x",
        "http://[::1]/x",
        "http://[broken/x",
    ],
)
def test_script_urls_and_urls_of_this_site_are_no_links(address):
    assert "href" not in markdown(f"[x](<{address}>)")


@pytest.mark.parametrize(
    "address", ["https://example.org/a?b=c", "http://example.org", "mailto:a@example.org"]
)
def test_an_external_link_opens_a_new_tab_without_referrer(address):
    html = markdown(f"[x]({address})")
    assert f'href="{address}"' in html
    assert 'target="_blank"' in html
    assert 'rel="noopener noreferrer nofollow"' in html


@given(st.text(alphabet="<>[]()!`*_~|\\\"'&#:/=- \nabjavscript", max_size=200))
def test_no_text_ever_makes_a_tag_that_is_not_on_the_list(text):
    assert_harmless(markdown(text))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 2_500,
        "![" * 1_250,
        ">" * 2_500,
        "- " * 1_500,
        "*a " * 10_000,
        "`" * 5_000,
        "[" * 1_000_000,
        "|" * 4_500,
    ],
    ids=["brackets", "images", "quotes", "lists", "stars", "ticks", "huge", "bars"],
)
def test_the_work_for_nested_and_huge_text_grows_linearly(text):
    assert count_calls(markdown, text * 2) <= 3 * count_calls(markdown, text)


def test_a_text_that_is_too_large_is_shown_in_full_as_plain_text():
    text = "<b>" + "word " * 50_000
    assert markdown(text) == f"<pre>&lt;b&gt;{'word ' * 50_000}</pre>"


def test_a_full_cache_evicts_the_oldest_entry():
    cache = _Cache(10)
    cache.put(b"a", "12345")
    cache.put(b"b", "12345")
    assert cache.get(b"a") == "12345"
    cache.put(b"c", "12345")
    assert cache.get(b"b") is None
    assert cache.get(b"a") == "12345"
    cache.put(b"d", "x" * 50)
    assert cache.get(b"d") is None


def test_headings_of_a_message_are_below_those_of_the_page():
    assert markdown("# A\n\n## B\n\n###### C") == "<h4>A</h4>\n<h5>B</h5>\n<h6>C</h6>\n"


def test_no_level_of_headings_is_skipped():
    assert markdown("### A\n\n###### B\n\n### C\n\n# D") == "<h4>A</h4>\n<h5>B</h5>\n<h4>C</h4>\n<h4>D</h4>\n"
    assert markdown("## A\n\n# B\n\n## C") == "<h4>A</h4>\n<h4>B</h4>\n<h5>C</h5>\n"
