import pytest

from judge.spelling import nearest


@pytest.mark.parametrize(
    ("written", "likeness", "expected"),
    [
        ("lauch", 0.6, "launch"),
        ("worksapce", 0.6, "workspace"),
        ("launch", 0.6, "launch"),
        ("brief", 0.6, None),
        ("lunch box", 0.6, "launch"),
        ("lunch box", 0.8, None),
        ("", 0.6, None),
    ],
)
def test_the_nearest_name_is_found_where_one_is_like_enough(written, likeness, expected):
    assert nearest(written, iter(("launch", "workspace")), likeness) == expected


def test_without_names_there_is_no_nearest_one():
    assert nearest("launch", ()) is None
