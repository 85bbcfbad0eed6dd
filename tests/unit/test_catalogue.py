import pytest

from judge.catalogue import find_problems, load_problem, problem_folder, problem_version, unknown_problem_message
from judge.errors import MachineError, UsageError

SOURCE = "from tests.unit.verification.fakes import make_problem\nPROBLEM = make_problem(id='{id}')\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    root = tmp_path / "problems"
    for name in ("alpha", "beta-two"):
        (root / name).mkdir(parents=True)
        (root / name / "problem.py").write_text(SOURCE.format(id=name))
    for name in ("_template", "Not An Id"):
        (root / name).mkdir()
        (root / name / "problem.py").write_text("")
    (root / "empty").mkdir()
    monkeypatch.setenv("JUDGE_PROBLEMS", str(root))
    load_problem.cache_clear()
    yield root
    load_problem.cache_clear()


def test_problems_are_folders_with_a_valid_id_and_a_problem_py(folder):
    assert find_problems() == ["alpha", "beta-two"]


def test_order_file_comes_first_and_names_that_are_gone_are_passed_over(folder):
    (folder / "order.txt").write_text("gone\nbeta-two\n")
    assert find_problems() == ["beta-two", "alpha"]


def test_loaded_problem_knows_its_folder_and_version(folder):
    problem = load_problem("beta-two")
    assert problem.id == "beta-two"
    assert problem.folder == folder / "beta-two"
    assert problem.version == problem_version(folder / "beta-two")
    assert load_problem("beta-two") is problem


def test_version_changes_with_whatever_decides_a_verdict(folder):
    versions = [problem_version(folder / "alpha")]
    (folder / "_families").mkdir()
    (folder / "_families" / "shared.py").write_text("x = 1")
    versions.append(problem_version(folder / "alpha"))
    (folder.parent / "reference").mkdir()
    (folder.parent / "reference" / "mathematics.py").write_text("y = 1")
    versions.append(problem_version(folder / "alpha"))
    (folder / "alpha" / "problem.py").write_text("")
    versions.append(problem_version(folder / "alpha"))
    assert len(set(versions)) == 4
    (folder / "alpha" / "statement.md").write_text("Words decide nothing.")
    (folder / "_template" / "problem.py").write_text("z = 1")
    assert problem_version(folder / "alpha") == versions[-1]


def test_unknown_problem_has_a_suggestion(folder):
    with pytest.raises(UsageError, match=r"Did you mean beta-two\?"):
        problem_folder("beta_tow")
    with pytest.raises(UsageError, match="Known problems: alpha, beta-two"):
        problem_folder("zzz")
    assert len(unknown_problem_message("x" * 10000, ["alpha"])) < 200


@pytest.mark.parametrize("name", ["../alpha", "alpha/../alpha", "_template", ""])
def test_no_path_is_taken_for_an_id(folder, name):
    with pytest.raises(UsageError):
        problem_folder(name)


@pytest.mark.parametrize(
    ("source", "words"), [("", "defines no PROBLEM"), (SOURCE.format(id="other"), "its folder is called 'alpha'")]
)
def test_broken_problem_is_told_with_its_file(folder, source, words):
    (folder / "alpha" / "problem.py").write_text(source)
    with pytest.raises(MachineError, match=words):
        load_problem("alpha")


def test_environment_that_names_no_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("JUDGE_PROBLEMS", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="nowhere"):
        find_problems()


def test_checkout_is_found_without_a_setting(monkeypatch):
    monkeypatch.delenv("JUDGE_PROBLEMS", raising=False)
    assert find_problems()[:3] == ["online-softmax", "standard-attention", "flash-forward"]
