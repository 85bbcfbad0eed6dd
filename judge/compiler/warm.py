"""Compile boxes in reserve, for a service: each is used once, and the next one is started behind it.

A box takes about 0.15 s to start, load NVRTC and be sealed, several times what compiling a kernel takes.
"""

import threading
import time
from collections.abc import Hashable, Sequence

from judge.compiler.boxed import Box
from judge.compiler.compile import Compilation, compile_unit
from judge.compiler.target import Target
from judge.errors import MachineError
from judge.submission.unit import TranslationUnit

MAX_AGE_S = 900.0
"""A box that waited longer is replaced: a driver or a library may have been changed since."""

RETRY_S = 5.0


class WarmBoxes:
    """Keeps one box ready for each of some targets; a context manager that leaves no process behind.

    quiet_s: so long the start of the next box is put off, so that it takes no core from what follows the compilation,
    unless refill() is called before. May be used from many threads.
    """

    def __init__(self, targets: Sequence[Target], quiet_s: float = 0.5) -> None:
        self._targets = {_key(target): target for target in targets}
        self._quiet_s = quiet_s
        self._change = threading.Condition()
        self._ready: dict[Hashable, tuple[float, Box]] = {}
        self._not_before = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._keep_ready, name="judge-boxes", daemon=True)
        self._thread.start()

    def __enter__(self) -> "WarmBoxes":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def warm(self) -> int:
        """How many boxes stand ready."""
        with self._change:
            return len(self._ready)

    def compile(self, unit: TranslationUnit, target: Target) -> Compilation:
        """As compile_unit(), in a box that stands ready where there is one."""
        return compile_unit(unit, target, box=self.take)

    def take(self, target: Target) -> Box:
        """A box for the target that now belongs to the caller, who closes it. Raises MachineError as Box()."""
        with self._change:
            _, box = self._ready.pop(_key(target), (0.0, None))
            self._not_before = time.monotonic() + self._quiet_s
            self._change.notify_all()
        if box is not None and box.alive:
            return box
        if box is not None:
            box.close()
        return Box(target)

    def refill(self) -> None:
        """Start what is lacking now."""
        with self._change:
            self._not_before = 0.0
            self._change.notify_all()

    def close(self) -> None:
        """End all boxes that were not taken; safe to call twice."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        self._thread.join()
        with self._change:
            left = [box for _, box in self._ready.values()]
            self._ready.clear()
        for box in left:
            box.close()

    def _keep_ready(self) -> None:
        while (target := self._next()) is not None:
            box: Box | None = None
            try:
                box = Box(target)
                box.wait_until_sealed()
            except MachineError:
                # Whoever compiles meets the same failure and tells it.
                if box is not None:
                    box.close()
                with self._change:
                    self._change.wait_for(lambda: self._closed, RETRY_S)
                continue
            with self._change:
                self._ready[_key(target)] = (time.monotonic(), box)
                self._change.notify_all()

    def _next(self) -> Target | None:
        """Wait for a target without a box; None at the end."""
        with self._change:
            while not self._closed:
                now = time.monotonic()
                old = [key for key, (since, _) in self._ready.items() if now - since > MAX_AGE_S]
                for key in old:
                    self._ready.pop(key)[1].close()
                lacking = [target for key, target in self._targets.items() if key not in self._ready]
                if lacking and now >= self._not_before:
                    return lacking[0]
                self._change.wait(self._not_before - now if lacking else MAX_AGE_S / 10)
            return None


def _key(target: Target) -> Hashable:
    """A box is warmed up for a kind and held to limits; all else comes with what it compiles."""
    return target.kind, target.limits
