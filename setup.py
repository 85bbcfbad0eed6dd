"""Puts problems and reference mathematics into a built wheel, where the package finds them as its own data.

In a checkout they lie beside the package, which never imports them by name; so they are no packages of
the distribution, and an editable install copies nothing.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

DATA = ("problems", "reference")


class BuildWithData(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for name in DATA:
            target = Path(self.build_lib) / "judge" / "data" / name
            shutil.copytree(name, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


setup(cmdclass={"build_py": BuildWithData})
