"""Vendored files match their checksums; our own assets follow the rules for CSS and scripts."""

import hashlib
import re
from pathlib import Path

import pytest
from django.core.files.base import ContentFile

from dashboard.web.static_files import HashedFiles

STATIC = Path(__file__).resolve().parents[3] / "static"
LISTED = dict(re.findall(r"`([\w./-]+)` \| `([0-9a-f]{64})`", (STATIC / "VENDOR.md").read_text()))
SHEETS = sorted((STATIC / "css").rglob("*.css"))


def test_three_files_are_listed_with_their_sum():
    assert len(LISTED) == 3


@pytest.mark.parametrize("name", LISTED)
def test_a_vendored_file_has_the_listed_checksum(name):
    assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == LISTED[name]


def test_every_icon_of_the_templates_is_in_the_sprite():
    symbols = set(re.findall(r'id="([\w-]+)"', (STATIC / "icons.svg").read_text()))
    templates = STATIC.parent / "templates"
    drawn = {
        name
        for file in templates.rglob("*.html")
        for name in re.findall(r'{% icon "([\w-]+)"', file.read_text())
    }
    assert drawn
    assert {f"i-{name}" for name in drawn} <= symbols


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_a_style_sheet_has_no_important_no_ids_and_no_imports(sheet):
    css = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.S)

    assert "!important" not in css
    assert "@import" not in css
    assert not re.search(r"url\((?!\"(?:(?:\.\./)+|#))", css)  # of ours, or a part of the page
    assert not re.search(r"(?:^|[\s,}])#[a-z][\w-]*\s*[{,.:>]", css)
    assert css.count("{") == css.count("}")


def test_repeating_gradients_are_mixed_in_srgb():
    """Firefox repeats hard edges between oklch colours at wrong positions unless they are mixed in sRGB."""
    sheets = "".join(sheet.read_text() for sheet in SHEETS)
    repeating = re.findall(r"repeating-[a-z]+-gradient\([^,]*", sheets)

    assert repeating
    assert all(begin.endswith(" in srgb") for begin in repeating)


def hashed(folder, scripts):
    """Return the names of the hashed scripts, by their own names, written to `folder`."""
    storage = HashedFiles(location=folder, base_url="/static/")
    for name, text in scripts.items():
        storage.save(name, ContentFile(text))
    processed = storage.post_process({name: (storage, name) for name in scripts})
    return {name: new for name, new, _ in processed if new.endswith(".js")}  # not those compressed


def test_a_script_is_minified_and_imports_others_by_their_hashed_names(tmp_path):
    scripts = {
        "js/one.js": '// One.\nimport { a } from "./two.js";\nimport("./two.js");\n',
        "js/two.js": "export const a = 1;\n",
        "js/page/three.js": 'import { a } from "../two.js";\nimport("../one.js");\n',
    }

    names = hashed(tmp_path, scripts)

    one, two = (names[f"js/{name}.js"].removeprefix("js/") for name in ("one", "two"))
    assert re.fullmatch(r"two\.[0-9a-f]{12}\.js", two)
    assert (tmp_path / names["js/one.js"]).read_text() == f'import{{a}}from"./{two}";import("./{two}");'
    assert (
        tmp_path / names["js/page/three.js"]
    ).read_text() == f'import{{a}}from"../{two}";import("../{one}");'


def test_no_script_of_ours_imports_another_by_a_name_without_hash(tmp_path):
    """Such a module runs twice on a page that also loads it by its hashed name, and the two disagree."""
    scripts = {
        str(path.relative_to(STATIC)): path.read_bytes() for path in sorted((STATIC / "js").rglob("*.js"))
    }

    names = hashed(tmp_path, scripts)

    imported = [
        url for new in names.values() for url in re.findall(r'"(\.[^"]*\.js)"', (tmp_path / new).read_text())
    ]
    assert len(imported) > 20
    assert [url for url in imported if not re.search(r"\.[0-9a-f]{12}\.js$", url)] == []
