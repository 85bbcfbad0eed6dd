"""Text that came from a submission is inert on every page: no markup, nothing that reorders or hides."""

import re
import unicodedata
from html.parser import HTMLParser

import pytest

from judge.records import (
    BackendReport,
    BufferTraffic,
    CompileMessage,
    CompileReport,
    Counters,
    Diagnosis,
    DiagnosisKind,
    ErrorSummary,
    FailureCell,
    FailureMap,
    KernelResources,
    KeyCell,
    KeyMap,
    LaunchReport,
    Mismatch,
    SubmissionReport,
)
from judge.verdict import Verdict
from tests.unit.reports.samples import make_case, make_report

TEXTS = {
    "ansi": "\x1b[2J\x1b[31mACCEPTED\x1b[0m",
    "osc": "\x1b]8;;https://evil.example\x07link\x1b]8;;\x07",
    "c1": "\x9b31m\x85",
    "bidi": "a\u202egnp.exe\u202c\u2066b\u2069",
    "invisible": "a\u200bb\u2060\ufeff\u00ad",
    "script": "<script>alert(1)</script>",
    "handler": "<img src=x onerror=alert(1)>",
    "svg": "<svg/onload=alert(1)><title>x</title></svg>",
    "attribute": '" onmouseover="alert(1)" x=\'',
    "closing": "</textarea></template></code></pre><script>alert(1)</script>",
    "template": "{{ 7 * 7 }}{% raw %}${7*7}",
    "link": "javascript:alert(1) [x](javascript:alert(1))",
    "comment": "--><script>alert(1)</script><!--",
    "json": '","line":1}]<script>alert(1)</script>',
}


def report_of(text):
    """A report with the text wherever a report has any from a submission."""
    diagnosis = Diagnosis(
        kind=DiagnosisKind.RACE,
        message=f"{text} at line 2; {text}",
        line=1,
        source=text,
        kernel=text,
        block=(0, 0, 0),
        thread=(1, 0, 0),
        buffer=text,
        index=(1,),
        hint=text,
    )
    cell = FailureCell(row=0, column=0, wrong=1, total=1, index=(0,), got="nan", want=0.0)
    blamed = KeyCell(row=0, column=0, tile=0, rows=1, looked_at=1, share=1.0, left_out=1.0, index=(0, 0))
    keys = KeyMap(keys=1, keys_in_tile=1, paged=False, down=1, looked_at=1, explained=1, sentence=text, cells=(blamed,))
    mapped = FailureMap(
        output=text,
        row_axis=text,
        column_axis=text,
        rows=1,
        columns=1,
        row_step=1,
        column_step=1,
        cells=(cell,),
        keys=keys,
    )
    first = Mismatch(output="out", index=(0,), got="nan", want=1.0)
    error = ErrorSummary(mismatches=1, total=4, first=first, pattern=text, map=mapped)
    case = make_case(
        Verdict.WRONG_ANSWER,
        message=text,
        line=1,
        error=error,
        diagnoses=(diagnosis, diagnosis.model_copy(update={"line": None})),
        counters=Counters(buffers={text: BufferTraffic(bytes_read=4)}),
        launches=(LaunchReport(text=text, kernel=text),),
        printed=text,
        replay=f"judge test {text}",
    )
    messages = (CompileMessage(line=1, column=1, message=text), CompileMessage(message=text, severity="warning"))
    kernels = (KernelResources(name=text, registers=1),)
    return make_report(
        Verdict.WRONG_ANSWER,
        message=text,
        hint=text,
        cases=(case,),
        compile=CompileReport(ok=False, log=text, errors=messages, kernels=kernels),
        submission=SubmissionReport(
            name=text, sha256="ab", source_bytes=1, set_aside=(f"lines 1-2: {text}",), notes=(text,)
        ),
        backend=BackendReport(kind="cpu", device=text, arch="x", isolation="none"),
    )


def hidden(text):
    return {c for c in text if c not in "\n\t" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Cn"}}


def markup(page):
    """The page without what the editor is given: the source there is data, whatever it holds."""
    assert page.count("</textarea>") <= 1
    return re.sub(r"<textarea.*?</textarea>", "", page, flags=re.DOTALL)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_text_is_shown_and_does_nothing(site, text):
    name = "".join(c for c in text if unicodedata.category(c) != "Cc") or "x"
    source = f"// {text}\n// second\n".replace("\x85", "")
    submission = site.submit(source, name=name)
    site.plant(submission, report_of(text))
    other = site.plant(site.submit("other\n", name=name), report_of(text))
    base = f"/submissions/{submission}"
    pages = [base, f"{base}/live", "/submissions", f"/compare?a={submission}&b={other}",
             f"/problems/splitk-merge?submission={submission}"]  # fmt: skip
    for path in pages:
        page = markup(site.get(path).text)
        assert hidden(page) == set(), path
        found = Tags()
        found.feed(page)
        assert not found.foreign, path
        assert "49" not in re.findall(r"// (\d+)", page)


class Tags(HTMLParser):
    """foreign: elements and attributes that no template of ours has."""

    def __init__(self):
        super().__init__()
        self.foreign = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "script" and not re.fullmatch(r"/static/site-\w+\.js", values.get("src") or ""):
            self.foreign.append((tag, values))
        if tag in {"img", "iframe", "object", "embed", "base"} or any(name.startswith("on") for name in values):
            self.foreign.append((tag, values))
        if any("javascript:" in (values.get(name) or "") for name in ("href", "src", "action", "formaction")):
            self.foreign.append((tag, values))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_files_are_harmless_where_they_are_opened(site, text):
    submission = site.plant(site.submit("x\n"), report_of(text))
    for name in ("cases.csv", "counters.csv", "map.csv", "report.json"):
        answer = site.get(f"/submissions/{submission}/{name}")
        assert hidden(answer.text.replace("\r", "")) == set()
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert site.get(f"/submissions/{submission}/source.cu").headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("start", ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)"])
def test_a_spreadsheet_computes_nothing_of_a_table(site, start):
    report = report_of("x")
    case = report.cases[0].model_copy(update={"counters": Counters(buffers={start: BufferTraffic(bytes_read=4)})})
    submission = site.plant(site.submit("x\n"), report.model_copy(update={"cases": (case,)}))
    assert f"'{start}" in site.get(f"/submissions/{submission}/counters.csv").text


@pytest.mark.parametrize("name", ["..", "%2e%2e%2fetc", "a/b", "x" * 3000, "\u2024\u2024", "CON", "site.css%00.js"])
def test_no_file_is_reached_by_a_name_from_outside(site, name):
    for path in (f"/static/{name}", f"/problems/{name}", f"/submissions/{name}", f"/leaderboards/{name}"):
        assert site.get(path).status_code in {200, 404}
        assert "root:" not in site.get(path).text
    assert site.get(f"/static/{name}").status_code == 404 or name == ".."
