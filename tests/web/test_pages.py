"""The pages as a browser without JavaScript meets them."""

import csv
import html
import io
import re
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import text as text_of

from judge.catalogue import find_problems
from judge.problem import Group
from judge.records import BackendReport, Diagnosis, DiagnosisKind, ErrorSummary, ProblemReference, Report
from judge.verdict import Verdict
from judge.web.assets import load_assets
from judge.web.bundle import make_bundle
from tests.unit.reports.samples import (
    compile_error_report,
    keys_report,
    make_case,
    make_report,
    timed_report,
    wrong_report,
)
from tests.web.site import HTML

SOURCE = "".join(f"// line {n}\n" for n in range(1, 31))


def test_the_list_names_every_problem_and_what_is_solved(site, problems):
    text = site.get("/").text
    assert [text.index(f'href="/problems/{name}"') for name in problems] == sorted(
        text.index(f'href="/problems/{name}"') for name in problems
    )
    assert "solved" not in text
    site.plant(site.submit(problem="flash-forward"), make_report())
    text = site.get("/").text
    assert text.count("</span> solved") == 1


@pytest.mark.parametrize("cursor", ["", "abc", "1%00", "9" * 30, "%D9%A1", "-1", "1_0", "0", "+1", "%201"])
def test_a_cursor_that_is_none_is_refused_with_a_page(site, cursor):
    answer = site.get(f"/submissions?cursor={cursor}")
    assert answer.status_code == 422
    assert "<html" in answer.text


def test_a_sample_run_does_not_count_as_solved(site):
    page = "/problems/flash-forward"
    answer = site.post(f"{page}/submissions", page, source="x", backend="cpu", cases="sample")
    site.plant(answer.headers["location"].rpartition("/")[2], make_report())
    assert "</span> solved" not in site.get("/").text


@pytest.mark.parametrize("problem", find_problems())
def test_a_problem_page_has_all_that_is_needed_to_solve_it(site, problems, problem):
    text = site.get(f"/problems/{problem}").text
    found = problems[problem]
    for one in (*found.buffers, *found.parameters):
        assert f"<code>{one.name}</code>" in text
    for case in found.cases:
        assert f'<th scope="row">{case.name}</th>' in text
    assert 'class="math"' in text
    assert "$" not in re.sub(r"<textarea.*?</textarea>|<template.*?</template>", "", text, flags=re.DOTALL)
    assert 'role="img"' in text
    assert "Hint 1" not in text


def test_hints_come_one_by_one(site):
    shown = [site.get(f"/problems/flash-forward?hints={n}").text.count('<div class="hint">') for n in (0, 1, 2, 6, 99)]
    assert shown == [0, 1, 2, 6, 6]


def test_solutions_wait_for_an_accepted_kernel_or_a_decision(site):
    page = "/problems/splitk-merge/solutions"
    assert "__global__" not in site.get(page).text
    assert "__global__" in site.get(page + "?reveal=true").text
    site.plant(site.submit(), make_report())
    assert "__global__" in site.get(page).text


def test_what_was_typed_is_stored_as_typed_and_once(site):
    page = "/problems/splitk-merge"
    fields = site.form(page) | {"source": "a\r\nb\t<é>\r\n", "backend": "cpu", "cases": "all", "name": "mine.cu"}
    first, second = (site.client.post(f"{page}/submissions", data=fields, follow_redirects=False) for _ in range(2))
    assert first.status_code == 303
    assert first.headers["location"] == second.headers["location"]
    assert site.get(first.headers["location"] + "/source.cu").text == "a\nb\t<é>\n"


def test_a_file_can_be_sent_instead(site):
    page = "/problems/splitk-merge"
    answer = site.client.post(
        f"{page}/submissions",
        data=site.form(page) | {"source": "", "backend": "cpu", "cases": "all"},
        files={"file": ("other.cu", b"from a file\n")},
        follow_redirects=False,
    )
    where = answer.headers["location"]
    assert site.get(where + "/source.cu").text == "from a file\n"
    assert "other.cu" in site.get(where).text


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"source": "x" * (256 * 1024 + 1)}, "at most"),
        ({"source": "a\0b"}, "NUL at byte 1"),
        ({"backend": "cuda"}, "o device that is ready serves cuda"),
        ({"backend": "abacus"}, "was not sent"),
    ],
)
def test_what_is_refused_comes_back_with_the_reason_and_the_text(site, fields, told):
    page = "/problems/splitk-merge"
    answer = site.post(f"{page}/submissions", page, **({"source": "keep me", "backend": "cpu"} | fields))
    assert answer.status_code in {409, 422}
    assert told in answer.text
    assert fields.get("source", "keep me")[:1000].rstrip("\0b") in answer.text


def test_a_waiting_page_refreshes_itself_and_says_its_place(site):
    first, second = site.submit(), site.submit()
    text = site.get(f"/submissions/{second}").text
    assert 'http-equiv="refresh"' in text
    assert "Place 2 in the queue" in text
    assert "waits for a device that serves cpu" in text
    site.plant(first, make_report())
    text = site.get(f"/submissions/{first}").text
    assert "refresh" not in text.partition("</head>")[0]


def test_a_wrong_answer_is_told_with_place_values_and_next_step(site):
    text = site.get(f"/submissions/{site.plant(site.submit(SOURCE), wrong_report())}").text
    assert "wrong answer" in text
    assert Verdict.WRONG_ANSWER.text.sentence in text
    assert "O[0, 32, 0]" in text
    assert ">nan</code>" in text
    assert ">0.1234568</code>" in text
    assert "only the last index of N (32)" in text
    assert "Your output equals a known mistake" in text
    assert text.index('id="L12"') < text.index('<div class="remark bad"') < text.index('id="L13"')
    assert 'href="#L12"' in text


def test_compile_errors_stand_at_their_lines_here_and_in_the_editor(site):
    submission = site.plant(site.submit(SOURCE), compile_error_report())
    text = site.get(f"/submissions/{submission}").text
    assert text.index('id="L3"') < text.index("remark bad") < text.index('id="L4"')
    again = site.get(f"/problems/splitk-merge?submission={submission}").text
    assert "// line 30" in again
    assert "&#34;line&#34;: 3" in again
    assert "line 3: identifier &#34;fooo&#34; is undefined" in again


def test_an_old_report_is_told_as_such(site):
    submission = site.plant(site.submit(), make_report())
    with site.service.database.write() as session:
        from judge.store.models import Attempt

        session.get_one(Attempt, (submission, 1)).report = '{"schema_version": 0}'
    assert "older form" in site.get(f"/submissions/{submission}").text


def test_tables_and_reports_are_there_as_files(site):
    submission = site.plant(site.submit(SOURCE), wrong_report())
    base = f"/submissions/{submission}"
    rows = list(csv.DictReader(io.StringIO(site.get(f"{base}/cases.csv").text)))
    assert [(row["case"], row["verdict"]) for row in rows] == [("book", "accepted"), ("tile-plus-1", "wrong_answer")]
    for name in ("counters", "keys", "map", "times"):
        assert site.get(f"{base}/{name}.csv").headers["content-type"] == "text/csv; charset=utf-8"
    assert Report.model_validate_json(site.get(f"{base}/report.json").text) == wrong_report()
    with zipfile.ZipFile(io.BytesIO(site.get(f"{base}/replay.zip").content)) as bundle:
        assert sorted(bundle.namelist()) == ["README.txt", "mine.cu", "report.json"]
        assert bundle.read("mine.cu").decode() == SOURCE
        assert "--case tile-plus-1 --seed 7" in bundle.read("README.txt").decode()


def test_the_bundle_names_as_many_commands_as_it_has():
    for report, words in ((make_report(), "All cases again:"), (wrong_report(), "All cases again, then the one")):
        with zipfile.ZipFile(io.BytesIO(make_bundle(SOURCE, report))) as bundle:
            readme = bundle.read("README.txt").decode()
        assert words in readme
        assert len(re.findall("^    judge test ", readme, re.M)) == 1 + (report.replay is not None)


def test_the_keys_behind_an_error_are_shown_as_sentence_picture_table_and_file(site):
    submission = site.plant(site.submit(SOURCE, problem="flash-forward"), keys_report())
    text = site.get(f"/submissions/{submission}").text
    sentence = "In 6 of 8 failing rows looked at the error is what leaving out keys 32 to 63 gives."
    assert f"<dt>keys</dt><dd>{sentence}</dd>" in text
    assert 'aria-label="Keys behind the error in tile-plus-1"' in text
    table = text.partition("Which keys")[2]
    rows = re.findall(r'<tr id="(keys-0-\d)"><th scope="row">([^<]+)</th><td>([^<]+)</td><td>([^<]+)</td>', table)
    assert rows[0] == ("keys-0-0", "BH 1, N 64 to 95", "keys 32 to 63", "left out")
    assert {f'href="#{row[0]}"' for row in rows} == set(re.findall(r'href="#keys-[^"]+"', text))
    file = list(csv.DictReader(io.StringIO(site.get(f"/submissions/{submission}/keys.csv").text)))
    assert [(row["where"], row["keys"], row["rows"], row["looked_at"]) for row in file] == [
        ("BH 1, N 64 to 95", "keys 32 to 63", "4", "4"),
        ("BH 1, N 96 to 127", "key 40", "1", "3"),
        ("BH 1, N 96 to 127", "keys 128 to 129", "1", "3"),
    ]


def test_a_known_mistake_stands_before_the_keys(site):
    known = Diagnosis(kind=DiagnosisKind.MUTANT_MATCH, message="Your output equals a known mistake.")
    report = keys_report()
    case = report.cases[0].model_copy(update={"diagnoses": (known,)})
    submission = site.plant(site.submit(SOURCE), report.model_copy(update={"cases": (case,)}))
    text = site.get(f"/submissions/{submission}").text
    assert "<dt>keys</dt>" not in text
    assert text.index("Your output equals a known mistake") < text.index("leaving out keys 32 to 63 gives")


def test_times_are_shown_with_their_interval(site):
    text = site.get(f"/submissions/{site.plant(site.submit(), timed_report())}").text
    assert "812.4 us" in text
    assert "± 0.4%" in text
    assert "Bandwidth of 1 timed case in" in text


def test_two_submissions_are_compared_line_by_line_and_case_by_case(site):
    a = site.plant(site.submit(SOURCE), wrong_report())
    b = site.plant(site.submit(SOURCE.replace("// line 7", "// seven")), make_report())
    text = site.get(f"/compare?a={a}&b={b}").text
    assert re.search(r'class="gone">.*// line 7</code>', text)
    assert re.search(r'class="new">.*// seven</code>', text)
    assert "// line 20" not in text
    assert ">only in A<" in text
    assert "median" not in text
    assert "The sources are the same" in site.get(f"/compare?a={a}&b={a}").text


def test_whoever_compares_nothing_is_sent_to_where_two_are_chosen(site):
    text = site.get("/compare").text
    assert '<a href="/submissions">Submissions</a>' in text


def test_timed_cases_are_not_counted_among_those_that_run_everywhere(site):
    text = site.get("/").text
    assert "<code>gqa-decode</code>" in text
    problem = site.service.problems["gqa-decode"]
    timed = sum(case.group is Group.BENCH for case in problem.cases)
    assert timed > 1
    assert f"{len(problem.cases) - timed} cases and {timed} timed ones" in text


def test_a_mean_that_is_off_is_said_where_no_element_is_wrong(site):
    case = make_case(Verdict.WRONG_ANSWER, error=ErrorSummary(max_abs=1e-6, total=64))
    submission = site.plant(site.submit(), make_report(Verdict.WRONG_ANSWER, cases=(case,)))
    assert ">mean error</td>" in site.get(f"/submissions/{submission}").text


def test_history_is_filtered_and_goes_on(site):
    ids = [site.submit() for _ in range(26)]
    site.plant(ids[0], wrong_report())
    text = site.get("/submissions").text
    assert ids[0] not in text
    older = re.search(r'href="(\?[^"]+)">Older', text)[1].replace("&amp;", "&")
    assert ids[0] in site.get("/submissions" + older).text
    assert re.findall(r'<a href="/submissions/(\w{32})"', site.get("/submissions?verdict=wrong_answer").text) == ids[:1]
    assert "There are none" in site.get("/submissions?problem=gqa-decode").text


def test_a_submission_is_cancelled_and_judged_again(site):
    submission = site.submit()
    site.post(f"/submissions/{submission}/cancel")
    assert "cancelled" in site.get(f"/submissions/{submission}").text
    site.post(f"/submissions/{submission}/rejudge")
    assert "Place 1" in site.get(f"/submissions/{submission}").text


def test_the_last_verdict_stands_until_the_next_one(site):
    submission = site.plant(site.submit(), wrong_report())
    site.post(f"/submissions/{submission}/rejudge")
    text = site.get(f"/submissions/{submission}").text
    assert "until then the last verdict stands" in text
    assert "wrong answer" in text
    assert f'href="/submissions/{submission}?attempt=1"' in text
    old = site.get(f"/submissions/{submission}?attempt=1").text
    assert "O[0, 32, 0]" in old
    assert "It is judged again" in old
    assert "refresh" not in old.partition("</head>")[0]


def test_every_attempt_is_listed_and_has_its_page_and_files(site):
    submission = site.plant(site.submit(SOURCE), wrong_report())
    base = f"/submissions/{submission}"
    assert "Attempts" not in site.get(base).text
    site.post(f"{base}/rejudge", seed="new")
    site.plant(submission, make_report().model_copy(update={"seed": 4711, "judge_version": "9.9"}))
    text = site.get(base).text
    table = text.partition('id="attempts-title"')[2].partition("</table>")[0]
    assert re.findall(rf'href="{base}\?attempt=(\d)"', table) == ["2", "1"]
    for told in ("4711", "9.9", ">7<", f"{base}/report.json?attempt=1"):
        assert told in table, told
    assert "This is attempt" not in text
    old = site.get(f"{base}?attempt=1").text
    assert "This is attempt 1" in old
    assert "O[0, 32, 0]" in old
    assert f'href="{base}/cases.csv?attempt=1"' in old
    rows = list(csv.DictReader(io.StringIO(site.get(f"{base}/cases.csv?attempt=1").text)))
    assert rows[1]["verdict"] == "wrong_answer"
    assert Report.model_validate_json(site.get(f"{base}/report.json?attempt=1").text) == wrong_report()
    assert site.get(f"{base}?attempt=3").status_code == 404
    assert site.get(f"{base}?attempt=0").status_code == 422


def test_a_rejudge_has_the_seed_of_before_or_a_new_one_as_asked(site):
    submission = site.plant(site.submit(SOURCE), make_report())
    stored = "select seed from submissions"

    def seed():
        with site.service.database.read() as session:
            return session.execute(text_of(stored)).scalar_one()

    first = seed()
    for asked, same in (("same", True), ("new", False)):
        site.post(f"/submissions/{submission}/rejudge", seed=asked)
        site.plant(submission, make_report())
        assert (seed() == first) is same


def test_model_solutions_come_in_the_order_of_the_ladder_with_what_each_adds(site, problems):
    text = site.get("/problems/gqa-decode/solutions?reveal=true").text
    assert re.findall(r"<h2 [^>]*>(.+?)</h2>", text) == ["1. plain", "2. warps", "3. rings"]
    rings = text.partition('id="rings-title"')[2].partition("<details")[0]
    assert "<strong>Added over warps.cu:</strong>" in rings
    assert rings.count("<li>") == 6
    assert "<strong>Measured:</strong> H200, 64 x 4096" in rings


def test_head_of_a_page_is_that_of_get(site):
    for path in ("/", "/problems/splitk-merge", "/static/" + load_assets().named["site.css"], "/nowhere"):
        full, head = site.get(path), site.client.head(path, headers=HTML)
        assert (head.status_code, head.content) == (full.status_code, b"")
        assert head.headers["content-type"] == full.headers["content-type"]
        assert head.headers["content-length"] != "0"


def test_what_does_not_exist_is_a_page_for_people_and_a_problem_for_programs(site):
    answer = site.get("/nowhere")
    assert (answer.status_code, "There is nothing at this address" in answer.text) == (404, True)
    assert "<html" in answer.text
    for path, headers in (("/nowhere", {"Accept": "*/*"}), ("/api/v1/nowhere", {"Accept": "text/html"})):
        answer = site.client.get(path, headers=headers)
        assert answer.headers["content-type"] == "application/problem+json"
    assert site.get("/submissions/" + "0" * 32).status_code == 404
    assert "Did you mean splitk-merge?" in site.get("/problems/splitk-merg").text


def test_the_other_pages_are_there(site):
    for path in ("/leaderboards", "/leaderboards/gqa-decode", "/api", "/tokens", "/login"):
        assert site.get(path).status_code == 200, path


def test_the_commands_of_the_api_page_are_those_of_the_docs_which_a_test_runs(site, strict_site, problems):
    docs = (Path(__file__).resolve().parents[2] / "docs/api.md").read_text(encoding="utf-8")
    told = re.findall(r"```sh\n(.*?)```", docs, re.S)[:2]
    assert told[0].endswith("= accepted\n")
    shown = re.findall(r'<pre tabindex="0"><code>(.*?)</code></pre>', site.get("/api").text, re.S)
    here = [("127.0.0.1:8000", "testserver"), ("splitk-merge", next(iter(problems)))]
    for ours, theirs in here:
        told = [one.replace(ours, theirs) for one in told]
    assert [html.unescape(one) for one in shown] == told
    strict_site.post("/login", token=strict_site.token("ada"))
    assert html.unescape(strict_site.get("/api").text).count('-H "Authorization: Bearer $TOKEN"') == 4


def test_the_theme_is_kept_by_the_server(site):
    answer = site.post("/theme", theme="dark", back="/leaderboards")
    assert answer.headers["location"] == "/leaderboards"
    assert '<html lang="en" data-theme="dark">' in site.get("/").text
    for bad in ("//evil.example", "https://evil.example", "/\\evil.example"):
        assert site.post("/theme", theme="dark", back=bad).headers["location"] == "/"


def test_no_page_may_run_or_load_what_is_not_ours(site):
    submission = site.plant(site.submit(SOURCE), wrong_report())
    for path in ("/", "/problems/flash-forward", f"/submissions/{submission}", "/tokens", "/nowhere"):
        answer = site.get(path)
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == "'self'"
        assert "unsafe" not in str(policy)
        assert not re.search(r"\sstyle=|<style|\son\w+=|javascript:", answer.text)
        assert all(re.search(r'src="/static/', tag) for tag in re.findall(r"<script[^>]*>", answer.text))
        outside = re.findall(r'(?:src|href|action)="(?!/|#|\?)([^"]*)"', answer.text)
        assert outside == []


def test_a_leaderboard_has_public_times_and_the_badge_follows(site):
    problem = "gqa-decode"
    report = timed_report()
    case = report.cases[1].model_copy(update={"name": "bench-64x4096"})
    gpu = BackendReport(kind="cuda", device="NVIDIA H200", arch="sm_90", isolation="isolated")
    version = ProblemReference(id=problem, version=site.service.problems[problem].version)
    changes = {"cases": (case,), "backends": (gpu,), "problem": version}
    hidden = site.plant(site.submit(problem=problem), report.model_copy(update=changes))
    page = f"/leaderboards/{problem}?device=NVIDIA+H200&case=bench-64x4096"
    assert hidden not in site.get(page).text
    site.post(f"/submissions/{hidden}/visibility", visibility="public")
    text = site.get(page).text
    assert f'href="/submissions/{hidden}"' in text
    assert "812.40 us" in text
    assert 'alt="gqa-decode: accepted"' in text
    assert "accepted" in site.get(f"/api/v1/badge/{problem}/local.svg").text


def test_the_stream_of_a_page_goes_on_where_it_was_cut(site):
    submission = site.plant(site.submit(), wrong_report())
    base = f"/submissions/{submission}/events"

    def numbers(path, **headers):
        return [
            int(number) for number in re.findall(r"^id: (\d+)$", site.get(path, headers=headers).text, re.MULTILINE)
        ]

    whole = numbers(base)
    assert whole == list(range(1, whole[-1] + 1))
    assert numbers(f"{base}?after=2") == whole[2:]
    # What a browser sends when it comes back counts more than the address it came with.
    assert numbers(f"{base}?after=1", **{"Last-Event-ID": "3"}) == whole[3:]
    assert site.get(f"{base}?after={whole[-1]}").status_code == 204
    after = re.search(r'data-after="(\d+)"', site.get(f"/submissions/{submission}").text)[1]
    assert int(after) == whole[-1]


def test_a_block_table_is_shown_and_comes_as_a_file(site):
    problem = site.service.problems["paged-decode"]
    report = wrong_report()
    case = report.cases[1].model_copy(
        update={"name": "context-16", "parameters": dict(problem.case("context-16").parameters)}
    )
    changes = {"cases": (case,), "problem": ProblemReference(id=problem.id, version=problem.version)}
    submission = site.plant(site.submit(problem=problem.id), report.model_copy(update=changes))
    assert "Block table of sequence 0" in site.get(f"/submissions/{submission}").text
    rows = list(csv.DictReader(io.StringIO(site.get(f"/submissions/{submission}/block-table.csv").text)))
    assert rows[0]["tokens"] == "0 to 15"
    assert [row["physical_page"] for row in rows if row["remark"].startswith("unused")] == ["-1"]
