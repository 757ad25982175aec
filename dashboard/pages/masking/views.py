"""Views of a project's masking rules, for its admins.

Each form works without scripts. Changes answer a redirect; tests and dry runs answer the page with what they
found, and are forms because the text that is tested may have secrets, which do not belong into addresses.
"""

from __future__ import annotations

from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.masking import queries
from dashboard.pages.masking.params import Draft, draft_of
from dashboard.security.access import member, require, rights
from dashboard.security.actor import actor_of
from dashboard.web import links
from recorder.access.rights import Right
from recorder.masking import project_rules, trial
from recorder.masking.catalogue import BY_NAME
from recorder.masking.masker import Masker
from recorder.masking.matcher import OwnPattern, compile_rules, own_rule
from recorder.masking.regex import BadPattern
from recorder.masking.rule import Rule
from recorder.models import Project
from recorder.operations.masking import rules as masking_rules
from recorder.operations.masking.rules import BadName

# The name of a pattern that is tried before it has one.
UNNAMED = "pattern"


@require_safe
@never_cache
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the rules."""
    require(request, project, Right.CHANGE_SETTINGS)
    return _page(request, project)


@require_POST
@member
def switch_rule(request: HttpRequest, project: Project) -> HttpResponse:
    """Switch a rule of ours."""
    require(request, project, Right.CHANGE_SETTINGS)
    name = request.POST.get("name", "")
    if not masking_rules.switch_rule(project, name, actor_of(request), is_on=_is_on(request)):
        raise Http404
    return _back(project, f"rule-{name}")


@require_POST
@never_cache
@member
def add_pattern(request: HttpRequest, project: Project) -> HttpResponse:
    """Add a pattern of the project's own."""
    require(request, project, Right.CHANGE_SETTINGS)
    draft = draft_of(request.POST)
    try:
        masking_rules.add_pattern(project, draft.name, draft.pattern, actor_of(request))
    except BadPattern as error:
        return _page(request, project, replace(draft, pattern_error=str(error)), status=400)
    except ValueError as error:
        return _page(request, project, replace(draft, name_error=str(error)), status=400)
    return _back(project, f"rule-{draft.name}")


@require_POST
@member
def switch_pattern(request: HttpRequest, project: Project) -> HttpResponse:
    """Switch a pattern of the project's own."""
    require(request, project, Right.CHANGE_SETTINGS)
    name = request.POST.get("name", "")
    masking_rules.switch_pattern(project, name, actor_of(request), is_on=_is_on(request))
    return _back(project, f"rule-{name}")


@require_POST
@member
def remove_pattern(request: HttpRequest, project: Project) -> HttpResponse:
    """Remove a pattern of the project's own."""
    require(request, project, Right.CHANGE_SETTINGS)
    masking_rules.remove_pattern(project, request.POST.get("name", ""), actor_of(request))
    return _back(project, "own")


@require_POST
@never_cache
@member
def test(request: HttpRequest, project: Project) -> HttpResponse:
    """Show how a text would be stored, by the saved rules and the pattern of the form if there is one."""
    require(request, project, Right.CHANGE_SETTINGS)
    draft = draft_of(request.POST)
    rules = project_rules.load(project.pk)
    if draft.pattern:
        try:
            own = _own_pattern(draft)
        except BadPattern as error:
            return _page(request, project, replace(draft, pattern_error=str(error)), status=400)
        others = tuple(each for each in rules.patterns if each.name != own.name)
        rules = replace(rules, patterns=(*others, own))
    masker = Masker(compile_rules(rules), project_rules.key_of(project.pk))
    return _page(request, project, draft, stored=trial.stored_text(masker, draft.text))


@require_POST
@never_cache
@member
def dry_run(request: HttpRequest, project: Project) -> HttpResponse:
    """Count what a rule, or the pattern of the form, matches in the newest recorded lines."""
    require(request, project, Right.CHANGE_SETTINGS)
    draft = draft_of(request.POST)
    try:
        rule = _rule(project, request.POST.get("rule", ""), draft)
    except BadPattern as error:
        return _page(request, project, replace(draft, pattern_error=str(error)), status=400)
    lines = queries.newest_lines(project)
    found = trial.dry_run(rule, project_rules.key_of(project.pk), lines)
    return _page(request, project, draft, tried=rule.name, found=found)


def _rule(project: Project, name: str, draft: Draft) -> Rule:
    """Return the rule that a dry run names, or the drafted one. Raises BadPattern, Http404."""
    if not name:
        return own_rule(_own_pattern(draft))
    if name in BY_NAME:
        return BY_NAME[name]
    own = next((own for own in project_rules.load(project.pk).patterns if own.name == name), None)
    if own is None:
        raise Http404
    return own_rule(own)


def _own_pattern(draft: Draft) -> OwnPattern:
    """Return the pattern of the form under its name, if it may have it. Raises BadPattern."""
    try:
        masking_rules.check_name(draft.name)
    except BadName:
        own = OwnPattern(UNNAMED, draft.pattern)
    else:
        own = OwnPattern(draft.name, draft.pattern)
    own_rule(own)
    return own


def _is_on(request: HttpRequest) -> bool:
    return request.POST.get("on") == "1"


def _back(project: Project, place: str) -> HttpResponse:
    return redirect(reverse("masking", args=[project.slug]) + f"#{place}")


def _page(
    request: HttpRequest,
    project: Project,
    draft: Draft | None = None,
    *,
    stored: trial.StoredText | None = None,
    tried: str = "",
    found: trial.DryRun | None = None,
    status: int = 200,
) -> HttpResponse:
    shown = {
        "project": project,
        "page": "settings",
        "ws_url": links.live(project.slug, "masking"),
        "may": rights(request.user, project),
        "rules": queries.rules(project),
        "draft": draft or Draft(),
        "stored": stored,
        "tried": tried,
        "found": found,
        "lines_max": queries.LINES_MAX,
        "megabytes_max": queries.BYTES_MAX // 1024**2,
        "line_kilobytes": queries.LINE_BYTES // 1024,
        "patterns_max": project_rules.PATTERNS_MAX,
    }
    return render(request, "masking/index.html", shown, status=status)
