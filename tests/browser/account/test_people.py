"""Two people in two browsers: invite, join, a role changed while pages are open, and the removal."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.build import agent_start
from tests.support.wait import until

pytestmark = pytest.mark.slow
PASSWORD = "correct horse battery"


def test_an_invited_person_joins_is_promoted_and_removed_while_pages_are_open(window, server):
    server.agent().send(agent_start("s.a.1"))
    mine, theirs = window(), window(state=None)
    members = mine.open("/p/default/settings/members")
    members.locator(".invite-form select").select_option("viewer")
    members.get_by_role("button", name="Make an invite link").click()
    link = members.locator(".new-link").inner_text()
    assert re.fullmatch(rf"{server.url}/join/[\w-]{{43}}", link)

    page = theirs.open(link.removeprefix(server.url))
    page.get_by_label("User name").fill("carol")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Create an account and join").click()
    page.wait_for_url("**/p/default/sessions*")
    expect(page.locator("[data-connection]")).to_have_attribute("data-connection", "live")

    theirs_settings = theirs.open("/p/default/settings/members")
    expect(theirs_settings.get_by_text("you", exact=True)).to_be_visible()
    assert theirs_settings.get_by_role("button", name="Make an invite link").count() == 0
    members = mine.open("/p/default/settings/members")
    members.get_by_label("Role of carol").select_option("admin")
    members.get_by_role("button", name="Change the role of carol").click()
    theirs_settings.reload()
    expect(theirs_settings.get_by_role("button", name="Make an invite link")).to_be_visible()

    page = theirs.open("/p/default/sessions")
    expect(page.locator("[data-connection]")).to_have_attribute("data-connection", "live")
    members = mine.open("/p/default/settings/members")
    members.get_by_role("button", name="Remove carol").click()
    members.get_by_label("Type carol to confirm").fill("carol")
    members.get_by_role("button", name="Remove", exact=True).click()
    expect(members.get_by_text("carol", exact=True)).to_have_count(0)
    expect(page.locator("[data-connection]")).not_to_have_attribute("data-connection", "live")
    until(lambda: page.goto(f"{server.url}/p/default/sessions").status == 404, "the removed person reads on")
