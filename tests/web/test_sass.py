"""SASS on demand: asked for by a form, made once by the desk, found in the cache by the next look."""

import sys
import threading

import pytest

from judge.api.errors import Refusal
from judge.api.settings import ApiSettings
from judge.catalogue import load_problem
from judge.compiler import Target, disassembly
from judge.errors import JudgeError
from judge.records import BackendReport, ProblemReference
from judge.sandbox.bubblewrap import Absence
from judge.submission.read import read_submission
from judge.submission.unit import build_unit
from judge.web import code, sass
from judge.web.desk import Desk
from judge.web.listing import judged_unit
from judge.web.sass import Sass, is_own, kept_sass, sass_target
from tests.unit.reports.samples import make_case, make_report
from tests.web.site import answer, wait_until

SOURCE = """// @launch merge<<<1, 32>>>(out, S)
__global__ void merge(float* out, int S) {
  out[threadIdx.x] = S;
}
"""
# Prints a line of code for each kernel that it finds a name of in the file.
STAND_IN = """
import re
names = sorted(set(re.findall(rb"\\.text\\.(\\w+)", open(sys.argv[-1], "rb").read())))
for name in names:
    print('\\t.section\\t.text.%s,"ax",@progbits' % name.decode())
    print('\\t//## File "/submission.cu", line 3')
    print('        /*0000*/                   STG.E desc[UR4][R2.64], <b>R5 ;')
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sass._listed.clear()


@pytest.fixture
def tool(tmp_path, monkeypatch):
    program = tmp_path / "nvdisasm"
    program.write_text(f"#!{sys.executable} -ISE\nimport sys\n{STAND_IN}")
    program.chmod(0o755)
    for name in (disassembly, sass):
        monkeypatch.setattr(name, "find_tool", lambda _: program)


@pytest.fixture
def no_tool(monkeypatch):
    for name in (disassembly, sass):
        monkeypatch.setattr(name, "find_tool", lambda _: None)


def planted(site):
    submission = site.submit(SOURCE)
    version = ProblemReference(id="splitk-merge", version="0" * 12)
    site.plant(submission, make_report(cases=(make_case(name="two-segments"),), problem=version))
    return f"/submissions/{submission}/sass"


def made(site, page):
    """Ask for it and wait for the page that has it or says why not."""
    assert site.post(page, page).headers["location"] == page
    assert wait_until(lambda: "looks again" not in site.get(page).text)
    return site.get(page).text


def test_a_page_offers_to_compile_then_shows_code_at_its_line(site, cache, tool):
    page = planted(site)
    text = site.get(page).text
    assert "No GPU judged it" in text
    assert "Compile for sm_90" in text
    text = made(site, page)
    assert "this is what one would run" in text
    assert text.index("out[threadIdx.x] = S;") < text.index("/*0000*/ STG.E desc[UR4][R2.64], &lt;b&gt;R5 ;")
    assert '<th scope="row"><code>merge</code></th><td class="right">' in text
    assert f'href="{page.removesuffix("/sass")}/ptx"' in text


def test_without_nvdisasm_the_page_says_what_to_install_and_shows_registers(site, cache, no_tool):
    page = planted(site)
    assert "pip install nvidia-cuda-nvdisasm" in site.get(page).text
    text = made(site, page)
    assert "pip install nvidia-cuda-nvdisasm" in text
    assert "Resources on sm_90" in text
    assert '<pre class="ptx">' not in text


def test_what_does_not_compile_for_a_gpu_is_told(site, cache, tool):
    page = planted(site)
    with site.service.database.write() as session:
        from judge.store.models import Source

        session.query(Source).one().data = SOURCE.replace("= S;", "= S; int i = no;").encode()
    assert "It does not compile for sm_90: identifier &#34;no&#34; is undefined" in made(site, page)


def test_a_strangers_cubin_is_read_in_a_box_or_not_at_all(strict_site, cache, tool, monkeypatch):
    monkeypatch.setattr(disassembly, "bubblewrap", lambda: Absence("bubblewrap is not installed", "Install it"))
    strict_site.post("/login", token=strict_site.token("ada"))
    page = planted(strict_site)
    text = made(strict_site, page)
    assert "read in a box only, and there is none: bubblewrap is not installed" in text
    assert '<pre class="ptx">' not in text


def test_who_may_only_read_cannot_ask_for_it(strict_site, cache, tool):
    strict_site.post("/login", token=strict_site.token("ada"))
    page = planted(strict_site)
    strict_site.post(f"{page.removesuffix('/sass')}/visibility", visibility="unlisted")
    strict_site.post("/logout", "/tokens")
    strict_site.post("/login", token=strict_site.token("bob", ("read",)))
    assert "whose token may submit" in strict_site.get(page).text
    assert strict_site.post(page, "/problems/splitk-merge").status_code == 403


def test_the_cubin_of_the_gpu_that_judged_it_is_taken(problems, cache, tool):
    gpu = BackendReport(kind="cuda", device="NVIDIA H200", arch="sm_86", isolation="isolated")
    report = make_report(backends=(gpu,))
    problem = problems["splitk-merge"]
    unit = judged_unit(problem, SOURCE.encode(), answer(backend="auto"), report)
    target = sass_target(report)
    assert kept_sass(unit, target, "") == Sass("sm_86", False, True)
    sass.make_sass(unit, target, trusted=True)
    found = kept_sass(unit, target, "no such kernel")
    assert (found.code.name, found.arch, found.resources.name) == ("merge", "sm_86", "merge")
    assert [line.number for line in found.code.lines] == [3]


def test_only_who_sits_at_the_machine_is_trusted():
    assert is_own(ApiSettings())
    assert not is_own(ApiSettings(login=True))
    assert not is_own(ApiSettings(hosts=()))
    assert not is_own(ApiSettings(hosts=("localhost", "judge.example")))


def test_the_desk_does_one_thing_at_a_time_and_each_once():
    desk, go, done = Desk(), threading.Event(), []

    def work(name):
        go.wait(20)
        done.append(name)
        if name == "b":
            raise JudgeError("b is broken")

    for name, user in (("a", "ada"), ("b", "bob"), ("a", "eve"), ("c", "ada")):
        desk.ask(name, user, lambda name=name: work(name))
    assert [desk.place(name) for name in "abcd"] == [1, 2, 3, None]
    with pytest.raises(Refusal, match="2 of your compilations"):
        desk.ask("d", "ada", lambda: None)
    for at in range(5):
        desk.ask(f"more {at}", f"user {at}", lambda: None)
    with pytest.raises(Refusal, match="8 compilations for pages wait"):
        desk.ask("d", "zoe", lambda: None)
    go.set()
    wait_until(lambda: desk.place("more 4") is None)
    assert done == ["a", "b", "c"]
    assert (desk.failure("a"), desk.failure("b")) == ("", "b is broken")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_desk_outlives_a_fault_that_nobody_foresaw():
    desk = Desk()
    desk.ask("a", "ada", lambda: 1 // 0)
    wait_until(lambda: desk.place("a") is None)
    assert desk.failure("a") == "The judge failed; its log says why."
    desk.ask("a", "ada", lambda: None)
    wait_until(lambda: desk.place("a") is None)
    assert desk.failure("a") == ""


def test_a_form_with_an_odd_attempt_is_taken_as_the_last_one(site, cache, no_tool, monkeypatch):
    page = planted(site)
    monkeypatch.setattr(code, "make_sass", lambda *_, **__: None)
    for odd in ("x", "-1", "9" * 40, "²"):
        assert site.post(page, page, attempt=odd).headers["location"] == page


def test_a_second_asking_and_a_second_look_cost_neither_a_disassembly_nor_a_pass_over_its_text(
    cache, tool, monkeypatch, tmp_path
):
    problem = load_problem("splitk-merge")
    constants = (problem.constants_of(problem.cases[0]),)
    unit = build_unit(read_submission(SOURCE.encode(), "mine.cu", problem), problem, constants)
    target = Target("cubin", "sm_90", "optimized")
    passes = []
    real = sass.sass_by_line
    monkeypatch.setattr(sass, "sass_by_line", lambda *arguments: passes.append(1) or real(*arguments))
    sass.make_sass(unit, target, trusted=True)
    monkeypatch.setattr(sass, "disassemble", lambda *arguments, **options: pytest.fail("again"))
    sass.make_sass(unit, target, trusted=True)
    first, second = (kept_sass(unit, target, "") for _ in range(2))
    assert first.code == second.code is not None
    assert passes == [1]
