"""What a memory claims, and what it merely mentions: a labelled table, most of it of things that are no claims."""

from __future__ import annotations

import time

import pytest

from memoryd.rot.claims import MOST_CHARACTERS, claims_of

PATHS = [
    ("The entry point is src/app/main.py.", ["src/app/main.py"]),
    ("Start with `./scripts/run.sh`", ["scripts/run.sh"]),
    ("`docs/*.md` are built by CI", ["docs/*.md"]),
    ("All of docs/**/*.rst is generated", ["docs/**/*.rst"]),
    ("The `Makefile` has it", ["Makefile"]),
    ("Settings are in `pyproject.toml` and `config.example.toml`.", ["pyproject.toml", "config.example.toml"]),
    ("See `src/app.py:42` and `src/app.py:10-20`", ["src/app.py"]),
    ("It broke in tests/test_cart.py:17, twice", ["tests/test_cart.py"]),
    ("Run `tests/test_a.py::test_total` first", ["tests/test_a.py"]),
    ("Fixtures live in `tests/fixtures/`", ["tests/fixtures/"]),
    ("Put them under src/components/ please", ["src/components/"]),
    ("The handlers are in `app/controllers/api/v2`", ["app/controllers/api/v2"]),
    ("`src/auth` owns sessions", ["src/auth"]),
    ("CI is .github/workflows/ci.yml", [".github/workflows/ci.yml"]),
    ("The parser (src/legacy/parser.py) is fine", ["src/legacy/parser.py"]),
    ("在src/app/main.py里加载用户。", ["src/app/main.py"]),
    ("Die Konfiguration steht in `config/base.yaml`.", ["config/base.yaml"]),
    ("La configuration est dans config/base.yaml.", ["config/base.yaml"]),
    ("設定は `config/base.yaml` にあります。", ["config/base.yaml"]),
    ("Конфиг лежит в config/base.yaml.", ["config/base.yaml"]),
    ("`/home/lin/shop/src/cart.py` holds the cart", ["/home/lin/shop/src/cart.py"]),
    ("Use `pytest tests/unit/test_cart.py -k total`", ["tests/unit/test_cart.py"]),
    ("**src/app/main.py** is the entry", ["src/app/main.py"]),
]
SYMBOLS = [
    ("`load_user` caches", ["load_user"]),
    ("`CartPanel` renders it", ["CartPanel"]),
    ("`useCartTotal` is the hook", ["useCartTotal"]),
    ("Call `retry()` around it", ["retry"]),
    ("Call `retry(times=3)` around it", ["retry"]),
    ("`Cart.total` rounds", ["Cart.total"]),
    ("`SessionCache.evict()` is slow", ["SessionCache.evict"]),
    ("`Session::open` and `Cart#total`", ["Session::open", "Cart#total"]),
    ("`MAX_RETRIES` is 5", ["MAX_RETRIES"]),
    ("`HTTPServer` and `parseURL`", ["HTTPServer", "parseURL"]),
    ("`@retry_twice` decorates it", ["retry_twice"]),
    ("`_internal_state` is private", ["_internal_state"]),
    ("`load_user` 负责加载。", ["load_user"]),
    ("`load_user` lädt den Benutzer.", ["load_user"]),
    ("`load_user` はユーザーを読み込む。", ["load_user"]),
    ("Double ticks: ``load_user``", ["load_user"]),
]
COMMANDS = [
    ("Run `make test` before a push", ["make test"]),
    ("`make -j4 lint test`", ["make lint", "make test"]),
    ("`CI=1 make check`", ["make check"]),
    ("`make t p=tests/quotes`", ["make t"]),
    ("`make lint && make test`", ["make lint", "make test"]),
    ("`npm run lint`", ["npm run lint"]),
    ("`npm test`", ["npm run test"]),
    ("`pnpm run build:web`", ["pnpm run build:web"]),
    ("`yarn storybook`", ["yarn run storybook"]),
    ("`just release 1.2`", ["just release"]),
    ("`./scripts/seed.sh --small`", ["./scripts/seed.sh"]),
    ("`python -m shop.tools.seed`", ["python -m shop.tools.seed"]),
    ("`uv run python3 -m shop.tools.seed`", ["python -m shop.tools.seed"]),
    ("```sh\n$ make seed\nmake serve  # in another window\n```", ["make seed", "make serve"]),
    ("Vor jedem Push `make check` laufen lassen.", ["make check"]),
    ("提交前先运行 `make check`。", ["make check"]),
]
NOTHING = [
    # --- no paths
    "Use TCP/IP, and/or a client/server split, 24/7, n/a, w/ care",
    "Due 2026/10/18 or 10/2026",
    "See https://example.com/docs/guide.html and www.example.com/a/b.md",
    "`https://example.com/a/b.json` and `git@github.com:acme/shop.git`",
    "github.com/acme/shop/blob/main/src/app.py has it",
    "Work on `feature/cart`, `fix/rounding`, `release/8.4` and `lw/PW-22-cache`",
    "Branch names: `origin/main`, `hotfix/2026/10/x`",
    "Answers are `application/json` or `text/html`",
    "Install `@acme/cart` and `@types/node`",
    "The repository is `acme/shop`",
    "`~/.config/shop/config.toml` and ~/.zshrc",
    "`../shared/config.toml` is not ours",
    "`src/locales/{en,de}.json`, `src/<name>.py`, `$HOME/x.sh`, `logs/%Y.json`",
    "`path/to/file.py` and `src/.../x.py`",
    "The route is `/api/users`, the page `/login`",
    "Written in Node.js and `Next.js`, on ASP.NET",
    "Only `.py` files and `*.ts`",
    "[the cutover](project_cutover.md) and [[project_cutover]]",
    "Berlin/Europe, yes/no, input/output, GET/POST, `GET/POST`",
    "ask lin@example.com/x.py",
    "<!-- src/app/main.py -->",
    # --- no symbols
    "`key`, `value`, `main`, `shipments`",
    "load_user and CartPanel without backticks",
    "`--dry-run`, `-x`, `--no-color`",
    "`GitHub`, `TypeScript`, `PostgreSQL`, `PagerDuty`, `LaunchDarkly`, `macOS`, `OpenAPI`",
    "Names are in `snake_case`, classes in `PascalCase`, not `camelCase`",
    "Like `foo_bar`, `MyClass` or `your_name`",
    "`__init__` and `__name__`",
    "`DATABASE_URL`, `STRIPE_API_KEY` and `AWS_REGION`",
    "Set `SHOP_FAST_MODE` in the environment",
    "`SHOP_FAST_MODE` ist eine Umgebungsvariable",
    "环境变量 `SHOP_FAST_MODE` 要设置",
    "`1.2.3`, `v2`, `9f3c2ab`, `pg-ro.internal`, `Booking.com`",
    "`retryable = True` and `lock_timeout = '3s'`",
    '`t("key")`',
    "`select count(*) from orders`",
    "```python\nload_user(cart_id)\n```",
    # --- no commands
    "`make -C infra deploy`",
    "`cd web && npm run dev`",
    "`ssh box make deploy`",
    "`npm install`, `npm ci`, `yarn add left-pad`, `pnpm dlx x`",
    "`cargo bench`, `go test ./...`, `docker compose up db-test`",
    "`python -m pytest`",
    "`git rm src/old.py`",
    '`unbalanced "quote make`',
    # --- taken back
    "We deleted `old.py`.",
    "`load_user` was removed in June",
    "Never use `LegacyClient`, it leaks.",
    "Don't run `make deploy` on Fridays",
    "We renamed `load_user` to `fetch_user`.",
    "moved from src/a.py to src/b.py",
    "There will be a `src/new/api.py`",
    "We plan to add `make seed`",
    "Use the cart's own total instead of `cart_sum()`",
    "`load_user` is deprecated",
    "There was a `src/util/hash.py` once",
    "In the infra repo, `make deploy` does it",
    "It is in another repository: src/deploy/main.tf",
    "~~`load_user` caches~~",
    "Wir haben `alt.py` gelöscht.",
    "`load_user` wurde in `fetch_user` umbenannt.",
    "Niemals `LegacyClient` verwenden.",
    "`old.py` 已经删除。",
    "不要再用 `LegacyClient`。",
    "`load_user` は削除されました。",
    "On a supprimé `old.py`.",
    "Eliminamos src/viejo.py en junio.",
    "Мы удалили `old.py`.",
    "`old.py` 파일은 삭제했다.",
    "## Removed\n\n- `load_user`\n- src/old.py",
    "These are gone:\n\n- `load_user`\n- src/old.py\n",
    "We deleted\n`old.py` in June.",
    "Deleted, e.g. `old.py`, `older.py`",
]


@pytest.mark.parametrize(
    ("kind", "text", "names"),
    [(kind, *row) for kind, rows in (("path", PATHS), ("symbol", SYMBOLS), ("command", COMMANDS)) for row in rows],
)
def test_a_claim_is_found_and_nothing_beside_it(kind: str, text: str, names: list[str]) -> None:
    assert claims_of(text) == tuple((kind, name) for name in names)


@pytest.mark.parametrize("text", NOTHING)
def test_this_is_no_claim(text: str) -> None:
    assert claims_of(text) == ()


def test_the_sentence_that_takes_something_back_is_alone_in_it() -> None:
    text = "We deleted `old.py` in June. The parser is src/parser.py; `parse_order` is its entry."
    assert [claim.text for claim in claims_of(text)] == ["src/parser.py", "parse_order"]


def test_what_is_taken_back_once_is_claimed_nowhere() -> None:
    text = "`old.py` holds the parser.\n\n`old.py` was deleted in June, `new_parser` took over."
    assert claims_of(text) == ()


def test_a_list_ends_where_the_next_paragraph_begins() -> None:
    text = "We removed these:\n- `load_cart`\n- `load_item`\n\nThe rest is in `load_user`."
    assert [claim.text for claim in claims_of(text)] == ["load_user"]


def test_what_is_below_the_next_heading_counts_again() -> None:
    text = "## Removed\n`load_cart`\n\n## Kept\n`load_user`"
    assert [claim.text for claim in claims_of(text)] == ["load_user"]


def test_a_claim_is_made_once_and_in_the_order_of_the_text() -> None:
    text = "`b_second` uses src/a.py; `a_first` too, and `b_second` again."
    assert [claim.text for claim in claims_of(text)] == ["src/a.py", "b_second", "a_first"]


@pytest.mark.parametrize(
    "piece",
    ["a", "/", "*/", "a/", "`", "`a ", "](", "[[", "a@", "w.", "<!--", "- ", "# ", "\0", "~~", "a_", "A", "://a"],
)
def test_no_text_takes_long(piece: str) -> None:
    """Each of these can take a minute, where a pattern begins anew at every character: four times as long as a quarter."""
    assert _seconds(piece, MOST_CHARACTERS) < 8 * _seconds(piece, MOST_CHARACTERS // 4) + 0.1


def _seconds(piece: str, characters: int) -> float:
    """Time of this process alone: others may keep the machine busy."""
    text = piece * (characters // len(piece))

    def taken() -> float:
        began = time.process_time()
        claims_of(text)
        return time.process_time() - began

    return min(taken() for _ in range(3))
