"""The table of rights: roles in ascending order, scopes of tokens, and the document about them."""

import re
from pathlib import Path

import pytest

from recorder.access import tokens
from recorder.access.rights import RIGHTS, SCOPES, Right, Role, role_has, token_has

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "roles.md"


def test_every_right_has_a_row():
    assert set(RIGHTS) == set(Right)


def test_a_role_has_every_right_of_the_roles_below():
    held = [{right for right in Right if role_has(role, right)} for role in Role]

    assert held[0] < held[1] < held[2]
    assert held[0] == {Right.READ}
    assert held[2] == set(Right) - {Right.INGEST}
    assert not any(role_has(None, right) for right in Right)


def test_a_token_reads_as_a_viewer_or_writes():
    held = {scope: {right for right in Right if token_has(scope, right)} for scope in SCOPES}

    assert held == {"ingest": {Right.INGEST, Right.WRITE_NOTES}, "read": {Right.READ}}
    assert all(not token_has(scopes, right) for scopes in ("", "demo", "admin") for right in Right)
    assert token_has("ingest,read,demo", Right.READ)


@pytest.mark.django_db
def test_a_token_is_issued_for_the_scopes_of_the_table(project):
    tokens.issue(project, "t", SCOPES)
    with pytest.raises(ValueError, match="scopes are ingest and read"):
        tokens.issue(project, "t", ["admin"])


def test_the_document_has_the_table():
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|(.*)\|([^|]*)\|$", DOCUMENT.read_text(), re.MULTILINE)
    documented = [(name, re.findall(r"yes|no", roles), scopes.strip()) for name, roles, scopes in rows]

    assert documented == [
        (
            right.value,
            ["yes" if role_has(role, right) else "no" for role in Role],
            ", ".join(f"`{scope}`" for scope in SCOPES if token_has(scope, right)),
        )
        for right in Right
    ]
