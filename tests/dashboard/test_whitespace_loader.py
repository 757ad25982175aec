"""The template loader removes the whitespace of the layout and nothing else."""

from pathlib import Path

import pytest
from django.template import engines

from dashboard.web.whitespace_loader import condense

ROOT = Path(__file__).parents[2] / "templates"


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("<dl>\n  <dt>Loops</dt>\n  <dd>7</dd>\n</dl>\n", "<dl><dt>Loops</dt><dd>7</dd></dl>"),
        ("<b> {{ n }} </b>", "<b>{{ n }}</b>"),
        ("{% if a %}\n  <b>x</b>\n{% else %}\n  y\n{% endif %}", "{% if a %}<b>x</b>{% else %}y{% endif %}"),
        ("{% load x %}\n{% icon 'a' %} {% icon 'b' %}\n", "{% load x %}{% icon 'a' %}{% icon 'b' %}"),
        ("<img src=a>\n<br>\n<i>x</i>", "<img src=a><br><i>x</i>"),
    ],
)
def test_whitespace_between_tags_and_at_inside_edges_is_removed(written, sent):
    assert condense(written) == sent


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("one\n    two", "one two"),
        ("one  two", "one  two"),
        ("spawned by\n  <b>x</b> now", "spawned by <b>x</b> now"),
        ("<b>x</b>\n  then {% cost a %}\n  more", "<b>x</b> then {% cost a %} more"),
        ("{{ a }}\n{{ b }}", "{{ a }} {{ b }}"),
        ("a{% if x %}b{% endif %} c", "a{% if x %}b{% endif %} c"),
        ("3 < 4\n<b>x</b>", "3 < 4 <b>x</b>"),
    ],
)
def test_line_breaks_in_text_become_one_space(written, sent):
    assert condense(written) == sent


@pytest.mark.parametrize("space", ['{{ " " }}', "{{ ' ' }}", '{{" "}}'])
def test_an_explicit_space_is_one_space(space):
    assert condense(f"<b>x</b>\n{space}\n<i>y</i>") == "<b>x</b> <i>y</i>"
    assert condense(f"{{% if a %}},{space}{{% endif %}}") == "{% if a %}, {% endif %}"


@pytest.mark.parametrize(
    "content",
    [
        "<pre>\n  a\n\n  {{ b }} </pre>",
        "<textarea>\n {{ a }}\n</textarea>",
        "{% verbatim %} {{ a }}\n {% endverbatim %}",
        '<script src="a"> </script>',
    ],
)
def test_preformatted_content_is_unchanged(content):
    assert condense(f"<div>\n  {content}\n</div>") == f"<div>{content}</div>"


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ('<a\n  class="x"\n  href="y"\n>z</a>', '<a class="x" href="y">z</a>'),
        ('<a {% if x %}rel="next"{% endif %}>z</a>', '<a{% if x %} rel="next"{% endif %}>z</a>'),
        ("<a {% if x %}b{% else %}c{% endif %} d>z</a>", "<a{% if x %} b{% else %} c{% endif %} d>z</a>"),
        ('<a{% if x %} b{% endif %}d="">z</a>', '<a{% if x %} b{% endif %} d="">z</a>'),
        ('<use href="a" />', '<use href="a"/>'),
        ("<a title='say \"{{ x }}\"'>z</a>", "<a title='say \"{{ x }}\"'>z</a>"),
        ('<a title="{% if a > b %}x{% endif %}">z</a>', '<a title="{% if a > b %}x{% endif %}">z</a>'),
    ],
)
def test_attributes_are_separated_by_one_space(written, sent):
    assert condense(written) == sent


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ('class="\n  tool\n  {% if a %} is-err{% endif %}\n"', 'class="tool{% if a %} is-err{% endif %}"'),
        ('href="{{ a }}?b\n  {% if c %}&amp;d{% endif %}"', 'href="{{ a }}?b{% if c %}&amp;d{% endif %}"'),
        ('title="one,\n  {{ two }}"', 'title="one, {{ two }}"'),
        ('placeholder=" a  b "', 'placeholder=" a  b "'),
    ],
)
def test_a_line_break_in_a_value_is_removed_beside_a_tag_and_else_a_space(written, sent):
    assert condense(f"<a {written}>z</a>") == f"<a {sent}>z</a>"


def test_comments_are_not_sent():
    assert condense("<p>{# why #}x</p>\n<!-- {{ a }} -->\n<p>y</p>") == "<p>x</p><p>y</p>"


def test_every_template_is_condensed_and_compiles():
    for file in ROOT.rglob("*.html"):
        template = engines["django"].get_template(file.relative_to(ROOT).as_posix()).template
        assert template.source == condense(file.read_text())
        assert "\n" not in template.source
