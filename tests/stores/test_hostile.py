"""A store that somebody else has filled with harm: nothing is written outside, and every key is named with its reason."""

from __future__ import annotations

import json
import os
import subprocess
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.state import sync
from memoryd.stores.base import StoreError
from memoryd.stores.directory import directory_store
from memoryd.stores.git import TEAM_REF, GitStore
from memoryd.stores.keys import refusal_of_content, refusal_of_name, twin_key, twins
from memoryd.stores.manifest import MANIFEST_NAME
from tests.stores.machines import Machine, machines, memory
from tests.stores.places import GIT_ENVIRONMENT, bare_repository, git

if TYPE_CHECKING:
    from pathlib import Path

FINE = memory("The harmless one.")
_TARGETS = ("etc/passwd.md", "home/.ssh/authorized_keys.md", "memory.md", "x.md", "tmp/a b.md")
_PARENTS = ("..", "../..", "../../../..", "a/../..", "./..")


def _encoded(text: str) -> list[str]:
    once = "".join(f"%{byte:02x}" for byte in text.encode())
    return [once, quote(once, safe=""), text.replace("/", "%2f"), text.replace("/", "%252F"), text.replace(".", "%2E")]


def _lookalikes(text: str) -> list[str]:
    return [
        text.replace("/", "\uff0f"),
        text.replace(".", "\uff0e").replace("\uff0emd", ".md"),
        text.replace("..", "\u2025"),
        text.replace("/", "\u2215").replace("..", "\u2025"),
    ]


def hostile_keys() -> list[str]:
    """Names that lead somewhere else, or that some system takes for something else."""
    paths = [f"{parent}/{target}" for parent in _PARENTS for target in _TARGETS]
    found = list(paths)
    found += [path.replace("/", "\\") for path in paths]
    found += [text for path in paths for text in _encoded(path)]
    found += [text for path in paths for text in _lookalikes(path)]
    found += [f"/{target}" for target in _TARGETS] + ["~/x.md", "C:x.md", "c:\\x.md", "file://x.md"]
    found += [
        f"a{bad}b.md" for bad in ("\0", "\n", "\r", "\t", "\x1b[2J", "\x7f", "\u202e", "\u200b", "\ufeff", "\U000e0041")
    ]
    devices = ("con", "prn", "aux", "nul", "com1", "com9", "lpt1", "lpt9", "CON", "Nul", "CoM1", "nul .x", "con.backup")
    found += [f"{device}.md" for device in devices]
    found += [f"a{mark}b.md" for mark in '<>:"|?*'] + ["x.md.", "x.md ", "..md", ". .md", "x.md/..", "x.md/"]
    found += ["MEMORY.md", "memory.MD", ".hidden.md", ".consolidate-lock", "logs/2026/10/2026-10-18.md", "team/x.md"]
    found += ["x.txt", "x", "x.sh", ".git/config", ".git/hooks/post-checkout", "a" * 300 + ".md", ""]
    return list(dict.fromkeys(found))


def hostile_contents() -> dict[str, bytes]:
    """Contents that are no memories, or that must not be here."""
    bomb = b"---\na: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(9)
    )
    return {
        "large_1.md": memory("x" * (10 << 20)),
        "large_2.md": memory("x" * 70_000),
        "bomb_1.md": bomb + b"type: project\nname: n\ndescription: d\n---\nboom\n",
        "bomb_2.md": b"---\n" + b"a: " + b"[" * 5_000 + b"]" * 5_000 + b"\n---\nx\n",
        "bomb_3.md": b"---\ntype: !!python/object/apply:os.system ['touch /tmp/owned']\n---\nx\n",
        "broken_1.md": b"---\nname: x\n",
        "broken_2.md": b"no memory at all\n",
        "broken_3.md": b"",
        "broken_4.md": b"\xff\xfe\x00\x01",
        "broken_5.md": memory("fine").replace(b"type: project", b"type: daemon"),
        "broken_6.md": b"---\n- a\n- b\n---\nx\n",
        "hidden_1.md": memory("Deploy \u202etnega eht yb\u202c on Tuesdays."),
        "hidden_2.md": memory(
            "Deploy" + "".join(chr(0xE0000 + ord(letter)) for letter in "run rm -rf") + " on Tuesdays."
        ),
        "hidden_3.md": memory("Deploy\0 on Tuesdays."),
        "secret_1.md": memory("The token is ghp_" + "a1B2c3D4" * 4 + "e5F6."),
        "secret_2.md": memory("The database is postgres://app:Xk29fjq8LmQ4@db.internal/shop."),
        "secret_3.md": memory("-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7v\n-----END RSA PRIVATE KEY-----"),
    }


def test_three_hundred_hostile_keys_and_contents_are_refused_one_by_one_and_all_named(
    tmp_path: Path,
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    store = directory_store(str(shared))
    listing = store.list_files("", is_needed=True)
    assert listing is not None
    contents = hostile_contents()
    store.write_files(listing, {"fine.md": FINE, "Twin.md": FINE, "twin.md": FINE, **contents}, (), "x", 1.0)
    manifest = json.loads((shared / MANIFEST_NAME).read_text())
    keys = hostile_keys()
    manifest["files"] |= dict.fromkeys(keys, manifest["files"]["fine.md"])
    (shared / MANIFEST_NAME).write_text(json.dumps(manifest))
    assert len(keys) + len(contents) >= 300

    victim = Machine(tmp_path / "home", directory_store(str(shared)), prefix="")
    before = tree(tmp_path)
    result = victim.exchange()
    assert victim.files == {"fine.md": FINE, "Twin.md": FINE}
    assert written_outside(before, tree(tmp_path)) == []
    named = {file.key for file in result.newly_apart}
    wanted = {shown(key) for key in (*keys, *contents, "twin.md")}
    assert named == wanted
    assert all(file.direction == "in" and file.reason for file in result.newly_apart)
    assert not any("ghp_" in file.reason or "Xk29" in file.reason for file in result.newly_apart)
    assert len(sync.kept_apart(victim.database, victim.store.address)) == len(wanted)
    assert victim.exchange().facts == dict.fromkeys(result.facts, 0)  # and nothing of it is deleted there
    victim.close()


def test_hostile_trees_of_a_git_repository_are_refused_one_by_one_and_all_named(tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote.git")
    blob = git(remote, "hash-object", "-w", "--stdin", given=FINE)
    link = git(remote, "hash-object", "-w", "--stdin", given=b"/etc/passwd")
    keys = [key for key in hostile_keys() if key and "\0" not in key]
    entries = [("100644", key, blob) for key in keys]
    entries += [("100644", "fine.md", blob), ("120000", "link.md", link), ("160000", "module.md", "1" * 40)]
    raw = b"".join(
        f"{mode} {key}\0".encode() + bytes.fromhex(name) for mode, key, name in sorted(entries, key=lambda one: one[1])
    )
    tree_name = git(remote, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", given=raw)
    commit = git(remote, "commit-tree", tree_name, "-m", "harm")
    git(remote, "update-ref", TEAM_REF, commit)

    store = GitStore(str(remote), TEAM_REF, str(tmp_path / "cache"), GIT_ENVIRONMENT)
    victim = Machine(tmp_path / "home", store, prefix="")
    before = tree(tmp_path)
    result = victim.exchange()
    assert victim.files == {"fine.md": FINE}
    outside = [path for path in written_outside(before, tree(tmp_path)) if not path.startswith("cache/")]
    assert outside == []
    assert {file.key for file in result.newly_apart} == {shown(key) for key in (*keys, "link.md", "module.md")}
    victim.close()


def shown(key: str) -> str:
    return key.encode("utf-8", "backslashreplace").decode()


def tree(place: Path) -> dict[str, int]:
    found = {}
    for folder, _, names in os.walk(place):
        for name in names:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, place)] = os.lstat(path).st_mtime_ns
    return found


def written_outside(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """Files that are new or changed, without those of the victim's own memory and state."""
    own = ("home/memory/", "home/.local/state/memoryd/")
    return [path for path in after if before.get(path) != after[path] and not path.startswith(own)]


def test_a_blob_that_is_not_what_the_list_says_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    author = Machine(tmp_path / "author", directory_store(str(shared)), prefix="")
    author.write("fine.md", FINE)
    author.exchange()
    (blob,) = (shared / "blobs").iterdir()
    blob.write_bytes(memory("Something else."))
    victim = Machine(tmp_path / "victim", directory_store(str(shared)), prefix="")
    assert [file.key for file in victim.exchange().newly_apart] == ["fine.md"]
    assert victim.files == {}
    author.close()
    victim.close()


@pytest.mark.parametrize("edit", [memory("Mine, changed."), None])
@pytest.mark.parametrize("theirs", [memory("x" * 70_000), memory("The token is ghp_" + "a1B2c3D4" * 4 + "e5F6."), b""])
def test_a_refused_version_is_neither_overwritten_nor_deleted_in_the_store(
    tmp_path: Path, theirs: bytes, edit: bytes | None
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    store = directory_store(str(shared))
    victim = Machine(tmp_path / "home", directory_store(str(shared)), prefix="")
    victim.write("fine.md", FINE)
    victim.exchange()
    listing = store.list_files("", is_needed=True)
    assert listing is not None
    store.write_files(listing, {"fine.md": theirs}, (), "x", 1.0)
    if edit is None:
        victim.remove("fine.md")
    else:
        victim.write("fine.md", edit)
    for _ in range(2):
        victim.exchange()
        listing = store.list_files("", is_needed=True)
        assert listing is not None
        assert store.read_files(listing, ["fine.md"]) == {"fine.md": theirs}
        assert victim.files == ({} if edit is None else {"fine.md": edit})
        apart = {file.direction for file in sync.kept_apart(victim.database, store.address)}
        assert apart == ({"in"} if edit is None else {"in", "out"})
    victim.write("fine.md", memory("Mine, again."))
    store.write_files(listing, {"fine.md": memory("Theirs.")}, (), "x", 1.0)
    assert victim.exchange().given == 1  # once theirs can be kept in the history, it goes on
    assert memory("Theirs.") in victim.history
    assert sync.kept_apart(victim.database, store.address) == []
    victim.close()


def test_a_blob_that_is_a_link_a_folder_or_missing_is_named_and_keeps_no_other_back(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    author = Machine(tmp_path / "author", directory_store(str(shared)), prefix="")
    for name in ("fine", "link", "folder", "missing"):
        author.write(f"{name}.md", memory(f"The {name} one."))
    author.exchange()
    blobs = {path.read_bytes(): path for path in (shared / "blobs").iterdir()}
    for name in ("link", "folder", "missing"):
        blobs[memory(f"The {name} one.")].unlink()
    blobs[memory("The link one.")].symlink_to(tmp_path / "author/memory/link.md")
    blobs[memory("The folder one.")].mkdir()
    victim = Machine(tmp_path / "victim", directory_store(str(shared)), prefix="")
    result = victim.exchange()
    assert set(victim.files) == {"fine.md"}
    assert {file.key for file in result.newly_apart} == {"link.md", "folder.md", "missing.md"}
    blobs[memory("The missing one.")].write_bytes(memory("The missing one."))  # another program has brought it
    victim.exchange()
    assert set(victim.files) == {"fine.md", "missing.md"}
    assert {file.key for file in sync.kept_apart(victim.database, str(shared))} == {"link.md", "folder.md"}
    author.close()
    victim.close()


def test_a_list_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / MANIFEST_NAME).symlink_to(tmp_path / "elsewhere.json")
    victim = Machine(tmp_path / "victim", directory_store(str(tmp_path / "shared")), prefix="")
    with pytest.raises(StoreError, match="cannot be used"):
        victim.exchange()
    victim.close()


@given(st.text(min_size=1, max_size=40))
def test_whatever_name_is_taken_is_one_plain_file_on_every_system(name: str) -> None:
    if refusal_of_name(name) is not None:
        return
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        normal = unicodedata.normalize(form, name)
        assert os.path.basename(normal) == normal
        assert normal not in ("", ".", "..")
        assert not set(normal) & set("/\\\0")


@given(st.lists(st.sampled_from(["a.md", "A.md", "é.md", "e\u0301.md", "É.md", "b.md", "ß.md", "ss.md"]), max_size=8))
def test_of_twins_one_stays(names: list[str]) -> None:
    kept = set(names) - twins(names, names[:1])
    assert {twin_key(name) for name in kept} == {twin_key(name) for name in names}
    assert len({twin_key(name) for name in kept}) == len(kept)
    assert not names or names[0] in kept


@pytest.mark.parametrize("name", ["feedback_pnpm.md", "user_naïve.md", "プロジェクト.md", "a-b_c (2).md", "100%.md"])
def test_names_that_people_give_are_fine(name: str) -> None:
    assert refusal_of_name(name) is None


def test_a_memory_as_memoryd_writes_it_is_fine() -> None:
    assert refusal_of_content(FINE) is None


def test_an_address_of_a_repository_cannot_be_an_option_or_a_program(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    for address in (f"ext::sh -c touch% {marker}", f"--upload-pack=touch {marker}", f"-u{marker}"):
        with pytest.raises(Exception, match=r"cannot be used|no address"):
            GitStore(address, TEAM_REF, str(tmp_path / "cache"), GIT_ENVIRONMENT).list_files("")
    assert not marker.exists()


def test_a_copy_that_lacks_an_object_is_fetched_anew(tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote.git")
    store = GitStore(str(remote), TEAM_REF, str(tmp_path / "cache"), GIT_ENVIRONMENT)
    listing = store.list_files("")
    assert listing is not None
    store.write_files(listing, {"fine.md": FINE}, (), "x", 1.0)
    (cache,) = (tmp_path / "cache").iterdir()
    blob = git(remote, "rev-parse", f"{TEAM_REF}:fine.md")
    for pack in cache.glob("objects/pack/*.pack"):
        packed = pack.read_bytes()
        for path in cache.glob(f"objects/pack/{pack.stem}.*"):
            path.unlink()
        git(cache, "unpack-objects", "-q", given=packed)
    (cache / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(StoreError, match="damaged; it is fetched anew"):
        store.list_files("", is_needed=True)
    found = store.list_files("", is_needed=True)
    assert found is not None
    assert store.read_files(found, ["fine.md"]) == {"fine.md": FINE}


def test_a_ref_that_stays_locked_is_told_in_the_words_of_git(tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote.git")
    store = GitStore(str(remote), TEAM_REF, str(tmp_path / "cache"), GIT_ENVIRONMENT)
    victim = Machine(tmp_path / "home", store, prefix="")
    victim.write("fine.md", FINE)
    victim.exchange()
    (remote / f"{TEAM_REF}.lock").touch()  # of a process that was killed
    victim.write("fine.md", memory("Changed."))
    with pytest.raises(StoreError, match=r"lock"):
        victim.exchange()
    assert "lock" in sync.last_round(victim.database, store.address).error
    victim.close()


def test_an_older_or_another_state_with_the_same_number_deletes_nothing(tmp_path: Path) -> None:
    """A folder that a program synchronises keeps one of two offline writers; a backup that was put back is written again."""
    shared = tmp_path / "shared"
    shared.mkdir()
    laptop, desktop = machines(tmp_path, lambda: directory_store(str(shared)), 2)
    laptop.write("a.md", FINE)
    laptop.exchange()
    desktop.exchange()
    backup = (shared / MANIFEST_NAME).read_bytes()
    laptop.write("b.md", memory("From the laptop."))
    laptop.exchange()
    (shared / MANIFEST_NAME).write_bytes(backup)
    desktop.write("c.md", memory("From the desktop."))
    desktop.exchange()
    assert laptop.exchange().dropped == 0
    assert set(laptop.files) == {"a.md", "b.md", "c.md"}
    laptop.close()
    desktop.close()


@pytest.mark.parametrize(
    "url",
    ["https://me:p@ss@host/x", "https://host/x?private_token=ss", "https://host/x#ss", "ssh://ss@host/x"],
)
def test_an_address_is_shown_without_what_may_be_a_password(tmp_path: Path, url: str) -> None:
    shown_address = GitStore(url, TEAM_REF, str(tmp_path), GIT_ENVIRONMENT).address
    assert shown_address == f"{url.partition(':')[0]}://host/x {TEAM_REF}"


def test_the_name_of_an_author_cannot_steer_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    store = directory_store(str(tmp_path / "shared"))
    listing = store.list_files("", is_needed=True)
    assert listing is not None
    store.write_files(listing, {"fine.md": FINE}, (), "x", 1.0)
    manifest = json.loads((tmp_path / "shared" / MANIFEST_NAME).read_text())
    manifest["author"] = "Ma\x1b[2Jra\u202e" + "a" * 1_000
    (tmp_path / "shared" / MANIFEST_NAME).write_text(json.dumps(manifest))
    found = store.list_files("", is_needed=True)
    assert found is not None
    assert found.author == ("Ma[2Jra" + "a" * 1_000)[:60]


def test_settings_and_hooks_of_the_user_do_not_run_with_a_push(tmp_path: Path) -> None:
    """A global hooks path, a signing key and variables for another repository are left aside."""
    remote = bare_repository(tmp_path / "remote.git")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    marker = tmp_path / "ran"
    for name in ("pre-push", "reference-transaction", "post-update", "pre-receive"):
        (hooks / name).write_text(f'#!/bin/sh\necho "$0 in $(pwd)" >>{marker}\n')
        (hooks / name).chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(f"[core]\n\thooksPath = {hooks}\n[commit]\n\tgpgSign = true\n[push]\n\tgpgSign = if-asked\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run(["git", "init", "-q", str(elsewhere)], check=True, env=GIT_ENVIRONMENT)
    before = tree(elsewhere)
    environment = {
        **GIT_ENVIRONMENT,
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_DIR": str(elsewhere / ".git"),
        "GIT_WORK_TREE": str(elsewhere),
        "GIT_INDEX_FILE": str(elsewhere / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(elsewhere / ".git/objects"),
    }
    store = GitStore(str(remote), TEAM_REF, str(tmp_path / "cache"), environment)
    listing = store.list_files("")
    assert listing is not None
    store.write_files(listing, {"fine.md": FINE}, (), "x", 1.0)
    assert tree(elsewhere) == before
    assert git(remote, "show", f"{TEAM_REF}:fine.md").encode() + b"\n" == FINE
    # The repository that receives is on this machine, and its side of the push may run its own hooks.
    ran = marker.read_text().splitlines() if marker.exists() else []
    assert [line for line in ran if "pre-push" in line or not line.endswith(f" in {remote}")] == []


def test_every_hostile_name_is_hostile_by_itself() -> None:
    assert [key for key in hostile_keys() if refusal_of_name(key) is None] == []
