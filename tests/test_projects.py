"""Whose memory it is, in real git repositories."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.claude_code.folders import slug_folder, slug_of
from memoryd.config import Config, ProjectSettings
from memoryd.projects import branch_of, head_commit, is_excluded, project_at, root_of

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.paths import Paths


def git(*arguments: str | Path, cwd: Path) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always", *arguments],
        cwd=cwd,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = (tmp_path / "repo").resolve()
    path.mkdir()
    git("init", "--quiet", cwd=path)
    git("commit", "--quiet", "--allow-empty", "--message", "one", cwd=path)
    (path / "src" / "deep").mkdir(parents=True)
    return path


# --- roots ------------------------------------------------------------------------------------------------------------


def test_subdirectories_belong_to_the_repository(repository: Path) -> None:
    assert root_of(str(repository / "src" / "deep")) == root_of(str(repository)) == str(repository)


def test_worktrees_belong_to_the_main_checkout(repository: Path, tmp_path: Path) -> None:
    worktree = tmp_path / "elsewhere"
    git("worktree", "add", "--quiet", worktree, cwd=repository)
    (worktree / "sub").mkdir()
    assert root_of(str(worktree / "sub")) == str(repository)


def test_a_deleted_worktree_inside_its_repository_still_belongs_to_it(repository: Path) -> None:
    assert root_of(str(repository / ".claude" / "worktrees" / "gone" / "src")) == str(repository)


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git("init", "--quiet", cwd=library)
    git("commit", "--quiet", "--allow-empty", "--message", "one", cwd=library)
    git("submodule", "--quiet", "add", library, "vendor/library", cwd=repository)
    assert root_of(str(repository / "vendor" / "library")) == str(repository / "vendor" / "library")


def test_a_bare_repository_and_its_worktrees_are_one_project(repository: Path, tmp_path: Path) -> None:
    bare = (tmp_path / "acme.git").resolve()
    git("clone", "--quiet", "--bare", repository, bare, cwd=tmp_path)
    git("worktree", "add", "--quiet", tmp_path / "checkout", cwd=bare)
    assert root_of(str(tmp_path / "checkout")) == root_of(str(bare)) == root_of(str(bare / "refs")) == str(bare)


def test_inside_dot_git_is_inside_the_repository(repository: Path) -> None:
    assert root_of(str(repository / ".git" / "hooks")) == str(repository)


def test_outside_git_a_directory_is_its_own_project(tmp_path: Path) -> None:
    place = tmp_path.resolve() / "plain"
    place.mkdir()
    assert root_of(str(place)) == str(place)
    assert root_of(str(place / "gone")) == str(place / "gone")


def test_a_symlink_to_a_repository_is_the_repository(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository)
    assert root_of(str(tmp_path / "link" / "src")) == str(repository)


@pytest.mark.parametrize("text", ["gitdir: {repository}/.git/worktrees/x", "gitdir: {repository}/.git", "nonsense", ""])
def test_a_forged_dot_git_file_does_not_join_another_project(repository: Path, tmp_path: Path, text: str) -> None:
    """An unpacked archive may hold any `.git` file. The repository it points to does not name it back."""
    git("worktree", "add", "--quiet", tmp_path / "x", cwd=repository)
    forged = (tmp_path / "archive").resolve()
    forged.mkdir()
    (forged / ".git").write_text(text.format(repository=repository))
    assert root_of(str(forged)) == str(forged)


# --- slugs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("/Users/me/my_proj.v2", "-Users-me-my-proj-v2"),
        ("/home/u/외주/app", "-home-u----app"),
        ("C:\\Support_Work\\Cases", "C--Support-Work-Cases"),
        ("/home/u/.claude/worktrees/x", "-home-u--claude-worktrees-x"),
        ("/tmp/" + "a" * 220, "-tmp-" + "a" * 195 + "-vp21ax"),
        ("/home/u/e\u0301", "-home-u--"),
        ("/home/u/🙂", "-home-u---"),
    ],
)
def test_slugs_are_those_of_the_client(path: str, slug: str) -> None:
    assert slug_of(path) == slug


@given(st.text(max_size=300))
def test_a_slug_is_always_a_plain_folder_name(path: str) -> None:
    slug = slug_of(path)
    assert len(slug) <= 208
    assert all(letter.isascii() and (letter.isalnum() or letter == "-") for letter in slug)


def test_the_clients_own_folder_is_found_for_a_long_path(tmp_path: Path) -> None:
    path = "/tmp/" + "a" * 220
    assert slug_folder(str(tmp_path), path, lambda _name: False) == slug_of(path)
    theirs = slug_of(path)[:201] + "1k2j3h"
    (tmp_path / theirs).mkdir()
    assert slug_folder(str(tmp_path), path, lambda _name: False) == theirs
    other = slug_of(path)[:201] + "zzzzzz"
    (tmp_path / other).mkdir()
    assert slug_folder(str(tmp_path), path, lambda name: name == other) == other
    assert slug_folder(str(tmp_path), path, lambda _name: False) == slug_of(path)


# --- memory directories -----------------------------------------------------------------------------------------------


def memory_dir(root: Path, paths: Paths, config: Config | None = None) -> str:
    return project_at(root_of(str(root)), paths, config or Config()).memory_dir


def settings(file: Path, directory: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"autoMemoryDirectory": directory}))


def test_memory_is_beside_the_clients_transcripts_by_default(repository: Path, paths: Paths) -> None:
    assert memory_dir(repository, paths) == f"{paths.claude_dir}/projects/{slug_of(str(repository))}/memory"


def test_the_first_that_is_set_wins(repository: Path, paths: Paths, tmp_path: Path) -> None:
    """In this order: environment, the project's own entry, user settings, untracked local settings, memory_root."""
    config = Config(memory_root="/roots")
    assert memory_dir(repository, paths, config) == f"/roots/{slug_of(str(repository))}"
    (repository / "a").write_text("")
    git("add", "a", cwd=repository)
    settings(repository / ".claude" / "settings.local.json", "/local")
    assert memory_dir(repository, paths, config) == "/local"
    settings(tmp_path / "home" / ".claude" / "settings.json", "~/mine")
    assert memory_dir(repository, paths, config) == f"{paths.home}/mine"
    config = config._replace(projects=ProjectSettings(memory_dirs={str(repository): "/own"}))
    assert memory_dir(repository, paths, config) == "/own"
    assert memory_dir(repository, paths._replace(forced_memory_dir="/forced"), config) == "/forced"


def test_settings_that_the_repository_ships_never_count(repository: Path, paths: Paths) -> None:
    local = repository / ".claude" / "settings.local.json"
    default = memory_dir(repository, paths)
    settings(repository / ".claude" / "settings.json", "/planted")
    assert memory_dir(repository, paths) == default
    settings(local, "/planted")
    git("add", "--force", local, cwd=repository)
    assert memory_dir(repository, paths) == default
    git("update-index", "--index-version", "4", cwd=repository)
    assert memory_dir(repository, paths) == default
    git("update-index", "--split-index", cwd=repository)
    assert memory_dir(repository, paths) == default


@pytest.mark.parametrize("version", [2, 3, 4])
def test_untracked_local_settings_count_beside_tracked_settings(repository: Path, paths: Paths, version: int) -> None:
    """The index's cache of trees holds the folder's name by itself, which says nothing about this file."""
    settings(repository / ".claude" / "settings.json", "/shared")
    git("add", ".claude/settings.json", cwd=repository)
    git("commit", "--quiet", "--message", "two", cwd=repository)
    git("update-index", "--index-version", "4" if version == 4 else "2", cwd=repository)
    git("write-tree", cwd=repository)
    if version == 3:
        (repository / "intended").write_text("")
        git("add", "--intent-to-add", "intended", cwd=repository)
    local = repository / ".claude" / "settings.local.json"
    settings(local, "/local")
    index = (repository / ".git" / "index").read_bytes()
    assert index[7] == version
    assert b".claude\0" in index
    assert memory_dir(repository, paths) == "/local"
    git("add", "--force", local, cwd=repository)
    assert memory_dir(repository, paths) != "/local"


@pytest.mark.parametrize("name", [".Claude/Settings.Local.json", ".claude/\u017fettings.local.json", ".claude"])
def test_a_tracked_name_that_some_disks_take_for_the_settings_counts_as_tracked(
    repository: Path, paths: Paths, name: str
) -> None:
    """A disk may ignore case; a submodule at `.claude` brings all that is in it."""
    settings(repository / ".claude" / "settings.local.json", "/planted")
    mode = "160000" if name == ".claude" else "100644"
    git("update-index", "--add", "--cacheinfo", f"{mode},{'1' * 40},{name}", cwd=repository)
    assert "/planted" not in memory_dir(repository, paths)


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_damaged_index_never_makes_shipped_settings_count(repository: Path, paths: Paths, version: str) -> None:
    local = repository / ".claude" / "settings.local.json"
    settings(local, "/planted")
    for number in range(20):
        (repository / f"file{number}").write_text("")
    git("add", "--force", "--all", cwd=repository)
    git("update-index", "--index-version", version, cwd=repository)
    file = repository / ".git" / "index"
    index = file.read_bytes()
    place = st.integers(0, len(index))

    @given(place, place, st.binary(max_size=4))
    def damaged(begin: int, end: int, instead: bytes) -> None:
        file.write_bytes(index[:begin] + instead + index[end:])
        assert "/planted" not in memory_dir(repository, paths)

    damaged()


def test_a_tracked_link_or_a_missing_index_does_not_bring_settings(
    repository: Path, paths: Paths, tmp_path: Path
) -> None:
    """`.claude` may be a tracked link to a folder of another name; an unpacked archive may hold an empty `.git`."""
    default = memory_dir(repository, paths)
    settings(repository / "cfg" / "settings.local.json", "/planted")
    (repository / ".claude").symlink_to("cfg")
    git("add", "--all", cwd=repository)
    assert memory_dir(repository, paths) == default
    archive = tmp_path / "archive"
    for name in ("objects", "refs"):
        (archive / ".git" / name).mkdir(parents=True)
    (archive / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    settings(archive / ".claude" / "settings.local.json", "/planted")
    assert "/planted" not in memory_dir(archive, paths)


@pytest.mark.parametrize("kind", ["fifo", "device", "link"])
def test_a_checkout_cannot_make_us_wait(repository: Path, paths: Paths, kind: str) -> None:
    default = memory_dir(repository, paths)
    (repository / "a").write_text("")
    git("add", "a", cwd=repository)
    local = repository / ".claude" / "settings.local.json"
    local.parent.mkdir()
    if kind == "fifo":
        os.mkfifo(local)
    else:
        local.symlink_to("/dev/zero" if kind == "device" else "/dev/stdin")
    assert memory_dir(repository, paths) == default


@pytest.mark.parametrize("cwd", ["C:\\Support_Work\\Cases", "relative/path", "", "/tmp/a\0b"])
def test_a_directory_of_another_system_belongs_to_no_repository_here(cwd: str) -> None:
    assert root_of(cwd) == cwd


def test_local_settings_outside_git_never_count(tmp_path: Path, paths: Paths) -> None:
    """Without git nothing tells whether an archive brought them."""
    place = tmp_path / "plain"
    settings(place / ".claude" / "settings.local.json", "/planted")
    assert memory_dir(place, paths) == f"{paths.claude_dir}/projects/{slug_of(str(place.resolve()))}/memory"


@pytest.mark.parametrize(
    "content", ['{"autoMemoryDirectory": "relative"}', '{"autoMemoryDirectory": 7}', "[]", "{", "\xff"]
)
def test_settings_that_say_nothing_usable_are_passed_over(
    repository: Path, paths: Paths, tmp_path: Path, content: str
) -> None:
    default = memory_dir(repository, paths)
    file = tmp_path / "home" / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(content)
    assert memory_dir(repository, paths) == default


# --- exclusion --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "pattern", "excluded"),
    [
        ("/home/u/private", "/home/u/private", True),
        ("/home/u/private/deep/er", "/home/u/private", True),
        ("/home/u/private-not", "/home/u/private", False),
        ("/home/u/client-a/app", "/home/u/client-*", True),
        ("/home/u/other", "/home/u/client-*", False),
    ],
)
def test_exclusion_covers_a_folder_and_all_below_it(path: str, pattern: str, excluded: bool) -> None:
    assert is_excluded(path, (pattern,)) is excluded


# --- the commit that is checked out -----------------------------------------------------------------------------------

COMMIT, OTHER = "a1" * 20, "b2" * 20


def test_the_commit_is_read_where_git_keeps_it(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    (git / "refs/heads").mkdir(parents=True)
    assert head_commit(str(tmp_path)) == ""
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert head_commit(str(tmp_path)) == ""  # before the first commit
    (git / "packed-refs").write_text(f"# pack-refs\n{OTHER} refs/heads/main2\n{COMMIT} refs/heads/main\n")
    assert head_commit(str(tmp_path)) == COMMIT
    (git / "refs/heads/main").write_text(f"{OTHER}\n")
    assert head_commit(str(tmp_path)) == OTHER
    (git / "HEAD").write_text(f"{COMMIT}\n")
    assert head_commit(str(tmp_path)) == COMMIT


@pytest.mark.parametrize("head", ["ref: ../../secret", "ref: refs/../../secret", "ref: /etc/passwd", "nonsense", ""])
def test_a_forged_head_leads_nowhere(tmp_path: Path, head: str) -> None:
    root = tmp_path / "a/b"
    (root / ".git").mkdir(parents=True)
    (tmp_path / "a/secret").write_text(COMMIT)
    (root / "secret").write_text(COMMIT)
    (root / ".git/HEAD").write_text(head)
    assert head_commit(str(root)) == ""


def test_the_branch_is_that_of_the_checkout_that_a_folder_is_in(tmp_path: Path) -> None:
    root, linked, outside = tmp_path / "main", tmp_path / "linked", tmp_path / "outside"
    admin = root / ".git/worktrees/linked"
    for folder in (root / "src/deep", admin, linked / "src", outside):
        folder.mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/fix/frames\n")
    (admin / "HEAD").write_text("ref: refs/heads/other\n")
    (linked / ".git").write_text(f"gitdir: {admin}\n")
    places = {root: "fix/frames", root / "src/deep": "fix/frames", linked / "src": "other", outside: ""}
    assert {place: branch_of(str(place)) for place in places} == places
    (root / ".git/HEAD").write_text(f"{COMMIT}\n")  # no branch is checked out
    assert [branch_of(cwd) for cwd in (str(root), "relative", "")] == ["", "", ""]
