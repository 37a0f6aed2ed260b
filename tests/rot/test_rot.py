"""Rot is found where git's history proves it, and nowhere else, whatever the repository tries."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from memoryd.rot import git
from memoryd.rot.check import Gone, Repository, check
from memoryd.rot.claims import Claim
from memoryd.rot.history import parse_log
from tests.rot.repository import MAKEFILE, Checkout, verdict, with_a_past

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shop(tmp_path: Path) -> Checkout:
    return with_a_past(tmp_path / "shop")


STALE = [
    ("Mail goes out in src/shop/mail.py.", "src/shop/mail.py", "deleted 2026-07-03"),
    ("Mail goes out in `mail.py`.", "mail.py", "deleted 2026-07-03"),
    ("Sessions: `shop/session.py`", "shop/session.py", "moved to src/shop/store.py 2026-06-02"),
    ("Odd ones are in `src/old/`", "src/old/", "deleted 2026-07-03"),
    ("Odd ones are in `src/old`", "src/old", "deleted 2026-07-03"),
    ("Look at src/old/*.py first", "src/old/*.py", "deleted 2026-07-03"),
    ("Start it with `./scripts/run.sh --fast`", "./scripts/run.sh", "deleted 2026-07-03"),
    ("`load_cart` caches", "load_cart", "not in the code since 2026-07-03"),
    ("`CartTotal.load_cart()` caches", "CartTotal.load_cart", "not in the code since 2026-07-03"),
    ("`send_mail()` retries", "send_mail", "not in the code since 2026-07-03"),
    ("Fill it by `make seed`", "make seed", "no such target in Makefile since 2026-07-03"),
    ("`npm run story:book`", "npm run story:book", "no such script in package.json since 2026-07-03"),
    ("`just release 1.2`", "just release", "no such recipe in justfile since 2026-07-03"),
    ("`python -m shop.tools.seed`", "python -m shop.tools.seed", "deleted 2026-07-03"),
]

GOOD = [
    # --- still there
    "src/shop/cart.py, `cart.py`, `shop/store.py`, `src/shop/`, docs/*.md, `docs/guide.md`, `Makefile`",
    "`CartTotal`, `CartTotal.round_up()`, `SESSION_LIMIT`, `SessionCache.evict_all`",
    "`make test`, `make lint`, `npm run lint`, `npm run dev`, `just build`",
    # --- generated, and git ignores it
    "The bundle is `dist/bundle.js`, in `dist/`.",
    # --- never here: libraries, services, other repositories, plans, names of people and flags
    "`asyncio.gather` and `BaseModel.model_validate()`",
    "The flag is `new_checkout_flow`",
    "The metric `http_requests_total` is on the board",
    "The table `shipments_archive` is read-only",
    "Terraform is in infra/main.tf",
    "Put new ones into `src/shop/api/v3/orders.py`",
    "The board is owned by `jane_doe`",
    "Answers look like `{ok: true}`, errors like `ERR_CART_EMPTY`",
    "`make deploy` needs the VPN",
    "`npm run e2e` is flaky",
    "`python -m http.server`, `python -m shop.admin.users`",
    "`./gradlew build` and `./bin/tool`",
    "The client keeps it in `/var/lib/shop/state.json`",
    # --- the memory knows it
    "We deleted src/shop/mail.py, the provider does it now.",
    "`load_cart` is gone since July; `CartTotal` replaced it.",
    "Never use `make seed` on staging.",
    "`SessionCache` moved from `src/shop/session.py` to `src/shop/store.py`",
    "`send_mail` wurde entfernt.",
    "不要再用 `load_cart`。",
    # --- about something else: most of what it names was never here
    "In the mobile app `mail.py` calls `push_token()` and `badge_count()`",
]


@pytest.mark.parametrize(("text", "name", "why"), STALE)
def test_what_history_knows_and_the_files_do_not_is_gone(shop: Checkout, text: str, name: str, why: str) -> None:
    assert verdict(shop, text) == [(name, why)]


@pytest.mark.parametrize("text", GOOD)
def test_a_good_memory_is_not_flagged(shop: Checkout, text: str) -> None:
    assert verdict(shop, text) == []


def test_many_memories_are_checked_at_once(shop: Checkout) -> None:
    memories = {f"{number}.md": text for number, text in enumerate([row[0] for row in STALE] + GOOD)}
    found = check(memories, Repository(str(shop.root)))
    assert list(found) == [f"{number}.md" for number in range(len(STALE))]
    assert found["0.md"] == (Gone(Claim("path", "src/shop/mail.py"), "deleted 2026-07-03"),)


def test_gone_is_what_was_here(shop: Checkout) -> None:
    claims = {name: Claim("path", name) for name in ("src/shop/mail.py", "src/shop/cart.py", "never/was/here.py")}
    assert Repository(str(shop.root)).gone(claims.values()) == {claims["src/shop/mail.py"]}


def test_an_absolute_path_counts_inside_of_the_root(shop: Checkout) -> None:
    inside = f"{shop.root}/src/shop/mail.py"
    assert verdict(shop, f"It is {inside}, not /srv/x/src/shop/mail.py") == [(inside, "deleted 2026-07-03")]


def test_what_came_back_is_there(shop: Checkout) -> None:
    shop.commit({"src/shop/mail.py": "def send_mail(): ...\n"})
    assert verdict(shop, "`send_mail` in src/shop/mail.py") == []


def test_a_file_that_is_not_committed_yet_is_there(shop: Checkout) -> None:
    shop.write({"lib/mail.py": "def load_cart(): ...\n"})
    assert verdict(shop, "`mail.py` has `load_cart`") == []


def test_a_file_that_is_not_checked_out_is_there(shop: Checkout) -> None:
    """As in a sparse checkout, or after an `rm` that nobody has committed."""
    shop.commit({"src/shop/cart.py": "class CartTotal: ...\n"}, day="2026-08-09")
    assert verdict(shop, "`round_up` rounds") == [("round_up", "not in the code since 2026-08-09")]
    shop.commit({"src/shop/tax.py": "def round_up(): ...\n"})
    (shop.root / "src/shop/tax.py").unlink()
    assert verdict(shop, "`round_up` is in src/shop/tax.py") == []


def test_a_branch_that_was_merged_counts(shop: Checkout) -> None:
    shop.git("checkout", "-q", "-b", "side")
    shop.commit(without=("docs/guide.md",), day="2026-08-01")
    shop.git("checkout", "-q", "main")
    assert verdict(shop, "See docs/guide.md") == []
    shop.commit({"README.md": "x"})
    shop.day = "2026-08-05"
    shop.git("merge", "-q", "--no-ff", "side", "-m", "merge")
    shop.git("config", "log.diffMerges", "off")
    assert verdict(shop, "See docs/guide.md") == [("docs/guide.md", "deleted 2026-08-05")]


def test_targets_that_are_computed_may_be_anything(shop: Checkout) -> None:
    shop.commit({"Makefile": "se%:\n\techo\n"})
    assert verdict(shop, "`make seed`") == []
    shop.commit({"Makefile": "$(TARGETS:a=b): x\n"})
    assert verdict(shop, "`make seed`") == []
    shop.commit({"Makefile": "all:\n", "tools/db.mk": "seed:\n"})
    assert verdict(shop, "`make seed`") == []
    shop.commit({"Makefile": "all:\n"}, without=("tools/db.mk",))
    assert verdict(shop, "`make seed`") != []


def test_a_worktree_is_looked_at_by_itself(shop: Checkout, tmp_path: Path) -> None:
    shop.git("worktree", "add", "-q", str(tmp_path / "side"), "-b", "side")
    side = Checkout.__new__(Checkout)
    side.root, side.day = tmp_path / "side", "2026-09-01"
    before = Repository(str(side.root)).stamp()
    assert before.split()[0] == shop.git("rev-parse", "HEAD")
    side.commit(without=("docs/guide.md",))
    assert Repository(str(side.root)).stamp() != before
    assert verdict(side, "See docs/guide.md") == [("docs/guide.md", "deleted 2026-09-01")]
    assert verdict(shop, "See docs/guide.md") == []


def test_what_a_submodule_took_over_is_not_gone(shop: Checkout, tmp_path: Path) -> None:
    library = Checkout(tmp_path / "library")
    library.commit({"other.py": "x\n"})
    shop.commit({"vendor/lib/core.py": "x\n"})
    shop.commit(without=("vendor",))
    assert verdict(shop, "See vendor/lib/core.py") != []
    shop.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.root), "vendor/lib")
    shop.commit()
    assert verdict(shop, "See vendor/lib/core.py and `vendor/lib/`") == []


# --- the stamp --------------------------------------------------------------------------------------------------------


def test_the_stamp_changes_with_every_commit_and_only_then(shop: Checkout) -> None:
    repository = Repository(str(shop.root))
    first = repository.stamp()
    assert first.split()[0] == shop.git("rev-parse", "HEAD")
    assert repository.stamp() == first
    shop.commit({"x.py": "x"})
    second = repository.stamp()
    shop.git("pack-refs", "--all")
    assert repository.stamp() == second != first
    shop.git("checkout", "-q", "--detach", "HEAD~1")
    assert repository.stamp().split()[0] == first.split()[0]


def test_the_stamp_of_a_directory_without_git_is_its_time(tmp_path: Path) -> None:
    assert Repository(str(tmp_path)).stamp() == str(tmp_path.stat().st_mtime_ns)
    assert Repository(str(tmp_path / "nowhere")).stamp() == ""


# --- nothing can be said ----------------------------------------------------------------------------------------------


def test_nothing_is_said_of_a_root_that_is_not_there(shop: Checkout, tmp_path: Path) -> None:
    repository = Repository(str(tmp_path / "nowhere"))
    assert (repository.problem, check({"a.md": "src/a.py"}, repository)) == ("its directory is not there", {})
    shop.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    assert Repository(str(tmp_path / "bare.git")).problem == "it is a bare repository, without files"


def test_nothing_is_said_where_git_fails(shop: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop.root / ".git/index").write_bytes(b"no index")
    assert Repository(str(shop.root)).problem == "git cannot read it"
    assert verdict(shop, "See src/shop/mail.py") == []
    monkeypatch.setattr(git, "_PATH", "/nowhere")
    assert Repository(str(shop.root)).problem == "git is not installed"


def test_nothing_is_said_before_the_first_commit(tmp_path: Path) -> None:
    fresh = Checkout(tmp_path / "fresh")
    fresh.write({"src/a.py": "x"})
    assert verdict(fresh, "src/b.py and `load_cart`") == []
    assert Repository(str(fresh.root)).problem == ""


def test_git_is_ended_when_it_takes_too_long(shop: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(shop.root / "excludes")
    shop.git("config", "core.excludesFile", str(shop.root / "excludes"))  # reading it never ends
    monkeypatch.setattr(git, "SECONDS", 0.5)
    assert Repository(str(shop.root)).problem == "git cannot read it"


# --- without git ------------------------------------------------------------------------------------------------------


@pytest.fixture
def plain(tmp_path: Path) -> Checkout:
    plain = Checkout(tmp_path / "plain")
    plain.write({"src/a.py": "x", "Makefile": MAKEFILE, "node_modules/lib/gone.js": "x"})
    shutil.rmtree(plain.root / ".git")
    return plain


def test_without_git_a_memory_must_be_right_in_something_else(plain: Checkout) -> None:
    gone = [("src/b.py", "not found in the directory")]
    assert verdict(plain, "src/a.py calls src/b.py") == gone
    assert verdict(plain, "See src/b.py") == []
    assert verdict(plain, "src/a.py, src/b.py, src/c.py, src/d.py") == []
    assert verdict(plain, "src/a.py and lib/b.py") == []
    assert verdict(plain, "`load_cart` in src/a.py") == []
    assert verdict(plain, "`make test` and `make seed`") == [("make seed", "no such target in Makefile")]


def test_without_git_too_many_files_are_not_looked_through(plain: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.rot.tree.MOST_FILES_WITHOUT_GIT", 2)
    plain.write({"src/x.py": "", "src/y.py": ""})
    assert verdict(plain, "src/a.py calls src/b.py") == []
    assert "too many files" in Repository(str(plain.root)).problem


def test_a_pipe_that_is_called_makefile_is_not_waited_for(plain: Checkout) -> None:
    (plain.root / "Makefile").unlink()
    os.mkfifo(plain.root / "Makefile")
    assert verdict(plain, "src/a.py and `make seed`") == []


# --- limits ------------------------------------------------------------------------------------------------------------


def test_a_history_that_is_cut_off_counts_as_far_as_it_goes(shop: Checkout) -> None:
    whole = git.ask(str(shop.root), "log", "--raw", "--no-abbrev", "--no-renames", "-z", "--format=%x01%cs")
    assert whole is not None
    deleted = parse_log(whole.data).deleted
    assert {"src/shop/mail.py", "src/shop/session.py"} < set(deleted)
    for length in range(len(whole.data)):
        part = parse_log(whole.data[:length].rpartition(b"\0")[0]).deleted
        assert set(part) <= set(deleted)


def test_among_five_thousand_files_what_is_gone_is_found(tmp_path: Path) -> None:
    big = Checkout(tmp_path / "big")
    body = "".join(f"def load_thing_{line}(): return make_thing_{line}()\n" for line in range(60))
    big.commit({f"src/part{number % 50}/file{number}.py": f"{body}{number}\n" for number in range(5000)})
    big.commit(without=("src/part7",), day="2026-08-02")
    memories = {
        f"{number}.md": f"`load_thing_{number}` in src/part{number % 50}/file{number}.py, see `file{number}.py`"
        for number in range(60)
    }
    found = check(memories, Repository(str(big.root)))
    assert sorted(found) == ["57.md", "7.md"]
