"""A module run by judge.starting is run as the interpreter would, without collections while it imports."""

import subprocess
import sys

from judge.starting import command

MODULE = """
import gc
import sys

found = [gc.isenabled(), gc.get_freeze_count(), __name__, sys.argv[1:]]

from judge.starting import imported

imported()
print(found, gc.isenabled(), gc.get_freeze_count() > 0)
sys.exit(7)
"""


def test_a_module_is_run_as_itself_and_collects_once_it_is_imported(tmp_path):
    (tmp_path / "begun.py").write_text(MODULE)
    python, *words = command("begun")
    assert python == sys.executable
    run = f"import runpy, sys; sys.path.insert(0, {str(tmp_path)!r}); sys.argv = ['', 'begun', '--x', '1'];"
    run += "runpy.run_module('judge.starting', run_name='__main__', alter_sys=True)"
    assert words == ["-P", "-m", "judge.starting", "begun"]
    done = subprocess.run([python, "-c", run], check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == "[False, 0, '__main__', ['--x', '1']] True True\n"
