"""The results page is made of the figures' own file, and of nothing else."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("results_page", ROOT / "scripts/results_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RATES = {"read_gbs": 4211.4, "copy_gbs": 3990.1, "f32_tflops": 51.2, "f16_tflops": 611.9, "overhead_us": 2.1}
ROW = {
    "problem": "gqa-decode", "solution": "gqa-decode/warps.cu", "case": "bench-64x4096", "verdict": "accepted",
    "message": "", "gbs": 3800.2, "roofline_fraction": 0.902, "tier": "gold", "median_us": 565.3, "rel_ci95": 0.0041,
    "tflops": 7.6, "bound": "memory", "rows": 2048, "verified_rows": 1902, "noisy": False, "limited_by": ["power cap"],
    "refused": None, "rates": RATES,
}  # fmt: skip
BODY = {
    "environment": {
        "date": "2026-01-02T03:04:05+00:00", "gpus": [{"name": "NVIDIA H200", "driver_version": "580.1"}],
        "cupy": "14.0", "nvrtc": "13.0", "cores": 16,
    },
    "rows": [ROW, {**ROW, "case": "bench-mixed", "gbs": None, "roofline_fraction": None, "tier": None, "noisy": True,
                   "bound": "launch", "rates": {**RATES, "read_gbs": 4100.0}},
             {"solution": "gqa-decode/bad.cu", "case": "-", "verdict": "judge_error", "message": "no GPU"}],
    "left_out": ["flash-forward/plain.cu"],
}  # fmt: skip


def test_the_page_has_every_figure_with_device_driver_and_date(script, tmp_path):
    (tmp_path / "figures.json").write_text(json.dumps(BODY))
    assert script.main([str(tmp_path / "figures.json"), str(tmp_path / "results.md")]) == 0
    text = (tmp_path / "results.md").read_text()
    for words in (
        "| device | NVIDIA H200 |", "| driver | 580.1 |", "| date | 2026-01-02T03:04:05+00:00 |",
        "| warps.cu | bench-64x4096 | 565.30 | 0.41% | 3800 | 7.60 | memory | 90.2% | gold | 92.9% | power cap |",
        "| warps.cu | bench-mixed | 565.30 | 0.41% |  | 7.60 | launch |  |  | 92.9% | noisy, power cap |",
        "| streaming read, GB/s | 4100.0 | 4211.4 |",
        "- gqa-decode/bad.cu: judge_error, no GPU",
        "Left out for want of time: flash-forward/plain.cu.",
    ):  # fmt: skip
        assert words in text


def test_several_files_make_one_page_of_the_latest_figures(script, tmp_path):
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
        (file.parent / "trial_aa.json").write_text(json.dumps({"rows": answers}))
    page = tmp_path / "results.md"
    assert script.main([*map(str, files), str(page)]) == 0
    text = page.read_text()
    assert "| warps.cu | bench-64x4096 | 555.50 | 0.41% | 3800 | 7.60 | memory | 90.2% | gold |" in text
    assert "565.30" in text  # of the case that the later file does not have
    assert not any(word in text for word in ("rings.cu", "1.50"))
    assert "| date | 2026-01-02T03:04:05+00:00, 2026-02-03T00:00:00+00:00 |" in text
    assert "0 of 6 comparisons" in text
    ladder["environment"]["gpus"] = [{"name": "NVIDIA H100", "driver_version": "580.1"}]
    files[1].write_text(json.dumps(ladder))
    assert script.main([*map(str, files), str(page)]) == 2


def test_without_a_file_it_says_how_it_is_called(script, capsys):
    assert script.main([]) == 2
    assert "usage" in capsys.readouterr().err
