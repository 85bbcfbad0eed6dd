"""What all routes share: settings, store, watchers, limits and the problems that are served."""

from dataclasses import dataclass, field

import structlog
from fastapi import Request

from judge.api.hub import Hub
from judge.api.intake import Intake
from judge.api.limits import RateLimit, StreamLimit
from judge.api.settings import ApiSettings
from judge.catalogue import find_problems, load_problem
from judge.dispatch.bell import bell_of
from judge.errors import JudgeError
from judge.problem import Problem
from judge.store.accounts import LOCAL_USER, Caller, user_named
from judge.store.database import Database
from judge.store.desk import Room
from judge.store.submissions import Stored, note_problem

_log = structlog.get_logger()


@dataclass
class Service:
    """problems: those that are served, in their order. broken: reasons why the others are not.

    stored: what else belongs into the transaction in which a submission begins to wait, such as a job of a queue.
    """

    settings: ApiSettings
    database: Database
    problems: dict[str, Problem] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    stored: Stored | None = None

    def __post_init__(self) -> None:
        settings = self.settings
        self.hub = Hub(self.database, bell_of(settings.changed_bell))
        self.submit_limit = RateLimit("submit", settings.submit_rate)
        self.read_limit = RateLimit("read", settings.read_rate)
        self.streams = StreamLimit(settings.max_streams, settings.max_streams_of_user)
        self.room = Room(settings.max_waiting, settings.max_waiting_of_user)
        self.intake = Intake(self.database, self.room, self.stored)
        self.known_local_caller: Caller | None = None

    def load_problems(self) -> None:
        """Import every problem; one that is broken is left out and said, the others are served."""
        for problem_id in find_problems():
            try:
                self.problems[problem_id] = load_problem(problem_id)
            except (JudgeError, ArithmeticError, AttributeError, ImportError, LookupError, OSError) as error:
                self.broken[problem_id] = f"{type(error).__name__}: {error}"
            except (AssertionError, SyntaxError, TypeError, ValueError, RuntimeError) as error:
                self.broken[problem_id] = f"{type(error).__name__}: {error}"
        for problem_id, reason in self.broken.items():
            _log.error("problem is not served", problem=problem_id, reason=reason)

    def note_problems(self) -> None:
        with self.database.write() as session:
            for problem in self.problems.values():
                note_problem(session, problem.id, problem.version, problem.title)

    def local_caller(self) -> Caller:
        """Who asks where no login is asked for."""
        if self.known_local_caller is None:
            with self.database.write() as session:
                user_id = user_named(session, LOCAL_USER)
            self.known_local_caller = Caller(user_id, LOCAL_USER, frozenset({"admin"}))
        return self.known_local_caller


def service_of(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
