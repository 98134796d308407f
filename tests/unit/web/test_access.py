from __future__ import annotations

import pytest

from shoal.local.runs import Run
from shoal.web.access import Door
from tests.unit.cli.test_run_commands import ended

PATHS = [
    "/",
    "/events?since=0",
    "/jobs/train",
    "/jobs/train/logs",
    "/models",
    "/api/jobs",
    "/api/jobs/train",
    "/nowhere",
]
ACTIONS = ["/jobs/train/stop", "/jobs/train/resume", "/jobs/train/scale", "/jobs/train/remove", "/theme"]


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_told_to_a_stranger(stranger, path):
    ended("train")
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "train" not in answer.text


@pytest.mark.parametrize("path", ACTIONS)
def test_a_stranger_changes_nothing(stranger, path):
    run = ended("train")
    assert stranger.post(path, headers={"Origin": "http://127.0.0.1:8000"}).status_code == 403
    assert run.exists


@pytest.mark.parametrize("token", ["", "guess", "é"])
def test_a_wrong_token_opens_nothing(stranger, door, token):
    answer = stranger.get("/open", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert stranger.get("/").status_code == 403


def test_a_token_opens_one_browser_and_is_then_used_up(stranger):
    told = []
    door = Door(8000, lambda: told.append(door.token))
    first = door.token
    session = door.open(first)
    assert session
    assert told == [door.token]
    assert door.open(first) is None
    assert door.open(told[0]) not in (None, session)


def test_the_cookie_is_for_this_site_and_no_script(stranger, door):
    cookie = stranger.get(f"/open?token={door.token}").headers["set-cookie"].lower()
    assert cookie.startswith("shoal-8000=")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://127.0.0.1:8001",
        "http://localhost:8000",
        "null",
        "http://127.0.0.1:8000.evil.example",
    ],
)
@pytest.mark.parametrize("path", ACTIONS)
def test_another_site_cannot_act(browser, path, origin):
    run = ended("train")
    assert browser.post(path, headers={"Origin": origin}).status_code == 403
    assert run.exists


def test_who_does_not_say_where_from_cannot_act(browser):
    run = ended("train")
    del browser.headers["Origin"]
    assert browser.post("/jobs/train/remove").status_code == 403
    assert browser.post("/jobs/train/remove", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert run.exists
    assert browser.post("/jobs/train/remove", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303
    assert not run.exists


def test_a_link_removes_nothing(browser):
    run = ended("train")
    for path in ACTIONS:
        browser.get(path)
    assert run.exists


def test_another_name_for_this_machine_is_refused(browser):
    answer = browser.get("/", headers={"Host": "evil.example:8000"})
    assert answer.status_code == 400


@pytest.mark.parametrize("path", ["/", "/nowhere", "/open", "/static/shoal.css"])
def test_pages_run_no_script_but_the_dashboards_own(browser, path):
    answer = browser.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert " style=" not in answer.text
    assert "<script>" not in answer.text


def test_no_page_has_the_token_or_the_session(browser, door):
    ended("train")
    secrets = [door.token, *browser.cookies.values()]
    for path in ("/", "/jobs/train", "/models", "/api/jobs"):
        assert not any(secret in browser.get(path).text for secret in secrets)


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example", "/\\evil.example", ""])
def test_the_switch_leads_nowhere_else(browser, back):
    answer = browser.post("/theme", data={"theme": "dark", "back": back})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert 'data-theme="dark"' in browser.get("/").text
    assert browser.post("/theme", data={"theme": "<b>"}).status_code == 400


def test_runs_are_not_made_by_looking(browser):
    assert browser.get("/jobs/absent").status_code == 404
    assert not Run("absent").exists
