"""The pages in a real Chromium on a real `judge serve` with the CPU backend: with and without JavaScript."""

import re
import shutil
from pathlib import Path

import pytest

from judge.web.assets import BUILT
from tests.service.running import ENDLESS, RIGHT, ROOT, start_serve, until
from tests.web.site import wait_until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
PROBLEM = "/problems/splitk-merge"
JUDGED_MS = 60_000
AVERAGED = (ROOT / "problems/splitk-merge/submissions/wrong_answer/plain_average.cu").read_text()
PAGE_SKIPPED = (
    (ROOT / "problems/paged-decode/submissions/accepted/online.cu")
    .read_text()
    .replace("t += kWarps) {", "t += kWarps) {\n    if (head == 1 && t / kPage == 1) continue;")
)

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"),
    pytest.mark.skipif(
        not (BUILT / "manifest.json").is_file() or not AXE.is_file(),
        reason="the scripts of the pages are not built: make web, which needs Node.js 18 or newer",
    ),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    running = start_serve(tmp_path_factory.mktemp("served"))
    until(lambda: running.client.get("/readyz").json()["parts"]["devices"] == "ok", 60)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser, served):
    """Opens pages; at the end no page may have complained, asked elsewhere, or failed to load."""
    contexts, complaints = [], []

    def _complaint(said):
        # Chromium itself wants to keep the look of text that typing replaces, and our policy forbids it that style.
        known = said.text.startswith("Applying inline style") and said.location["lineNumber"] == 0
        return [] if known or said.type not in {"error", "warning"} else [f"{said.text} {said.location}"]

    def _foreign(url):
        return [] if url.startswith((f"http://127.0.0.1:{served.port}/", "data:")) else [f"asked for {url}"]

    def opened(path="/", **settings):
        context = browser.new_context(
            base_url=f"http://127.0.0.1:{served.port}", **({"viewport": {"width": 1280, "height": 900}} | settings)
        )
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.extend(_complaint(said)))
        page.on("request", lambda request: complaints.extend(_foreign(request.url)))
        page.goto(path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def judged(served):
    """Submissions that are over, by name: their addresses."""
    sources = {
        "accepted": ("splitk-merge", RIGHT),
        "wrong": ("splitk-merge", AVERAGED),
        "table": ("paged-decode", _planted("paged-decode/submissions/undefined_behavior/padding_taken_for_a_page.cu")),
        "keys": ("paged-decode", PAGE_SKIPPED),
        "broken": ("splitk-merge", RIGHT.replace("float sum", "flaot sum")),
    }
    ids = {}
    for name, (problem, source) in sources.items():
        body = {"problem": problem, "source": source, "backend": "cpu", "cases": "sample", "name": f"{name}.cu"}
        ids[name] = served.client.post("/api/v1/submissions", json=body).json()["id"]

    def over(one):
        wait_until(lambda: served.client.get(f"/api/v1/submissions/{one}?wait=30").json()["state"] == "done")

    for one in ids.values():
        over(one)
    # The cheapest one has two attempts, so that their table is seen.
    assert served.client.post(f"/api/v1/submissions/{ids['broken']}/rejudge").status_code < 300
    over(ids["broken"])
    return {name: f"/submissions/{one}" for name, one in ids.items()}


def _planted(name):
    return (ROOT / "problems" / name).read_text()


def write(page, source):
    """Replace what is in the editor, as typing does."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)


def verdict(page):
    page.wait_for_selector("#state[data-state=done]", timeout=JUDGED_MS)
    return page.locator("#verdict").inner_text().strip().lstrip("✓✗! ").lower()


def test_the_whole_way_from_a_wrong_kernel_to_an_accepted_one(open_page):
    page = open_page("/")
    page.get_by_role("link", name="Split-K merge").click()
    page.get_by_role("link", name=re.compile("Show hint 1")).click()
    page.wait_for_selector(".hint")
    assert page.locator(".hint").count() == 1
    write(page, RIGHT.replace("expf(m[s] - top) * l[s]", "1.f"))
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/submissions/*")
    assert verdict(page) == "wrong answer"
    assert "Your output is the plain average of the segments" in page.locator("main").inner_text()
    assert page.locator("#told").inner_text() == "wrong answer"
    assert page.evaluate("document.activeElement.id") == "verdict"
    page.locator(".map a").first.click()
    page.wait_for_selector(".map-table[open] tr:target")
    page.get_by_role("link", name="Edit and submit again").click()
    editor = page.locator(".cm-content")
    editor.get_by_text("const float w = 1.f;").wait_for()
    write(page, RIGHT)
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/submissions/*")
    assert verdict(page) == "accepted"
    page.goto("/")
    assert "solved" in page.locator("li", has_text="Split-K merge").inner_text()


@pytest.mark.parametrize("scripted", [True, False])
def test_a_cell_of_the_map_of_keys_leads_to_its_row(open_page, judged, scripted):
    page = open_page(judged["keys"], java_script_enabled=scripted)
    picture = page.get_by_role("region", name=re.compile("Keys behind the error"))
    wanted = picture.locator("a").first.get_attribute("href")
    picture.locator("a").first.click()
    # Chromium opens what holds the target by itself; other browsers leave that to the reader or to our script.
    page.wait_for_selector(f"{wanted}:target")
    assert "page 1 (block" in page.locator(wanted).inner_text()
    assert "left out" in page.locator(wanted).inner_text()


def test_a_compile_error_is_marked_at_its_line_in_the_editor(open_page, judged):
    page = open_page(judged["broken"])
    page.get_by_role("link", name="Edit and submit again").click()
    page.wait_for_selector(".cm-lint-marker-error")
    assert page.locator(".cm-lintRange-error").first.inner_text().startswith("flaot")


def test_a_draft_outlives_the_page_and_a_reset_can_be_undone(open_page):
    page = open_page(PROBLEM)
    write(page, "// my own draft\n")
    page.get_by_text("kept in this browser", exact=True).wait_for()
    page.reload()
    page.locator(".cm-content").get_by_text("my own draft").wait_for()
    page.get_by_role("button", name="Reset to the starter").click()
    page.locator(".cm-content").get_by_text("my own draft").wait_for(state="detached")
    page.get_by_role("button", name="Undo the reset").click()
    page.locator(".cm-content").get_by_text("my own draft").wait_for()


def test_a_source_that_is_brought_back_does_not_cost_the_draft(open_page, judged):
    page = open_page(PROBLEM)
    write(page, "// work in progress\n")
    page.get_by_text("kept in this browser", exact=True).wait_for()
    page.goto(f"{PROBLEM}?submission={judged['accepted'].rpartition('/')[2]}")
    page.locator(".cm-content").get_by_text("weights").first.wait_for()
    page.get_by_role("button", name="Bring back my draft").click()
    page.locator(".cm-content").get_by_text("work in progress").wait_for()


def test_launches_are_previewed_while_typing(open_page):
    page = open_page("/problems/flash-forward")
    write(page, "// @launch f<<<dim3((N + 31) / 32, BH), 96>>>(Q)\n")
    page.select_option("#launch-case", "book")
    page.get_by_text("32 × 8 × 1 = 256 blocks").wait_for()
    page.get_by_text("96 threads, 3 warps").wait_for()


def test_vim_keys_can_be_switched_on_and_are_remembered(open_page):
    page = open_page(PROBLEM)
    page.get_by_label("vim keys").check()
    page.wait_for_selector(".cm-vim-panel, .cm-fat-cursor", state="attached")
    page.reload()
    page.wait_for_selector(".cm-vim-panel, .cm-fat-cursor", state="attached")


def test_everything_is_done_by_keyboard_alone(open_page):
    page = open_page(PROBLEM)
    page.wait_for_selector(".cm-content")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('cm-content')"):
            break
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(RIGHT)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "reset"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.classList.contains('cm-content')")
    page.keyboard.press("Escape")
    for _ in range(5):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.id") == "submit":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/submissions/*")
    assert verdict(page) == "accepted"
    assert page.evaluate("document.activeElement.id") == "verdict"


def test_a_running_submission_is_watched_cancelled_and_stays(open_page):
    page = open_page(PROBLEM)
    write(page, ENDLESS)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/submissions/*")
    page.get_by_text("taken by").wait_for(timeout=JUDGED_MS)
    address = page.url
    page.close()
    again = open_page(address)
    again.get_by_text("taken by").wait_for()
    again.get_by_role("button", name="Cancel").click()
    again.get_by_text("Judging was stopped before it finished").wait_for()


@pytest.mark.parametrize("scripted", [True, False])
def test_submit_is_in_sight_wherever_one_writes(open_page, scripted):
    page = open_page(PROBLEM, java_script_enabled=scripted, viewport={"width": 1366, "height": 768})
    submit, writing = page.get_by_role("button", name="Submit"), page.locator(".cm-editor" if scripted else "#source")
    writing.wait_for()

    def in_sight():
        box, height = submit.bounding_box(), page.viewport_size["height"]
        return box["y"] >= 0 and box["y"] + box["height"] <= height

    assert in_sight()
    page.set_viewport_size({"width": 360, "height": 740})
    writing.scroll_into_view_if_needed()
    for _ in range(3):
        assert in_sight()
        page.evaluate("scrollBy(0, 120)")
    # What the bar lies over can be brought out from under it.
    page.evaluate("document.getElementById('source-label').scrollIntoView()")
    bar, label = page.locator(".submit-bar").bounding_box(), page.locator("#source-label").bounding_box()
    assert label["y"] >= bar["y"] + bar["height"] - 1


def test_on_a_phone_every_column_of_a_table_is_reached_and_its_row_still_named(open_page, judged):
    page = open_page(judged["wrong"], viewport={"width": 360, "height": 740})
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    page.wait_for_selector(".wide.more .cases")
    told = page.evaluate(
        """async () => {
          const found = [];
          for (const wide of document.querySelectorAll(".wide:has(> .scroll > table)")) {
            const [scroll, table, hint] = [".scroll", "table", ".sideways"].map((one) => wide.querySelector(one));
            const over = scroll.scrollWidth > scroll.clientWidth + 1;
            const before = getComputedStyle(hint);
            const hinted = before.display !== "none" && before.visibility === "visible";
            scroll.scrollLeft = 10000;
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            const row = table.tBodies[0].rows[0].cells;
            const [first, last] = [row[0], row[row.length - 1]].map((one) => one.getBoundingClientRect());
            const box = scroll.getBoundingClientRect();
            const inside = last.right <= box.right + 1 && last.left >= first.right - 1;
            found.push([over, hinted, Math.round(first.left - box.left), inside, getComputedStyle(hint).visibility]);
          }
          return found;
        }"""
    )
    assert len(told) >= 3
    assert all(first == 0 and inside for _, _, first, inside, _ in told), told
    assert all(over == hinted for over, hinted, *_ in told), told
    assert all(seen == "hidden" for over, *_, seen in told if over), told


def test_without_javascript_one_reads_writes_submits_and_sees_the_verdict(open_page):
    page = open_page("/", java_script_enabled=False, viewport={"width": 360, "height": 740})
    page.get_by_role("link", name="Split-K merge").click()
    page.get_by_label("Source (one .cu file)").fill(RIGHT)
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_text("1 × 1 × 1 = 1 block", exact=True).wait_for()
    assert page.get_by_label("Source (one .cu file)").input_value() == RIGHT
    page.locator("summary", has_text="Options").click()
    page.locator("#cases-choice").select_option("sample")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/submissions/*")
    # The page asks again by itself.
    page.get_by_role("heading", name="accepted").wait_for(timeout=JUDGED_MS)
    page.get_by_role("button", name="dark").click()
    page.wait_for_selector("html[data-theme=dark]")


def paths(judged):
    a, b = (judged[name].rpartition("/")[2] for name in ("wrong", "accepted"))
    code = [f"{judged['accepted']}{rest}" for rest in ("/ptx", "/sass", "?attempt=1")]
    results = [*judged.values(), *code, f"/compare?a={a}&b={b}", "/submissions"]
    problems = ["/", PROBLEM, "/problems/paged-decode?hints=1", f"{PROBLEM}/solutions?reveal=true"]
    return [
        *problems,
        *results,
        "/leaderboards",
        "/leaderboards/gqa-decode",
        "/api",
        "/api/v1/docs",
        "/tokens",
        "/login",
        "/nowhere",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_scrolls_nothing_sideways(browser, served, judged, scheme):
    context = browser.new_context(
        base_url=f"http://127.0.0.1:{served.port}", color_scheme=scheme, viewport={"width": 1280, "height": 900}
    )
    page = context.new_page()
    found = {}
    for path in paths(judged):
        page.goto(path)
        if "/problems/" in path and "solutions" not in path:
            page.wait_for_selector(".cm-content")
            page.wait_for_selector(".math.set")
            page.locator(".launch").first.wait_for()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        violations = page.evaluate("axe.run().then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))")
        page.set_viewport_size({"width": 360, "height": 740})
        wide = page.evaluate("document.documentElement.scrollWidth")
        page.set_viewport_size({"width": 1280, "height": 900})
        if violations or wide > 360:
            found[path] = (violations, wide)
    context.close()
    assert found == {}


def test_pages_are_light(open_page):
    def weight(path, then=None):
        page = open_page("about:blank")
        sizes = {}
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        names = {}
        session.on("Network.responseReceived", lambda e: names.__setitem__(e["requestId"], e["response"]["url"]))
        session.on(
            "Network.loadingFinished",
            lambda e: sizes.__setitem__(names.get(e["requestId"], e["requestId"]), e["encodedDataLength"]),
        )
        page.goto(path)
        if then:
            then(page)
        page.wait_for_load_state("networkidle")
        return {Path(url.split("?")[0]).name: size for url, size in sizes.items()}

    def editing(page):
        page.wait_for_selector(".cm-content")
        page.wait_for_selector(".math.set")

    first = weight("/")
    assert sum(first.values()) < 60_000, first
    whole = weight(PROBLEM, editing)
    editor = sum(size for name, size in whole.items() if name.startswith(("editor-", "part-")))
    assert 0 < editor < 250_000, whole
    assert sum(whole.values()) < 400_000, whole
    print(f"first page {sum(first.values())}, editor {editor}, problem page {sum(whole.values())} bytes on the wire")
