"""Templates, style sheets and scripts: no inline code, no foreign hosts, sizes, CSS class names."""

import ast
import re
from collections import Counter

import pytest

from tests.architecture.tree import ASSETS, CODE, TEMPLATES, chain, name_of, nodes

MARKUP = "dashboard/rendering/markdown.py"
MARKS = {"mark_safe", "SafeString", "SafeText", "html_safe"}
MAX_SCRIPT, MAX_COLUMNS, MAX_ENTRIES = 100, 120, 13


def test_text_becomes_markup_in_one_module_only():
    wrong = [
        f"{name_of(file)}:{node.lineno} {chain(node)[-1]}"
        for file in CODE
        if name_of(file) != MARKUP
        for node in nodes(file)
        if isinstance(node, ast.Call) and chain(node) and chain(node)[-1] in MARKS
    ]
    wrong += [
        f"{name_of(file)}: {found}"
        for file in TEMPLATES
        for found in re.findall(r"\|\s*(?:safe|safeseq)\b|\{%\s*autoescape\s+off", file.read_text())
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"<style\b",
        r"<script\b(?![^>]*\bsrc=)",
        r"\sstyle\s*=",
        r"\son[a-z]+\s*=",
        r"\bhx-on\b",
        r"\bhx-vals\s*=\s*[\"']js:",
        r"javascript:",
        r"\b(?:src|href)\s*=\s*[\"'](?:https?:)?//",
    ],
)
def test_templates_have_no_inline_code_and_load_nothing_from_other_hosts(pattern):
    wrong = [
        f"{name_of(file)}: {found.group()}"
        for file in TEMPLATES
        for found in re.finditer(pattern, file.read_text(), re.I)
    ]
    assert wrong == []


def test_no_line_of_a_template_a_style_sheet_or_a_script_is_too_long():
    assert TEMPLATES
    assert {file.suffix for file in ASSETS} == {".css", ".js"}
    long = [
        f"{name_of(file)}:{number}: {len(line)}"
        for file in [*TEMPLATES, *ASSETS]
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if len(line) > MAX_COLUMNS
    ]
    assert long == []


def test_no_script_is_too_long():
    scripts = [file for file in ASSETS if file.suffix == ".js"]
    assert [name_of(file) for file in scripts if file.read_text().count("\n") > MAX_SCRIPT] == []


def test_no_folder_of_templates_or_assets_has_too_many_files():
    held = Counter(name_of(file.parent) for file in [*TEMPLATES, *ASSETS])
    assert [f"{folder}: {n}" for folder, n in held.items() if n > MAX_ENTRIES] == []


def test_css_classes_are_words_and_not_abbreviations():
    """Parts of a name with fewer than three letters are abbreviations, but for a few words."""
    words = {"as", "at", "id", "is", "no", "of", "ok", "x"}
    tag = re.compile(r"\{%.*?%\}|\{\{.*?\}\}")
    short = [
        f"{name_of(file)}: {name}"
        for file in TEMPLATES
        for value in re.findall(r'\bclass="((?:\{%.*?%\}|\{\{.*?\}\}|[^"])*)"', file.read_text(), re.S)
        for name in tag.sub(" ", value).split()
        if any(len(part) < 3 and part not in words for part in re.findall(r"[a-z]+", name))
    ]
    assert short == []
