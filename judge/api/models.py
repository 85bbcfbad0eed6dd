"""What callers send and get: the schemas of the OpenAPI description."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, field_validator, model_validator
from pydantic_core import PydanticCustomError

from judge.records import ProblemReference, Report
from judge.verdict import Verdict

MAX_SOURCE_BYTES = 256 * 1024
MAX_MEMBERS = 64
SOURCE_TOO_LARGE = "source_too_large"

State = Literal["queued", "running", "done", "cancelled"]
Visibility = Literal["private", "unlisted", "public"]

EXAMPLE_SOURCE = """// @launch merge<<<num_seqs * num_heads, D>>>(o_part, m_part, l_part, out, S)
__global__ void merge(const float* o_part, const float* m_part, const float* l_part, float* out, int S) {}
"""
EXAMPLE_ID = "5f2b8c1e9a7d4036b1c2d3e4f5a60718"


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class NewSubmission(BaseModel):
    """A kernel to judge. Only what stands here can be chosen; limits and compiler options are the problem's."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={"example": {"problem": "splitk-merge", "source": EXAMPLE_SOURCE, "backend": "cpu"}},
    )

    problem: Annotated[StrictStr, Field(description="Id of the problem.", min_length=1, max_length=64)]
    source: Annotated[StrictStr, Field(description="The .cu file, at most 256 KiB of UTF-8 without NUL.")]
    name: Annotated[
        StrictStr,
        Field(
            description="How the report calls the file.", min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$"
        ),
    ] = "submission.cu"
    backend: Annotated[
        Literal["auto", "cpu", "cuda"],
        Field(description="auto judges on the CPU, and on a GPU too where the server has one."),
    ] = "auto"
    device: Annotated[
        StrictStr | None,
        Field(description="Which kind of GPU, as GET /devices names it.", max_length=32, pattern=r"^[a-z0-9-]+$"),
    ] = None
    cases: Annotated[Literal["all", "sample", "bench"], Field(description="Which group of cases.")] = "all"
    visibility: Annotated[
        Visibility, Field(description="private: yours; unlisted: whoever has the id; public: listed for all.")
    ] = "private"
    seed: Annotated[
        StrictInt | None,
        Field(
            description="Seed of the inputs, a whole number that JSON keeps exactly; drawn when null.",
            ge=0,
            le=2**53 - 1,
        ),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _few_members(cls, given: Any) -> Any:
        # Each unknown member is an error of its own, and a body has room for a hundred thousand of them.
        if isinstance(given, dict) and len(given) > MAX_MEMBERS:
            raise ValueError(f"{len(given)} members, at most {MAX_MEMBERS}")
        return given

    @field_validator("source", "name", "problem")
    @classmethod
    def _storable(cls, text: str) -> str:
        at = text.find("\0")
        if at >= 0:
            raise ValueError(f"a NUL at byte {len(text[:at].encode('utf-8', 'replace'))}; text holds none")
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise ValueError(f"character {error.start} is half of a surrogate pair, so this is no Unicode") from None
        if size > MAX_SOURCE_BYTES:
            raise PydanticCustomError(SOURCE_TOO_LARGE, f"{size} bytes, at most {MAX_SOURCE_BYTES}")
        return text


class Links(Answer):
    self: str
    events: str
    source: str
    attempts: str
    report: str


class SubmissionAnswer(Answer):
    """A submission as it stands. verdict, message and report are those of the last attempt that was finished."""

    id: str = Field(description="128 random bits in hex.")
    state: State
    problem: ProblemReference
    name: str
    backend: Literal["auto", "cpu", "cuda"]
    device: str | None
    cases: Literal["all", "sample", "bench"]
    visibility: Visibility
    user: str
    queue: str
    position: int | None = Field(default=None, description="Its place in the queue, 1 is next; null when it runs.")
    waiting_for: str | None = Field(default=None, description="Set when no device that is ready serves the queue.")
    attempt: int = Field(description="Number of the last attempt, 0 before the first.")
    events: int = Field(description="Number of the last event.")
    verdict: Verdict | None = None
    message: str | None = None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    links: Links
    report: Report | None = Field(default=None, description="Only in GET /submissions/{id}, once there is one.")


class SubmissionPage(Answer):
    items: tuple[SubmissionAnswer, ...]
    next: str | None = Field(description="Cursor of the next page; null on the last.")


class AttemptAnswer(Answer):
    number: int
    state: Literal["running", "done", "failed", "lost", "returned", "cancelled"]
    worker: str
    problem_version: str | None
    verdict: Verdict | None
    incident: str | None
    reason: str | None = Field(description="Why it ended without a report.")
    judge_version: str | None = Field(description="What judged it; null without a report, as devices and seed.")
    devices: tuple[str, ...] = Field(description="Where it was judged: the CPU, a GPU, or both.")
    seed: int | None
    started_at: datetime
    finished_at: datetime | None
    report: str | None = Field(description="Address of its report.")


class CaseAnswer(Answer):
    name: str
    group: Literal["sample", "hidden", "bench"]
    doc: str
    parameters: dict[str, int | float | bool]


class ProblemAnswer(Answer):
    id: str
    title: str
    summary: str
    version: str
    cases: tuple[CaseAnswer, ...]
    statement: str | None = Field(default=None, description="Markdown; only in GET /problems/{id}.")
    starter: str | None = Field(default=None, description="Only in GET /problems/{id}.")


class DeviceAnswer(Answer):
    id: str
    kind: Literal["cpu", "cuda"]
    name: str
    arch: str
    isolation: Literal["isolated", "restricted", "none"]
    queues: tuple[str, ...]
    state: Literal["starting", "ready", "quarantined", "gone"]
    roofs: dict[str, float] = Field(
        description="Rates of a GPU that were last measured beside a time: read_gbs, copy_gbs, f32_tflops and so on."
    )
    reason: str
    seen_at: datetime
    judged_at: datetime | None


class QueueAnswer(Answer):
    queue: str
    waiting: int
    oldest_s: float = Field(description="How long the first of them has waited.")


class LeaderboardRow(Answer):
    """rank: shared by those whose 95% intervals overlap with the first of them."""

    rank: int
    user: str
    submission: str
    problem_version: str
    device: str
    case: str
    median_us: float
    low_us: float
    high_us: float
    bandwidth_gbs: float | None
    roofline_fraction: float | None
    measured_at: datetime


class StatusAnswer(Answer):
    version: str
    devices: tuple[DeviceAnswer, ...]
    queues: tuple[QueueAnswer, ...]
    broken_problems: dict[str, str]
    limits: dict[str, int | None]


class ProblemDetails(Answer):
    """An error, as of RFC 9457."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "urn:kernel-judge:error:no_such_problem",
                "title": "There is no such problem.",
                "status": 404,
                "detail": "No problem is called 'splitk-merg'. Did you mean splitk-merge?",
                "code": "no_such_problem",
            }
        }
    )

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[dict[str, str]] | None = None
    incident: str | None = None


def moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def known_moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def as_report(text: str) -> Report | None:
    """The stored report; None for one of a schema that is no longer read."""
    try:
        return Report.model_validate_json(text)
    except ValueError:
        return None


Responses = dict[int | str, dict[str, Any]]


def errors_of(*statuses: int) -> Responses:
    """The error answers of a route for its OpenAPI description."""
    return {
        status: {
            "model": ProblemDetails,
            "description": "An error",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for status in sorted({*statuses, 400, 401, 403, 422, 429, 500, 503})
    }
