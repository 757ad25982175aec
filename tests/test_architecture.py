"""The rules of the house that no linter knows. A failure names the file, the line and the rule."""

import ast
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import grimp
import pytest
from django.apps import apps
from django.urls import reverse

from dashboard.pages.registry import LIVE_PAGES, PAGES
from tests.browser import pages as browser_pages

ROOT = Path(__file__).resolve().parent.parent
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
FILES = [ROOT / name for name in TRACKED.stdout.splitlines() if (ROOT / name).is_file()]

OURS = [
    file
    for file in FILES
    if file.suffix == ".py" and file.is_relative_to(ROOT) and "migrations" not in file.parts
]
ASSETS = [file for file in FILES if file.suffix in {".css", ".js"} and "vendor" not in file.parts]
CODE = [file for file in OURS if file.relative_to(ROOT).parts[0] in {"recorder", "dashboard"}]
TEMPLATES = [
    file
    for file in FILES
    if file.suffix == ".html" and file.relative_to(ROOT).parts[:2] == ("dashboard", "templates")
]

# Records are written by the store, with their sums; lines by the journal. Neither prices nor insights, nor
# what the clock knows of its jobs, are records. The past is told in tables of its own, gone once it was seen.
WRITERS = {
    "recorder/projection/as_of/overlay.py",
    "recorder/projection/store.py",
    "recorder/pricing/rollups.py",
    "recorder/journal/append.py",
    "recorder/pricing/price_book.py",
    "recorder/pricing/backfill.py",
    "recorder/operations/scheduler.py",
    "recorder/operations/retention.py",
    "recorder/operations/retention_pins.py",
    "recorder/insights/store.py",
}
# The SQL they share; no other module may use its functions that write.
SQL, ROW_MAPPER = "recorder/database/sql.py", "recorder/database/row_mapper.py"
WRITING_SQL_FUNCTIONS = {"insert", "insert_all", "write"}
# Who may come in is not a record of what happened: these are written where access is given or taken.
ACCESS = {"Project", "Membership", "AccessToken", "SignInLink", "Seen", "Mute"}
RECORDS = {model.__name__ for model in apps.get_app_config("recorder").get_models()} - ACCESS
WRITES = {
    "save",
    "create",
    "bulk_create",
    "bulk_update",
    "update",
    "update_or_create",
    "get_or_create",
    "delete",
}
RELATED = {
    relation.get_accessor_name()
    for model in apps.get_app_config("recorder").get_models()
    if model.__name__ in RECORDS
    for relation in model._meta.related_objects
}
WRITING_SQL = re.compile(
    r"\s*(INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|REPLACE\s+INTO)\b", re.I
)
WRITES |= {"a" + name for name in WRITES}

# Reads stand in a page's queries; what two pages ask for stands in a module of its own.
SHARED_READERS = {
    "dashboard/security/access.py",
    "dashboard/shared/attention.py",
    "dashboard/shared/config_labels.py",
    "dashboard/shared/costs.py",
    "dashboard/shared/session_filter.py",
    "dashboard/live/streaming_text.py",
}
# The session page has a folder a region; the modules of a region that read.
SESSION_READERS = {
    "conversation": {
        "approvals_query",
        "calls_query",
        "folded_calls_query",
        "lines_query",
        "turns_query",
        "window",
    },
    "events": {"lookup", "loop_json"},
    "header": {"integrity", "loop", "session"},
    "replay": {"moment"},
    "timeline": {"spans_query"},
    "tree": {"group_costs", "row_facts", "rows", "structure", "sub_agents_query"},
}
MARKUP = "dashboard/rendering/markdown.py"
MARKS = {"mark_safe", "SafeString", "SafeText", "html_safe"}
MAX_LINES, MAX_FUNCTION = 350, 40  # hard limits; aim for 200 and 10
MAX_SCRIPT, MAX_COLUMNS, MAX_ENTRIES = 100, 120, 13
# Lists of declarations that mirror one another or the protocol, and are looked up, not read through.
CATALOGUES = {"recorder/models/records.py", "recorder/core/records.py", "recorder/core/events/__init__.py"}


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def nodes(file: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(file.read_text(), filename=str(file)))


def may_read(file: Path) -> bool:
    return (
        "queries" in {file.stem, file.parent.name}
        or name_of(file) in SHARED_READERS
        or ("pages/session" in name_of(file) and file.stem in SESSION_READERS.get(file.parent.name, ()))
        or "commands" in file.parts
    )


def chain(node: ast.AST) -> list[str]:
    """Return the names of `a.b(...).c`, from the left."""
    match node:
        case ast.Attribute():
            return [*chain(node.value), node.attr]
        case ast.Call():
            return chain(node.func)
        case ast.Subscript():
            return chain(node.value)
        case ast.Name():
            return [node.id]
        case _:
            return []


def record_writes(source: str) -> Iterator[tuple[int, str]]:
    """Return line and form of each write of a record: through a model, a related manager or SQL."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
            owners = chain(node.func)[:-1]
            if owners and (owners[0] in RECORDS or RELATED & set(owners)):
                yield node.lineno, ".".join([*owners, node.func.attr])
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and WRITING_SQL.match(node.value):
            yield node.lineno, "SQL"


def test_there_is_something_to_hold_to_the_rules():
    assert len(CODE) > 10
    assert TEMPLATES
    assert {"LoopRecord", "Session", "JournalEvent"} <= RECORDS


def test_only_the_store_and_the_journal_write_records():
    wrong = [
        f"{name_of(file)}:{line} {form}"
        for file in CODE
        if name_of(file) not in WRITERS | {SQL}
        for line, form in record_writes(file.read_text())
    ]
    assert wrong == []


def test_only_the_store_and_the_journal_take_the_sql_that_writes():
    wrong = [
        f"{name_of(file)}:{node.lineno}"
        for file in CODE
        if name_of(file) not in WRITERS | {SQL, ROW_MAPPER}
        for node in nodes(file)
        if (
            isinstance(node, ast.Attribute)
            and chain(node)[:1] == ["sql"]
            and node.attr in WRITING_SQL_FUNCTIONS
        )
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "recorder.database.sql"
            and WRITING_SQL_FUNCTIONS & {alias.name for alias in node.names}
        )
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "line",
    [
        'Session.objects.filter(pk=1).update(title="")',
        "session.loop_records.all().delete()",
        "await LoopRecord.objects.acreate(loop_id=name)",
        'cursor.execute("DELETE FROM recorder_turn")',
    ],
)
def test_a_write_in_any_form_is_seen(line):
    assert len(list(record_writes(f"async def page():\n    {line}\n"))) == 1


def test_dashboard_reads_through_the_orm_only_in_queries():
    wrong = [
        f"{name_of(file)}:{node.lineno}"
        for file in CODE
        if file.relative_to(ROOT).parts[0] == "dashboard" and not may_read(file)
        for node in nodes(file)
        if isinstance(node, ast.Attribute) and node.attr in {"objects", "_default_manager", "_base_manager"}
    ]
    assert wrong == []


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
def test_templates_hold_nothing_inline_and_load_nothing_foreign(pattern):
    wrong = [
        f"{name_of(file)}: {found.group()}"
        for file in TEMPLATES
        for found in re.finditer(pattern, file.read_text(), re.I)
    ]
    assert wrong == []


def circle(imports: dict[str, set[str]]) -> set[str]:
    """Return the modules that import one another in a circle, and those between two circles.

    A module that imports nothing is on no circle, nor is one that nothing imports: take these away, again and
    again, and what is left is on one or between two.
    """
    left = {name: set(imported) for name, imported in imports.items()}
    while True:
        imported = set().union(*left.values())
        ends = {name for name, needs in left.items() if not needs or name not in imported}
        if not ends:
            return set(left)
        left = {name: needs - ends for name, needs in left.items() if name not in ends}


def test_no_modules_import_one_another_in_a_circle():
    packages = ("recorder", "dashboard", "loopscope_client")
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)

    assert circle({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}) == set()


def test_a_circle_of_imports_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == {"a", "b", "c"}


def test_every_module_says_what_it_is():
    wrong = [
        name_of(file)
        for file in OURS
        if (text := file.read_text()) and not ast.get_docstring(ast.parse(text))
    ]
    assert wrong == []


def test_no_file_and_no_function_is_too_long():
    long = [
        f"{name_of(file)}: {n}"
        for file in CODE
        if name_of(file) not in CATALOGUES and (n := file.read_text().count("\n")) > MAX_LINES
    ]
    long += [
        f"{name_of(file)}:{node.lineno} {node.name}: {n}"
        for file in CODE
        for node in nodes(file)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (n := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION
    ]
    assert long == []


def folders(path: str) -> set[str]:
    """Return the folders in `path` that have tracked files."""
    inside = ROOT / path
    return {file.relative_to(inside).parts[0] for file in FILES if file.is_relative_to(inside)} - {
        file.name for file in FILES if file.parent == inside
    }


def test_every_page_is_registered_with_its_folder_templates_and_tests():
    names = {page.name for page in PAGES}

    assert folders("dashboard/pages") == names | {"account"}  # which no project has
    assert {page.templates for page in PAGES if page.templates} <= folders("dashboard/templates")
    assert names <= folders("tests/dashboard/pages")
    assert {page.name for page in PAGES if page.templates} <= set(browser_pages.PAGES)


def test_every_page_that_shows_something_is_reached_and_no_key_and_no_socket_is_two():
    keys = [page.link.key for page in PAGES if page.link and page.link.key]
    fixed = re.findall(r'\["Everywhere", "([^"]+)"', (ROOT / "dashboard/static/js/shell/keys.js").read_text())
    live = [name for page in PAGES for name in page.live]

    assert [page.name for page in PAGES if page.link and not reverse(page.name, args=["a"])] == []
    assert len({*keys, *fixed}) == len(keys) + len(fixed) > 8
    assert len(set(live)) == len(live) == len(LIVE_PAGES)


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


def test_no_folder_of_templates_or_assets_holds_too_many_files():
    held = Counter(name_of(file.parent) for file in [*TEMPLATES, *ASSETS])
    assert [f"{folder}: {n}" for folder, n in held.items() if n > MAX_ENTRIES] == []


def test_every_class_of_a_template_is_written_out_in_words():
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


def test_no_module_is_named_after_nothing():
    vague = {
        "utils",
        "util",
        "helpers",
        "helper",
        "manager",
        "managers",
        "service",
        "services",
        "common",
        "misc",
    }
    assert [name_of(file) for file in CODE if file.stem in vague] == []


def test_what_is_installed_is_above_the_floors_of_safety():
    assert tuple(map(int, version("daphne").split("."))) >= (4, 2, 2)
    assert tuple(map(int, version("django").split("."))) >= (5, 2, 11)


def test_every_dependency_is_pinned_to_a_version_and_to_nothing_else():
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    assert [pin for pin in pins if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9A-Za-z.]*", pin)] == []

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = declared["project"], declared["dependency-groups"]
    asked = [
        *declared["build-system"]["requires"],
        *project["dependencies"],
        *(one for named in (project["optional-dependencies"] | groups).values() for one in named),
    ]
    named = {re.match(r"[a-z0-9-]+", one).group() for one in asked}
    assert named - {pin.split("==")[0] for pin in pins} == set()


def test_tracked_files_name_no_registry_and_no_place_on_a_machine():
    hosts = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "crates" + ".io", "golang" + ".org"]
    places = ["/" + "root/", "/" + "work/", "/tmp/" + "team"]
    known = re.compile("|".join(map(re.escape, hosts + places)).encode())
    wrong = [
        f"{name_of(file)}: {found.group().decode()}"
        for file in FILES
        if file.suffix not in {".png", ".woff2"}
        for found in known.finditer(file.read_bytes())
    ]
    assert wrong == []
