"""The pages of results are made of the figures' own files, and of nothing else."""

import importlib
import importlib.util
import json
import re
from pathlib import Path

import pytest

from judge.catalogue import find_problems, load_problem
from judge.problem import Group

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("results_page", ROOT / "scripts/results_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RATES = {
    "read_gbs": 4211.4, "copy_gbs": 3990.1, "f32_tflops": 51.2, "f16_tflops": 611.9, "overhead_us": 2.1, "samples": 3,
}  # fmt: skip
ROW = {
    "problem": "gqa-decode", "solution": "gqa-decode/warps.cu", "case": "bench-64x4096", "verdict": "accepted",
    "message": "", "gbs": 3800.2, "roofline_fraction": 0.902, "tier": "gold", "median_us": 565.3, "rel_ci95": 0.0041,
    "tflops": 7.6, "bound": "memory", "rows": 2048, "verified_rows": 1902, "noisy": False, "limited_by": ["power cap"],
    "refused": None, "minimum_bytes": 2149646592, "minimum_flops": 4294967296, "rates": RATES,
}  # fmt: skip
BODY = {
    "environment": {
        "date": "2026-01-02T03:04:05+00:00", "gpus": [{"name": "NVIDIA H200", "driver_version": "580.1"}],
        "cupy": "14.0", "nvrtc": "13.0", "cores": 16,
    },
    "rows": [ROW, {**ROW, "case": "bench-mixed", "gbs": None, "roofline_fraction": None, "tier": None, "noisy": True,
                   "bound": "launch", "rates": {**RATES, "read_gbs": 4100.0}},
             {"solution": "gqa-decode/plain.cu", "case": "-", "verdict": "judge_error", "message": "no GPU"}],
}  # fmt: skip


def test_the_page_has_every_figure_with_device_driver_and_date(script, tmp_path):
    (tmp_path / "figures.json").write_text(json.dumps(BODY))
    assert script.main([str(tmp_path / "figures.json"), "--docs", str(tmp_path)]) == 0
    text = (tmp_path / "results.md").read_text()
    for words in (
        "| device | NVIDIA H200 |", "| driver | 580.1 |", "| dates | 2026-01-02T03:04:05+00:00 |",
        "| warps.cu | bench-64x4096 | 565.30 † | 0.41% | 3800 | 7.60 | memory | 90.2% | gold | 92.9% | power cap |",
        "| warps.cu | bench-mixed | 565.30 † | 0.41% |  | 7.60 | launch |  |  | 92.9% | noisy, power cap |",
        "| streaming read, GB/s | 4100.0 | 4211.4 |",
        "- gqa-decode/plain.cu: judge_error, no GPU",
    ):  # fmt: skip
        assert words in text


SINCE = "2026-11-30T22:13:49+00:00"
BEFORE = "2026-11-30T22:13:48+00:00"


def test_figures_from_before_the_l2_was_swept_with_ordinary_loads_are_marked(script):
    row = {**ROW, "date": BEFORE}
    for changes, last in (({}, "565.30 †"), ({"date": SINCE}, "565.30"), ({"bound": "compute"}, "565.30")):
        lines = script._table([{**row, **changes}, {**ROW, "date": SINCE}])
        assert f"| bench-64x4096 | {last} |" in lines[2]
        assert ("† taken before the L2 was swept" in lines[-1]) == last.endswith("†"), (
            "said once, and only where it is used"
        )
        assert "| 565.30 | 0.41% |" in lines[3]


def test_shapes_beside_pytorch_and_rows_of_ncu_are_marked_by_their_day(script):
    def shape(name):
        return {"shape": name, "dtype": "f32", "what": "torch math", "median_us": 9.0}

    dense, decode, new = shape("flash-forward 64"), shape("decode 1x64"), shape("decode 2x64")
    rows = script._latest({"sdpa": {BEFORE: [dense, decode], SINCE: [new]}})["sdpa"]
    text = "\n".join(script._beside_torch(rows))
    assert "| flash-forward 64 | f32 |" in text, "arithmetic bounds it"
    assert "| decode 1x64 † | f32 |" in text
    assert "| decode 2x64 | f32 |" in text
    assert text.count("before the L2 was swept") == 1
    assert "†" not in "\n".join(script._beside_torch([row for row in rows if row["date"] == SINCE]))

    old = {"problem": "a", "solution": "plain.cu", "case": "b", "ours_us": 10.0, "ncu_us": 8.0}
    text = "\n".join(script._trials(script._latest({"ncu": {BEFORE: [old], SINCE: [{**old, "case": "c"}]}})))
    assert "| a | plain.cu | b | 10.00 † | 8.00 |" in text
    assert "| a | plain.cu | c | 10.00 | 8.00 |" in text
    assert text.count("before the L2 was swept") == 1


def test_the_guide_marks_older_figures_and_says_what_was_not_timed(script):
    guide = importlib.import_module("scripts.guide_page")
    ladder = guide.Ladder("gqa-decode", "bench-64x4096", "All.", (guide.Rung("warps", "W."), guide.Rung("rings", "R.")))

    def told(date):
        rows = [{**ROW, "date": date}, {**ROW, "solution": "gqa-decode/rings.cu", "date": SINCE}]
        return "\n".join(guide._section(ladder, guide.Figures({"rows": rows}), False))

    assert "| warps | 565.3 us, 90.2% † | not timed |  |" in told(BEFORE)
    assert "| rings | 565.3 us, 90.2% | not timed | 1.00 times † |" in told(BEFORE), "beside an older one"
    assert told(BEFORE).count("before the L2 was swept") == 1
    assert "†" not in told(SINCE)
    refused = guide.Figures({"rows": [{**ROW, "refused": "not credible: too fast"}]})
    assert "| warps | not credible | not timed |  |" in "\n".join(guide._section(ladder, refused, False))


def test_a_shape_beside_pytorch_is_of_its_latest_run_alone(script):
    def row(shape, what, us):
        return {"shape": shape, "dtype": "f32", "what": what, "median_us": us}

    old = [row("a", "torch math", 9.0), row("a", "torch flash", 8.0), row("b", "torch math", 7.0)]
    new = [row("a", "torch math", 5.0)]
    kept = script._latest_of_each_shape({"2026-02": new, "2026-01": old})
    assert kept == {"2026-01": [old[2]], "2026-02": new}


def test_several_files_in_any_order_make_one_page_of_the_latest_figures(script, tmp_path, capsys):
    rung = {
        **{name: value for name, value in ROW.items() if name not in ("solution", "tier")},
        "file": "warps.cu", "path": "problems/gqa-decode/submissions/accepted/warps.cu", "median_us": 555.5,
    }  # fmt: skip
    ladder = {
        "environment": {**BODY["environment"], "date": "2026-02-03T00:00:00+00:00"},
        "rows": [
            rung,
            {**rung, "path": "/elsewhere/warps.cu", "median_us": 1.5},
            {**rung, "file": "rings.cu", "verdict": "not_run", "path": rung["path"].replace("warps", "rings")},
        ],
    }
    del ladder["rows"][2]["median_us"]
    (tmp_path / "later").mkdir()
    files = [tmp_path / "gpu_figures.json", tmp_path / "later" / "ladder.json"]
    for file, body in zip(files, (BODY, ladder), strict=True):
        file.write_text(json.dumps(body))
        answers = [{"answer": "no difference"}] * 3
        trial = {"environment": body["environment"], "rows": answers}
        (file.parent / "trial_aa.json").write_text(json.dumps(trial))
    into = ["--docs", str(tmp_path)]
    assert script.main([*map(str, files), *into]) == 0
    page, store = tmp_path / "results.md", tmp_path / "results.json"
    text, figures = page.read_text(), store.read_text()
    assert "| warps.cu | bench-64x4096 | 555.50 † | 0.41% | 3800 | 7.60 | memory | 90.2% | gold |" in text
    assert "565.30" in text  # of the case that the later file does not have
    assert not any(word in text for word in ("rings.cu", "1.50"))
    assert "| dates | 2026-01-02T03:04:05+00:00, 2026-02-03T00:00:00+00:00 |" in text
    assert "0 of 6 comparisons" in text
    assert "555.5 us, 90.2%" in (tmp_path / "guide.md").read_text()
    picture = (tmp_path / "pages/roofline-gqa-decode.svg").read_text()
    assert ">warps 90%<" in picture
    assert "4211 GB/s read" in picture
    for again in ([], files[:1], [*files[::-1], *files]):
        assert script.main([*map(str, again), *into]) == 0
        assert (page.read_text(), store.read_text()) == (text, figures), again
    ladder["environment"]["gpus"] = [{"name": "NVIDIA H100", "driver_version": "580.1"}]
    files[1].write_text(json.dumps(ladder))
    assert script.main([*map(str, files), *into]) == 2
    assert "Give --anew" in capsys.readouterr().err
    assert script.main([str(files[1]), "--anew", *into]) == 0
    assert "565.30" not in page.read_text()


def test_without_any_figure_it_says_how_it_is_called(script, tmp_path, capsys):
    with pytest.raises(SystemExit):
        script.main(["--docs", str(tmp_path)])
    assert "usage" in capsys.readouterr().err


def test_the_pages_of_the_repository_are_those_of_its_figures(script, tmp_path):
    store = ROOT / "docs/results.json"
    (tmp_path / "results.json").write_bytes(store.read_bytes())
    assert script.main(["--docs", str(tmp_path)]) == 0
    made = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert len(made) > 3
    old = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs/pages").glob("roofline-*.svg")]
    for name in {*made, *old}:
        assert name in made, f"nothing makes docs/{name} any more: remove it"
        there = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert (tmp_path / name).read_text(encoding="utf-8") == there, (
            f"run python scripts/results_page.py: docs/{name}"
        )


def test_a_ladder_page_that_names_what_there_is_not_is_refused(script, tmp_path):
    guide = importlib.import_module("scripts.guide_page")
    page = tmp_path / "gqa-decode" / "ladder.md"
    page.parent.mkdir()
    page.write_text("picture: bench-mixed\n\nAll of it.\n\n## warps\n{us warps} and {us warps bench-64x4096}\n")
    ladder, figures = guide.read_ladder_page(page), guide.Figures({"rows": [ROW]})
    assert figures.said(ladder, ladder.rungs[0].text) == "(not measured yet) and 565.3 us"
    for wrong in ("{us ring}", "{share warps bench-1}", "{times warps}", "{gbs warps bench-mixed more}"):
        with pytest.raises(ValueError, match="names no rung or bench case"):
            figures.said(ladder, wrong)
    page.write_text("All of it.\n")
    with pytest.raises(ValueError, match="line 1: begin with"):
        guide.read_ladder_page(page)


@pytest.mark.parametrize("problem", find_problems())
def test_every_problem_has_its_ladder_told_in_the_order_of_the_page_on_ladders(script, problem):
    guide = importlib.import_module("scripts.guide_page")
    folder = load_problem(problem).folder
    ladder = guide.read_ladder_page(folder / "ladder.md")
    names = [rung.name for rung in ladder.rungs]
    assert sorted(names) == sorted(path.stem for path in (folder / "submissions/accepted").glob("*.cu"))
    assert ladder.case in [case.name for case in load_problem(problem).cases if case.group is Group.BENCH]
    rows = re.findall(
        r"^\| ([a-z0-9-]+) \| ([a-z0-9_, ]+)", (ROOT / "docs/ladders.md").read_text(encoding="utf-8"), re.M
    )
    assert names == next(order for name, order in rows if name == problem).strip().split(", ")
