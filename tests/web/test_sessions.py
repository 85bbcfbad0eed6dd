"""Who may see and send what: logins, forms of other sites, submissions of others."""

import re

import pytest

from judge.store.accounts import list_tokens
from judge.web.sessions import FORM_COOKIE, TOKEN_COOKIE
from tests.unit.reports.samples import make_report


def log_in(site, token, **fields):
    return site.post("/login", token=token, **fields)


def test_without_a_login_a_page_leads_to_it_and_back(strict_site):
    answer = strict_site.get("/submissions?problem=gqa-decode", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=%2Fsubmissions%3Fproblem%3Dgqa-decode"
    done = log_in(strict_site, strict_site.token(), next="/submissions?problem=gqa-decode")
    assert done.headers["location"] == "/submissions?problem=gqa-decode"
    assert strict_site.get("/submissions").status_code == 200


def test_the_token_is_kept_where_no_script_and_no_other_site_gets_at_it(strict_site):
    answer = log_in(strict_site, strict_site.token())
    cookies = {line.partition("=")[0]: line.lower() for line in answer.headers.get_list("set-cookie")}
    assert "httponly" in cookies[TOKEN_COOKIE]
    assert "samesite=lax" in cookies[TOKEN_COOKIE]


def test_a_judge_without_login_asks_for_no_token(site, strict_site):
    assert "asks for no token" in site.get("/login").text
    assert "This judge asks for a token" in strict_site.get("/login").text


@pytest.mark.parametrize("text", ["", "kj_" + "x" * 43, "' OR 1=1 --", "é" * 50, "\0"])
def test_a_bad_token_is_no_login(strict_site, text):
    answer = log_in(strict_site, text)
    assert answer.status_code == 401
    assert TOKEN_COOKIE not in answer.headers.get("set-cookie", "")
    assert strict_site.get("/", follow_redirects=False).status_code == 303


def test_an_expired_or_revoked_token_ends_the_login(strict_site):
    log_in(strict_site, strict_site.token(lifetime_s=1000))
    listed = strict_site.get("/tokens").text
    token_id = re.search(r"/tokens/(\w+)/revoke", listed)[1]
    strict_site.post(f"/tokens/{token_id}/revoke", "/tokens")
    assert strict_site.get("/tokens", follow_redirects=False).status_code == 303


def test_logging_out_forgets_the_token(strict_site):
    log_in(strict_site, strict_site.token())
    assert strict_site.get("/").status_code == 200
    strict_site.post("/logout", "/")
    assert strict_site.get("/", follow_redirects=False).status_code == 303


@pytest.mark.parametrize("next_", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"])
def test_a_login_leads_nowhere_else(strict_site, next_):
    assert log_in(strict_site, strict_site.token(), next=next_).headers["location"] == "/"


FORMS = ["/problems/splitk-merge/submissions", "/tokens", "/theme", "/logout", "/login", "/submissions/{}/cancel",
         "/submissions/{}/visibility", "/submissions/{}/rejudge", "/problems/splitk-merge/launches"]  # fmt: skip


@pytest.mark.parametrize("path", FORMS)
def test_a_form_without_the_key_of_its_session_does_nothing(site, path):
    submission = site.submit()
    before = site.get("/submissions").text.count("/submissions/")
    for key in (None, "", "00" * 32, "zz", "0" * 63):
        data = {"source": "x", "theme": "dark", "visibility": "public"} | ({} if key is None else {"form_key": key})
        answer = site.client.post(path.format(submission), data=data, follow_redirects=False)
        assert answer.status_code == 403
        assert answer.json()["code"] == "cross_site"
    assert site.get("/submissions").text.count("/submissions/") == before


def test_the_key_of_another_session_is_no_key(site):
    foreign = site.form("/login")
    site.client.cookies.delete(FORM_COOKIE)
    site.get("/login")
    answer = site.client.post("/theme", data=foreign | {"theme": "dark"})
    assert answer.json()["code"] == "cross_site"


def test_a_form_sent_by_another_site_is_refused_even_with_the_key(site):
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = site.client.post("/theme", data=site.form("/login") | {"theme": "dark"}, headers=headers)
        assert answer.json()["code"] == "cross_site"


def test_keys_look_different_in_every_page(site):
    assert len({site.form("/login")["form_key"] for _ in range(3)}) == 3


def test_a_private_submission_is_not_there_for_others_until_it_is_shared(strict_site):
    log_in(strict_site, strict_site.token("anna"))
    submission = strict_site.plant(strict_site.submit(), make_report())
    parts = ("", "/live", "/events", "/source.cu", "/cases.csv", "/replay.zip", "/report.json")
    log_in(strict_site, strict_site.token("ben"))
    for part in parts:
        assert strict_site.get(f"/submissions/{submission}{part}").status_code == 404, part
    assert strict_site.get(f"/compare?a={submission}&b={submission}").status_code == 404
    assert strict_site.get(f"/problems/splitk-merge?submission={submission}").status_code == 404
    for action in ("cancel", "rejudge", "visibility"):
        assert strict_site.post(f"/submissions/{submission}/{action}", visibility="public").status_code == 404
    log_in(strict_site, strict_site.token("anna"))
    strict_site.post(f"/submissions/{submission}/visibility", visibility="unlisted")
    log_in(strict_site, strict_site.token("ben"))
    page = strict_site.get(f"/submissions/{submission}")
    assert "by anna" in page.text
    assert page.headers["x-robots-tag"] == "noindex"
    assert submission not in strict_site.get("/submissions?public=true").text
    assert strict_site.post(f"/submissions/{submission}/visibility", visibility="public").status_code == 404
    log_in(strict_site, strict_site.token("anna"))
    strict_site.post(f"/submissions/{submission}/visibility", visibility="public")
    log_in(strict_site, strict_site.token("ben"))
    assert submission in strict_site.get("/submissions?public=true").text


def test_a_token_that_may_only_read_sends_nothing(strict_site):
    log_in(strict_site, strict_site.token("rita", ("read",)))
    page = "/problems/splitk-merge"
    assert "may read but not submit" in strict_site.get(page).text
    answer = strict_site.post(f"{page}/submissions", "/tokens", source="x")
    assert answer.status_code == 403
    assert strict_site.post("/tokens", "/tokens", scope_read="yes").status_code == 403


def test_a_token_is_made_shown_once_and_gives_no_more_than_its_maker_has(strict_site):
    log_in(strict_site, strict_site.token("tess"))
    made = strict_site.post("/tokens", "/tokens", scope_read="yes", label="<b>ci</b>", days="7").text
    text = re.search(r'id="made">(kj_[\w-]{43})<', made)[1]
    listed = strict_site.get("/tokens").text
    assert text not in listed
    assert "&lt;b&gt;ci&lt;/b&gt;" in listed
    answer = strict_site.client.get("/api/v1/problems", headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 200
    assert strict_site.post("/tokens", "/tokens", scope_admin="yes").status_code == 403
    assert strict_site.post("/tokens", "/tokens").status_code == 422


def test_a_token_made_on_the_page_ends_with_the_login_it_was_made_in(strict_site):
    mine = strict_site.token("tess", lifetime_s=3600.0)
    log_in(strict_site, mine)
    own_id = re.search(r"/tokens/(\w+)/revoke", strict_site.get("/tokens").text)[1]
    made = strict_site.post("/tokens", "/tokens", scope_read="yes", days="90").text
    text = re.search(r'id="made">(kj_[\w-]{43})<', made)[1]
    with strict_site.service.database.read() as session:
        ends = [one.expires_at for one, _ in list_tokens(session)]
    assert len(ends) == 2
    assert ends[0] == ends[1]
    log_in(strict_site, mine)
    strict_site.post(f"/tokens/{own_id}/revoke", "/tokens")
    answer = strict_site.client.get("/api/v1/problems", headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 401


def test_nobody_ends_the_token_of_another(strict_site):
    log_in(strict_site, strict_site.token("anna"))
    token_id = re.search(r"/tokens/(\w+)/revoke", strict_site.get("/tokens").text)[1]
    log_in(strict_site, strict_site.token("ben"))
    assert token_id not in strict_site.get("/tokens").text
    assert strict_site.post(f"/tokens/{token_id}/revoke", "/tokens").status_code == 404
