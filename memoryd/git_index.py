"""Names of the files that a git repository tracks, read from the bytes of its index. Pure; git is not run.

The format is Documentation/gitformat-index.txt of git: a header, entries sorted by name, extensions, a checksum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER_BYTES = 12
_STAT_BYTES = 40
_FLAGS_BYTES = 2
_EXTENDED = 0x4000
_NAME_LENGTH = 0x0FFF
_ALIGNMENT = 8
_EXTENSION_HEADER_BYTES = 8
_PREFIX_COMPRESSED = 4
_VERSIONS = (2, 3, _PREFIX_COMPRESSED)


class UnreadableIndexError(Exception):
    """The index is damaged, of an unknown version, or its entries are not all that is tracked."""


def tracked_names(index: bytes) -> Iterator[bytes]:
    """Every tracked name, in order, of an index of version 2, 3 or 4; a name in conflict comes once for each side.

    Raises UnreadableIndexError, perhaps after some names: only who has read to the end knows all of them. An index whose
    other half is in a second file (split) or that names whole directories (sparse) says so by an extension.
    """
    hash_bytes = _hash_bytes(index)
    end = len(index) - hash_bytes
    if end < _HEADER_BYTES or index[:4] != b"DIRC" or (version := _number(index, 4)) not in _VERSIONS:
        raise UnreadableIndexError
    position, name = _HEADER_BYTES, b""
    for _ in range(_number(index, 8)):
        start = position
        position += _STAT_BYTES + hash_bytes + _FLAGS_BYTES
        flags = int.from_bytes(index[position - _FLAGS_BYTES : position])
        if flags & _EXTENDED:
            position += _FLAGS_BYTES
        kept = b""
        if version == _PREFIX_COMPRESSED:
            cut, position = _variable_number(index, position)
            if cut > len(name):
                raise UnreadableIndexError
            kept = name[: len(name) - cut]
        stop = index.find(b"\0", position, end)
        name = kept + index[position:stop]
        if stop < 0 or not name or min(len(name), _NAME_LENGTH) != flags & _NAME_LENGTH:
            raise UnreadableIndexError
        yield name
        # The NUL that ends a name is one of 1 to 8 that fill the entry up.
        position = stop + 1 if version == _PREFIX_COMPRESSED else stop + _ALIGNMENT - (stop - start) % _ALIGNMENT
    _check_extensions(index, position, end)


def _check_extensions(index: bytes, position: int, end: int) -> None:
    """Raise unless only extensions follow that may be ignored: their names begin with a capital."""
    while position < end:
        if not b"A" <= index[position : position + 1] <= b"Z":
            raise UnreadableIndexError
        position += _EXTENSION_HEADER_BYTES + _number(index, position + 4)
    if position != end:
        raise UnreadableIndexError


def _hash_bytes(index: bytes) -> int:
    """The length of the checksum at the end, and so of every object's name: SHA-1 or SHA-256."""
    import hashlib  # noqa: PLC0415 - few projects need it

    for algorithm in (hashlib.sha1, hashlib.sha256):
        digest = algorithm(usedforsecurity=False)
        digest.update(memoryview(index)[: -digest.digest_size])
        # `index.skipHash` leaves zeros there.
        if index[-digest.digest_size :] in (digest.digest(), bytes(digest.digest_size)):
            return digest.digest_size
    raise UnreadableIndexError


def _number(index: bytes, position: int) -> int:
    return int.from_bytes(index[position : position + 4])


def _variable_number(index: bytes, position: int) -> tuple[int, int]:
    """A number of seven bits a byte, as in packs, and the position behind it."""
    number = -1
    for offset, byte in enumerate(index[position : position + 5]):
        number = ((number + 1) << 7) + (byte & 0x7F)
        if not byte & 0x80:
            return number, position + offset + 1
    raise UnreadableIndexError
