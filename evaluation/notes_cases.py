"""Sessions that are compacted in the middle of the work: what was said and done, what a model noted, what the next prompt needs.

Each case: its working directory; turns of (message, calls, answer), where a call is (tool, input, answer, is_error); what a
player wrote who was shown the session as the agent for notes is; the next prompt; and the facts that somebody needs to do
what it asks, each a question that would have to be asked again and words of which one tells the answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Call = tuple[str, dict[str, Any], str, bool]


class ContinuedCase(NamedTuple):
    name: str
    turns: tuple[tuple[str, tuple[Call, ...], str], ...]
    written: dict[str, str]
    prompt: str
    needed: tuple[tuple[str, tuple[str, ...]], ...]


def run(command: str, answer: str = "ok", *, fails: bool = False) -> Call:
    return ("Bash", {"command": command}, f"Exit code 1\n{answer}" if fails else answer, fails)


def edit(path: str, text: str = "def changed(): ...") -> Call:
    return ("Edit", {"file_path": f"/code/{path}", "old_string": "x", "new_string": text}, "done", False)


def look(path: str, text: str = "...") -> Call:
    return ("Read", {"file_path": f"/code/{path}"}, text, False)


CASES = (
    ContinuedCase(
        "voucher",
        (
            (
                "The checkout counts a voucher twice when the cart is reloaded. Find out why. Do not touch the tax code, Mira is rewriting it on her branch.",
                (look("shop/cart.py"), run("pytest tests/cart -q", "2 failed, 31 passed", fails=True)),
                "The voucher is applied in Cart.load and again in Cart.total: reload calls both. The flag `applied` is not stored in the session cookie.",
            ),
            (
                "ok, then store the flag, but in the orders table, not in the cookie: the cookie is at its size limit already",
                (edit("shop/orders.py", "class OrderRow:"), edit("shop/migrations/0042_voucher_applied.py")),
                "Column voucher_applied added in migration 0042, read in Cart.load.",
            ),
            (
                "the staging database is on port 5544, use that for trying the migration",
                (run("DB_PORT=5544 make migrate", "0042 applied in 3.1s"),),
                "Applied on staging.",
            ),
        ),
        {
            "Current State": "Voucher fix: migration 0042 (orders.voucher_applied) applied on staging (port 5544). Cart.load reads it. Next: Cart.total must stop applying it a second time, then tests/cart.",
            "Task": "Fix double voucher on reload. Flag lives in the orders table, not the cookie (cookie size limit). Tax code is off limits: Mira rewrites it on her branch.",
            "Errors and Corrections": "Cause: Cart.load and Cart.total both apply the voucher on reload.",
        },
        "Now finish the fix and try it on staging again.",
        (
            ("where is the flag stored?", ("orders table",)),
            ("which code applies it twice?", ("Cart.total",)),
            ("which port is staging's database on?", ("5544",)),
            ("what must not be touched?", ("tax code", "Tax code")),
            ("which tests tell whether it works?", ("tests/cart",)),
        ),
    ),
    ContinuedCase(
        "ingest-lag",
        (
            (
                "Our ingest lags by 40 minutes every Monday. Target is under five. Kafka's settings are managed by another team, so only change our consumer.",
                (look("ingest/consumer.py"), run("python tools/lag.py --day mon", "p99 lag 2412 s")),
                "On Mondays one partition holds 61 % of the messages, keyed by tenant 8812: one worker does all of it.",
            ),
            (
                "split that tenant by document id then. but keep the order within a document!",
                (edit("ingest/partitioning.py", "def partition_key(message):"),),
                "partition_key uses tenant and document id for tenants listed in HOT_TENANTS.",
            ),
            (
                "run the replay of last monday, it's tools/replay.py with --day 2026-11-09",
                (run("python tools/replay.py --day 2026-11-09", "p99 lag 388 s, 0 out of order"),),
                "The lag falls to 388 s, above the five minutes. The rest is spent in the dedup query without an index.",
            ),
        ),
        {
            "Current State": "Replay of 2026-11-09: p99 388 s, target 300 s. Remaining time is the dedup query, which has no index. Next: index for it, then replay again.",
            "Task": "Monday lag under five minutes by changing our consumer only; Kafka settings belong to another team. Order within a document must be kept.",
            "Learnings": "Tenant 8812 holds 61 % of Monday's messages on one partition; HOT_TENANTS in partitioning.py splits it by document id.",
        },
        "Do what is left to reach the target and replay.",
        (
            ("what is the target?", ("under five", "five minutes", "300 s")),
            ("how is the replay run?", ("tools/replay.py --day 2026-11-09",)),
            ("what takes the rest of the time?", ("dedup query",)),
            ("what must be kept when messages are split?", ("order within a document",)),
            ("may Kafka be configured?", ("another team",)),
        ),
    ),
    ContinuedCase(
        "cli-rename",
        (
            (
                "We rename the command `sync push` to `sync send`. The old name has to work until version 5, with a warning on stderr, exit code unchanged.",
                (look("cli/sync.py"), edit("cli/sync.py", "def send(arguments):")),
                "send is there, push calls it and warns.",
            ),
            (
                "the warning must not appear when --json is given, scripts parse stderr too at Hagen's",
                (edit("cli/sync.py", "def warn_renamed(name):"), run("pytest tests/cli -q", "58 passed")),
                "warn_renamed is silent with --json.",
            ),
            (
                "docs: docs/sync.md and the man page. don't edit docs/reference, it is generated by make docs",
                (edit("docs/sync.md"), run("make docs", "docs/reference written")),
                "docs/sync.md is done, the man page man/sync.1 still says push.",
            ),
        ),
        {
            "Current State": "Code and docs/sync.md done. Left: man/sync.1 still says push.",
            "Task": "Rename sync push to sync send; push works until version 5 with a warning on stderr and the same exit code; no warning with --json (Hagen's scripts parse stderr). docs/reference is generated by make docs, never edited.",
        },
        "Finish what is left and write the changelog line.",
        (
            ("what is still to be done?", ("man page", "man/sync.1")),
            ("until when does the old name work?", ("until version 5",)),
            ("when is there no warning?", ("--json",)),
            ("what must not be edited by hand?", ("docs/reference",)),
        ),
    ),
    ContinuedCase(
        "flaky-test",
        (
            (
                "test_reconnect fails about once in thirty runs on CI. I want the cause, not a retry.",
                (
                    look("net/session.py"),
                    run("pytest tests/net -k reconnect --count 100", "3 failed, 97 passed", fails=True),
                ),
                "The timer of the old connection is cancelled after the new one is opened, so for a moment both are armed.",
            ),
            (
                "I tried a lock there last year, it deadlocks with the heartbeat thread. find another way",
                (edit("net/session.py", "def replace_connection(self):"),),
                "replace_connection disarms the old timer before it opens the new connection.",
            ),
            (
                "run it 500 times with the sanitizer: make stress N=500",
                (run("make stress N=500", "1 failed: heartbeat fired after close", fails=True),),
                "One failure is left: the heartbeat fires after close.",
            ),
        ),
        {
            "Current State": "One of 500 stress runs still fails: heartbeat fires after close. Next: cancel the heartbeat in close before the socket goes, then make stress N=500.",
            "Task": "Find the cause of the flaky test_reconnect; no retries.",
            "Errors and Corrections": "No lock: tried last year, deadlocks with the heartbeat thread.",
        },
        "Fix the last failure and verify it.",
        (
            ("what fails still?", ("heartbeat fired after close", "heartbeat fires after close")),
            ("how is it verified?", ("make stress N=500",)),
            ("why not a lock?", ("deadlocks with the heartbeat",)),
            ("is a retry acceptable?", ("not a retry", "no retries")),
            ("which function was changed?", ("replace_connection",)),
        ),
    ),
    ContinuedCase(
        "report-export",
        (
            (
                "Finance wants the quarterly report as CSV. Semicolons, decimal comma, dates as DD.MM.YYYY, and UTF-8 with BOM because of Excel.",
                (look("reports/export.py"), edit("reports/export.py", "def write_csv(rows, file):")),
                "write_csv has the dialect `finance`.",
            ),
            (
                "negative numbers in parentheses, they insist",
                (edit("reports/export.py", "def amount(value):"), run("pytest tests/reports -q", "14 passed")),
                "amount formats -12.5 as (12,50).",
            ),
            (
                "Deniz from finance checks it, send her the file for Q3, it's in /srv/reports/2026-q3.csv. totals have to match 1,284,330.17",
                (run("python -m reports.export --quarter 2026-q3", "total 1284330.17"),),
                "The total matches.",
            ),
        ),
        {
            "Task": "Quarterly CSV for finance: semicolons, decimal comma, DD.MM.YYYY, UTF-8 with BOM, negatives in parentheses.",
            "Current State": "Q3 exported, total 1,284,330.17 matches. Deniz (finance) checks /srv/reports/2026-q3.csv.",
            "Workflow": "python -m reports.export --quarter 2026-q3",
        },
        "Now add the same as XLSX, formatted the same way, and tell me who has to look at it.",
        (
            ("how are dates written?", ("DD.MM.YYYY",)),
            ("how are negative numbers written?", ("parentheses",)),
            ("who checks it?", ("Deniz",)),
            ("which command exports?", ("python -m reports.export",)),
            ("what has the total to be?", ("1,284,330.17", "1284330.17")),
        ),
    ),
    ContinuedCase(
        "auth-migration",
        (
            (
                "We move logins from the old session table to tokens. Users must not be logged out. Keep bcrypt cost 12.",
                (look("auth/login.py"), edit("auth/tokens.py", "class TokenStore:")),
                "TokenStore issues a token when an old session is seen, and marks the session as moved.",
            ),
            (
                "tokens live 30 days, refresh only in the last 7. and no JWT, security review said no",
                (edit("auth/tokens.py", "def refresh(self, token):"), run("pytest tests/auth -q", "77 passed")),
                "Opaque tokens, 30 days, refreshed within the last 7.",
            ),
            (
                "the mobile app sends the cookie as X-Session header, support both",
                (edit("auth/middleware.py", "def session_of(request):"), run("make smoke", "mobile login: 401", fails=True)),
                "The smoke test of the mobile login fails with 401: the header is stripped by the proxy in deploy/nginx.conf.",
            ),
        ),
        {
            "Current State": "make smoke fails: mobile login 401, because deploy/nginx.conf strips X-Session. Next: let the header pass, run make smoke.",
            "Task": "Logins to opaque tokens without logging anybody out: 30 days, refresh in the last 7, no JWT (security review), bcrypt cost 12 stays; mobile app uses X-Session.",
        },
        "Get the smoke test green.",
        (
            ("what fails?", ("mobile login: 401", "mobile login 401")),
            ("where is the cause?", ("deploy/nginx.conf",)),
            ("which header is it?", ("X-Session",)),
            ("may JWT be used?", ("no JWT",)),
            ("how is it checked?", ("make smoke",)),
        ),
    ),
    ContinuedCase(
        "image-resize",
        (
            (
                "Thumbnails of portrait photos are rotated. Write a fix and a test with the sample in fixtures/rotated.jpg. Pillow stays at 10, the license check of 11 is not done.",
                (look("media/resize.py"), edit("media/resize.py", "def thumbnail(image, size):")),
                "EXIF orientation is applied before the resize.",
            ),
            (
                "good. but strip the other EXIF data, GPS must never be published",
                (edit("media/resize.py", "def without_exif(image):"), run("pytest tests/media -q", "9 passed")),
                "Only the pixels are kept.",
            ),
            (
                "backfill: all thumbnails since march. at most 4 workers, the nas is slow",
                (run("python -m media.backfill --since 2026-03-01 --workers 4", "12,400 of 90,211 done, stopped"),),
                "Stopped by the maintenance window at 12,400 of 90,211; it can go on with --resume.",
            ),
        ),
        {
            "Current State": "Backfill stopped at 12,400 of 90,211 by the maintenance window; goes on with --resume.",
            "Task": "Rotated thumbnails fixed with EXIF; all other EXIF stripped (GPS must never be published). Pillow stays at 10. Backfill since March with at most 4 workers (NAS is slow).",
            "Workflow": "python -m media.backfill --since 2026-03-01 --workers 4 --resume",
        },
        "The window is over, go on with the backfill.",
        (
            ("which command?", ("media.backfill --since 2026-03-01 --workers 4",)),
            ("how does it go on?", ("--resume",)),
            ("how far is it?", ("12,400",)),
            ("why four workers?", ("nas is slow", "NAS is slow")),
        ),
    ),
    ContinuedCase(
        "search-ranking",
        (
            (
                "Search ranks archived pages above live ones. Metric is ndcg@10 on eval/queries.tsv, baseline 0.61, I want 0.70 without slowing queries beyond 80 ms.",
                (look("search/rank.py"), run("python -m search.eval", "ndcg@10 0.611, p95 64 ms")),
                "Archived pages have more links, which weigh 0.4.",
            ),
            (
                "don't drop archived pages, legal needs to find them; just rank them lower",
                (edit("search/rank.py", "def score(page, query):"), run("python -m search.eval", "ndcg@10 0.668, p95 66 ms")),
                "A factor of 0.3 for archived pages: 0.668.",
            ),
            (
                "title matches should count more too",
                (edit("search/rank.py", "TITLE_WEIGHT = 2.5"), run("python -m search.eval", "ndcg@10 0.693, p95 71 ms")),
                "0.693 with TITLE_WEIGHT 2.5. With 3.0 it was 0.671: do not go higher.",
            ),
        ),
        {
            "Current State": "ndcg@10 0.693, p95 71 ms; target 0.70 within 80 ms.",
            "Task": "Rank archived pages lower without dropping them (legal). Metric: ndcg@10 on eval/queries.tsv, baseline 0.61, wanted 0.70, p95 at most 80 ms.",
            "Learnings": "TITLE_WEIGHT 2.5 is best so far; 3.0 gave 0.671. Archived factor 0.3.",
        },
        "Try to get the last bit.",
        (
            ("what is the target?", ("0.70",)),
            ("where are we?", ("0.693",)),
            ("how is it measured?", ("python -m search.eval",)),
            ("may archived pages be dropped?", ("don't drop archived", "without dropping them")),
            ("what did a higher title weight do?", ("0.671",)),
        ),
    ),
    ContinuedCase(
        "schema-docs",
        (
            (
                "Write the data dictionary for the warehouse, one page per table, plain language, for analysts who don't know SQL. Start with orders, customers, refunds.",
                (look("warehouse/schema.sql"), edit("docs/tables/orders.md"), edit("docs/tables/customers.md")),
                "orders and customers are written.",
            ),
            (
                "less jargon: say 'the day the money came back', not settlement_date. that tone everywhere",
                (edit("docs/tables/orders.md"), edit("docs/tables/customers.md")),
                "Both are rewritten in that tone.",
            ),
            (
                "and each page ends with three example questions it can answer",
                (edit("docs/tables/orders.md"),),
                "orders has its three questions; customers does not yet, and refunds is not begun.",
            ),
        ),
        {
            "Current State": "orders.md complete; customers.md lacks its three example questions; refunds.md not begun.",
            "Task": "Data dictionary, one page per table in docs/tables, plain language for analysts without SQL: 'the day the money came back' instead of settlement_date. Each page ends with three example questions.",
        },
        "Go on with what is missing.",
        (
            ("which page is not begun?", ("refunds",)),
            ("what does each page end with?", ("three example questions",)),
            ("what tone?", ("the day the money came back",)),
            ("what is missing in customers?", ("customers does not yet", "customers.md lacks")),
            ("who reads it?", ("analysts",)),
        ),
    ),
    ContinuedCase(
        "gpu-build",
        (
            (
                "The nightly GPU build breaks since Tuesday. Driver 570 is fixed by the lab, we cannot raise it.",
                (run("make nightly", "nvcc: unsupported gpu architecture 'compute_120'", fails=True), look("build/cuda.mk")),
                "cuda.mk asks for compute_120, which needs toolkit 13; the image has 12.8.",
            ),
            (
                "then build for 90 and 100 only, but guarded by a variable so that we can turn it on again",
                (edit("build/cuda.mk", "ARCHS ?= 90 100"), run("make nightly", "linking... undefined symbol cublasLtMatmulV2", fails=True)),
                "It compiles; linking fails on cublasLtMatmulV2, which 12.8 does not have.",
            ),
            (
                "kernels/gemm.cu was written by Oskar for 13, use the old path kernels/gemm_v1.cu behind the same variable",
                (edit("build/cuda.mk", "GEMM ?= gemm_v1"), run("make nightly", "ok, 211 objects"), run("make check-gpu", "gemm: max error 3e-2", fails=True)),
                "It builds. check-gpu fails: the error of gemm is 3e-2, allowed is 1e-3.",
            ),
        ),
        {
            "Current State": "make nightly builds (ARCHS 90 100, GEMM gemm_v1). make check-gpu fails: gemm max error 3e-2, allowed 1e-3. Next: find why gemm_v1 is inexact.",
            "Task": "Repair the nightly GPU build with driver 570 and toolkit 12.8 as they are. Everything new is guarded by variables in build/cuda.mk so that it can be turned on again.",
        },
        "Find out why the check fails.",
        (
            ("which check, and how is it run?", ("make check-gpu",)),
            ("what does it say?", ("3e-2",)),
            ("what is allowed?", ("1e-3",)),
            ("which kernel is in use?", ("gemm_v1",)),
            ("may the driver be raised?", ("cannot raise", "driver 570")),
        ),
    ),
)  # fmt: skip
