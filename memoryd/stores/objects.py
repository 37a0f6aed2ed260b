"""Store in an object store: S3, GCS or Azure, through obstore; the manifest is written by its ETag.

obstore is an extra (`pip install 'memoryd[objects]'`). Credentials are those that its clients find in the environment of the
process, or of the machine; none is kept by memoryd.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memoryd.security.redact import redact
from memoryd.stores.base import StoreChangedError, StoreError
from memoryd.stores.manifest import Kept, ManifestStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SCHEMES = ("s3://", "gs://", "az://", "abfs://", "abfss://")
_SECONDS = "20s"
_ERROR_CHARACTERS = 300


def object_store(url: str, options: Mapping[str, Any] | None = None) -> ManifestStore:
    """The store at an address such as `s3://bucket/folder`. Raises StoreError where obstore is missing."""
    return ManifestStore(ObjectPlace(url, options or {}), url)


class ObjectPlace:
    """Named bytes as objects below a prefix."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        try:
            import obstore  # noqa: PLC0415 - an extra, and 20 MB
            from obstore import exceptions  # noqa: PLC0415
        except ImportError as error:
            raise StoreError(
                f"{url} needs the package obstore, which is not installed.", "pip install 'memoryd[objects]'"
            ) from error
        self.requests = 0
        self._url = url
        self._obstore = obstore
        self._errors = exceptions
        client = {"timeout": _SECONDS, "connect_timeout": _SECONDS, **options.get("client_options", {})}
        with self._in_words():
            self._bucket = obstore.store.from_url(
                url,
                retry_config={"max_retries": 2},
                **{**options, "client_options": client},
            )

    def read(self, name: str, known_tag: str) -> Kept | None:
        self.requests += 1
        known = json.loads(known_tag)["e_tag"] if known_tag else None
        with self._in_words():
            try:
                found = self._obstore.get(self._bucket, name, options={"if_none_match": known} if known else {})
                data = bytes(found.bytes())
            except self._errors.NotModifiedError:
                return None
        return Kept(data, _tag(found.meta))

    def replace(self, name: str, data: bytes, expected_tag: str) -> str:
        self.requests += 1
        with self._in_words():
            try:
                mode: Any = json.loads(expected_tag) if expected_tag else "create"
                return _tag(self._obstore.put(self._bucket, name, data, mode=mode, use_multipart=False))
            except (
                self._errors.PreconditionError,
                self._errors.AlreadyExistsError,
                FileNotFoundError,  # what was expected is gone
            ) as error:
                raise StoreChangedError from error

    def create(self, name: str, data: bytes) -> None:
        self.requests += 1
        with self._in_words():
            self._obstore.put(self._bucket, name, data, use_multipart=False)

    def remove(self, names: Iterable[str]) -> None:
        listed = list(names)
        if not listed:
            return
        self.requests += 1
        with self._in_words():
            try:
                self._obstore.delete(self._bucket, listed)
            except FileNotFoundError:
                return

    def older_than(self, folder: str, name: str, seconds: float) -> list[str]:
        self.requests += 2
        with self._in_words():
            at = self._obstore.head(self._bucket, name)["last_modified"].timestamp() - seconds
            found = [meta for piece in self._obstore.list(self._bucket, folder) for meta in piece]
        return [meta["path"].rpartition("/")[2] for meta in found if meta["last_modified"].timestamp() < at]

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Errors as sentences. FileNotFoundError passes: it is an answer."""
        try:
            yield
        except (FileNotFoundError, StoreChangedError):
            raise
        except (self._errors.BaseError, OSError, ValueError) as error:
            raise StoreError(
                f"The object store {self._url} cannot be used: {_in_a_line(error)}",
                "memoryd sync status   # and see that the service's environment has its credentials",
            ) from error


def _in_a_line(error: Exception) -> str:
    """What a client says went wrong, without the queries of addresses, which may be signed."""
    told = (str(error).splitlines() or [type(error).__name__])[0]
    return redact(re.sub(r"\?\S*", "", told))[:_ERROR_CHARACTERS].rstrip(".") + "."


def _tag(meta: Mapping[str, Any]) -> str:
    return json.dumps({name: meta[name] for name in ("e_tag", "version") if meta.get(name)})
