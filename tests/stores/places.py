"""Places for the stores of tests: a bare repository, a directory, a bucket of moto's S3 server."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

from memoryd.stores.directory import directory_store
from memoryd.stores.folder import FolderStore
from memoryd.stores.git import TEAM_REF, GitStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoryd.stores.base import SharedStore
    from memoryd.stores.manifest import ManifestStore

GIT_ENVIRONMENT = {"PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null"}


def git(place: Path | str, *arguments: str, given: bytes = b"") -> str:
    """What git prints, in a repository of a test."""
    identity = ["-c", "user.name=Mara", "-c", "user.email=mara@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *identity, "-C", str(place), *arguments],
        input=given,
        env={**GIT_ENVIRONMENT, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def bare_repository(place: Path) -> Path:
    place.mkdir(parents=True)
    git(place, "init", "--quiet", "--bare")
    return place


class S3Server:
    """moto's S3 server on loopback, with a bucket for whoever asks."""

    def __init__(self) -> None:
        from moto.server import ThreadedMotoServer  # noqa: PLC0415 - a second of CPU time

        self._server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
        self._server.start()
        self._buckets = 0
        host, port = self._server.get_host_and_port()
        self._options: dict[str, Any] = {
            "endpoint": f"http://{host}:{port}",
            "access_key_id": "test",
            "secret_access_key": "test",
            "region": "us-east-1",
            "client_options": {"allow_http": True},
        }

    def stop(self) -> None:
        self._server.stop()

    def new_bucket(self) -> str:
        self._buckets += 1
        address = f"{self._options['endpoint']}/memories-{self._buckets}"
        urlopen(Request(address, method="PUT")).close()  # noqa: S310 - moto on loopback
        return f"memories-{self._buckets}"

    def store(self, bucket: str) -> ManifestStore:
        from memoryd.stores.objects import object_store  # noqa: PLC0415 - an extra

        return object_store(f"s3://{bucket}/shop", self._options)


class Places:
    """New stores of one kind. Each call of `new` makes one, and returns what makes clients of it, as on other machines."""

    def __init__(self, kind: str, folder: Path, server: Callable[[], S3Server]) -> None:
        self._kind = kind
        self._folder = folder
        self._server = server
        self._number = 0

    def new(self) -> Callable[[], SharedStore]:
        self._number += 1
        place = self._folder / f"store-{self._number}"
        place.mkdir()
        makers = {
            "git": self._git,
            "directory": self._directory,
            "objects": self._objects,
            "folder": self._folder_of_checkout,
        }
        return makers[self._kind](place)

    def _git(self, place: Path) -> Callable[[], SharedStore]:
        remote = bare_repository(place / "remote.git")
        made: list[GitStore] = []

        def client() -> SharedStore:
            made.append(GitStore(str(remote), TEAM_REF, str(place / f"cache-{len(made)}"), GIT_ENVIRONMENT))
            return made[-1]

        return client

    def _directory(self, place: Path) -> Callable[[], SharedStore]:
        return lambda: directory_store(str(place))

    def _folder_of_checkout(self, place: Path) -> Callable[[], SharedStore]:
        return lambda: FolderStore(str(place))

    def _objects(self, _place: Path) -> Callable[[], SharedStore]:
        server = self._server()
        bucket = server.new_bucket()
        return lambda: server.store(bucket)
