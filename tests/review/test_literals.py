"""Numbers, days, addresses, paths, flags and code: a text has only those that its sources hold."""

from __future__ import annotations

import pytest

from memoryd.review.literals import unfounded_literal


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Keep reviews under 400 lines.", "reviews under 400 pls"),
        ("A 2,000-line review.", "the review had 2000 lines"),
        ("At most 8.5 pt.", "8,5 pt at most"),
        ("Standup is at 9:30.", "standup 09:30"),
        ("Standup is at 10:00.", "standup at 10"),
        ("A team of three.", "there are 3 of us"),
        ("3 people.", "three of us"),
        ("5GB at most.", "5 gigs at most"),
        ("A lock of 20 minutes (20-minute lock).", "it was locked for 20 min"),
        ("Until 2026-11-12.", "until 2026-11-12"),
        ("Bis 12.11.2026.", "bis 2026-11-12"),
        ("2026年11月12日", "2026-11-12"),
        ("Use `ruff format`.", "we are on ruff format now"),
        ("See https://board.acme.dev/x.", "it is on board.acme.dev/x"),
        ("Ask in #ran-plan.", "ask in #ran-plan"),
        ("tests/docs, and/or both, e.g. z.B. i.e.", "the tests, the docs"),
        ("C# and C++, R&D, half-open, N+1 queries", "n+1"),
        ("Plain words, in **bold**: nothing to look up.", ""),
        ("No release before double11 (double-11).", "双十一前不要发布"),
        ("The team25 of us.", "我们有二十五个人"),
        ("2026 年 7 月换的。2026年7月", "上个月 (2026-07) 换的"),
        ("k8s; i18n", "kubernetes internationalization"),
        ("F/T; N/A; CI/CD", "full time"),
    ],
)
def test_what_a_source_holds_is_found_there(text: str, source: str) -> None:
    assert unfounded_literal(text, source) == ""


@pytest.mark.parametrize(
    ("text", "source", "literal"),
    [
        ("Under 4000 lines.", "under 400 lines", "4000"),
        ("At most 20GB.", "at most 2GB", "20GB"),
        ("At most three parameters.", "few parameters", "3"),
        ("Until 2026-11-12.", "until nov 12", "2026-11-12"),
        ("Run `git push --force`.", "push it", "`git push --force`"),
        ("Push with --force.", "push it", "--force"),
        ("First rm -rf it.", "remove it", "-rf"),
        ("See evil.example/x.", "see the example", "evil.example/x"),
        ("See https://evil.example.", "see acme.dev", "https://evil.example"),
        ("Mail root@evil.example.", "mail me", "root@evil.example"),
        ("In src/pay/handler.", "in the handler", "src/pay/handler"),
        ("In config.toml.", "in the config", "config.toml"),
        ("Set MAX_SIZE first.", "set the max size", "MAX_SIZE"),
        ("Use $HOME.", "use home", "$HOME"),
        ("In eu-west-2.", "in eu-west-1", "eu-west-2"),
        ("In eu-west-1.", "in us-west-1", "eu-west-1"),
        ("Version 2.4.2.", "version 2.4", "2.4.2"),
        ("见evil.example/x。", "见文档", "evil.example/x"),
        ("double12", "双十一前不要发布", "double12"),
        ("region1", "一起看一下统一的区域", "region1"),
        ("2026年8月", "上个月 (2026-07) 换的", "2026-08"),
        ("k9s", "kubernetes", "k9s"),
        ("v2", "the v1 api", "v2"),
        ("In src/pay.", "in the source", "src/pay"),
    ],
)
def test_what_no_source_holds_is_told(text: str, source: str, literal: str) -> None:
    assert unfounded_literal(text, source) == literal


def test_an_address_may_be_told_with_its_scheme() -> None:
    assert unfounded_literal("See https://a.dev/b/.", "the board is a.dev/b") == ""
    assert unfounded_literal("See https://a.dev/b.", "the board is b.dev/a") == "https://a.dev/b"
    assert unfounded_literal("See https://a.dev.", "it is on data.devices") == "https://a.dev"
