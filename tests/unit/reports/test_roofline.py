"""The picture puts every case where its figures say, in a terminal and as SVG."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from judge.records import Rates, Timing
from judge.reports.roofline import Picture, Point, draw_svg, draw_text, picture_of
from judge.reports.style import Style
from tests.unit.reports.samples import make_case, make_report

RATES = Rates(read_gbs=4000, copy_gbs=3900, f32_tflops=50, f16_tflops=600, overhead_us=2, samples=5)


def picture(*points, title="gqa-decode, mine.cu, NVIDIA H200"):
    return Picture(title, RATES, points)


MEMORY = Point("bench-64x4096", 2.0, 4.0, 540.0, 0.5, "")
COMPUTE = Point("bench-flash", 1000.0, 45.0, 9000.0, 0.9, "noisy")


def test_the_roof_rises_with_intensity_and_ends_at_the_rate():
    drawn = picture(MEMORY)
    assert drawn.roof(2.0) == pytest.approx(8.0)
    assert drawn.roof(1e6) == 50
    assert drawn.ridge == pytest.approx(12.5)
    assert drawn.roof(drawn.ridge) == pytest.approx(50)


def test_the_terminal_shows_each_case_under_the_roof():
    text = draw_text(picture(MEMORY, COMPUTE), Style())
    rows = [line.partition("|")[2] for line in text.splitlines() if "|" in line]
    (a_row,) = [n for n, row in enumerate(rows) if "A" in row]
    (b_row,) = [n for n, row in enumerate(rows) if "B" in row]
    assert b_row < a_row, "more TFLOP/s stand higher"
    assert rows[a_row].index("A") < rows[b_row].index("B")
    roof_row = next(
        n for n, row in enumerate(rows) if len(row) > rows[a_row].index("A") and row[rows[a_row].index("A")] == "/"
    )
    assert roof_row <= a_row
    assert "A  bench-64x4096: 540.0 us, 4 TFLOP/s, 50.0% of the roof" in text
    assert "(noisy)" in text
    assert "4000 GB/s of streaming reads up to 12.5 FLOP/byte" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 104


def test_the_roof_of_float16_problems_is_that_of_tensor_cores():
    timing = Timing(
        median_us=1000.0, p10_us=999.0, p90_us=1001.0, samples=20, rel_ci95=0, cold=True, rates=RATES,
        minimum_bytes=10**8, minimum_flops=3 * 10**11, arithmetic="f16",
    )  # fmt: skip
    drawn = picture_of(make_report(cases=(make_case(name="large", group="bench", timing=timing),)))
    assert drawn.ridge == pytest.approx(150)
    assert drawn.roof(3000) == 600
    assert "600.0 TFLOP/s of float16 products on tensor cores" in " ".join(draw_text(drawn, Style()).split())
    assert "600.0 TFLOP/s of float16 products on tensor cores" in draw_svg(drawn)
    assert drawn.as_json()["arithmetic"] == "f16"


def test_a_roof_without_a_case_that_has_a_share_is_drawn_too():
    assert "no share (launch bound)" in draw_text(picture(Point("s", 0.5, 0.01, 3.0, None, "launch bound")), Style())


def test_the_svg_is_sound_xml_without_script_and_shows_hostile_names_as_text():
    hostile = Point('</text><script>alert(1)</script>&"', 2.0, 4.0, 540.0, None, "")
    text = draw_svg(picture(hostile, COMPUTE, title="a\x1b[31m<b>"))
    root = ET.fromstring(text)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "rect", "line", "text", "circle"}
    assert "<script" not in text
    assert "\x1b" not in text
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    assert len(circles) == 2
    assert float(circles[0].get("cx")) < float(circles[1].get("cx"))
    assert float(circles[0].get("cy")) > float(circles[1].get("cy"))


@pytest.mark.parametrize("points", [(MEMORY,), (COMPUTE,), (MEMORY, COMPUTE), (replace(MEMORY, intensity=11.0),)])
@pytest.mark.parametrize("peak", [50, 600, 60_000])
def test_the_words_on_reading_stand_left_of_the_roof_and_in_the_picture(points, peak):
    drawn = Picture("title", RATES.model_copy(update={"f32_tflops": peak}), points)
    elements = list(ET.fromstring(draw_svg(drawn)).iter())
    (words,) = [e for e in elements if e.text == "4000 GB/s read"]
    roof = next(e for e in elements if e.get("stroke") == "#06c")
    x1, y1, x2, y2 = (float(roof.get(name)) for name in ("x1", "y1", "x2", "y2"))
    right, below = float(words.get("x")), float(words.get("y")) + 3
    assert words.get("text-anchor") == "end"
    # The roof rises to the right: it is nearest to the words at their right end.
    assert right <= x2
    assert below < y1 + (y2 - y1) * (right - x1) / (x2 - x1)
    assert right - 100 > 0


def test_the_json_of_a_picture_holds_its_points():
    body = json.loads(json.dumps(picture(MEMORY).as_json()))
    assert body["points"][0]["case"] == "bench-64x4096"
    assert body["rates"]["read_gbs"] == 4000


def test_labels_of_near_points_stand_apart_the_fastest_on_top():
    points = [Point(name, 2.0, tflops, 1.0, None, "") for name, tflops in (("slow", 4.0), ("fast", 4.4), ("mid", 4.2))]
    texts = [e for e in ET.fromstring(draw_svg(picture(*points))).iter() if e.tag.endswith("text")]
    at = {e.text: float(e.get("y")) for e in texts}
    assert at["mid"] - at["fast"] >= 14
    assert at["slow"] - at["mid"] >= 14
