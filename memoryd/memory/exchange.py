"""Renames that never overwrite: exchange of two names, or a rename only to a free name. By calls to the C library."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import Any

# From the kernels' headers: renameat2(2) on Linux, renameatx_np(2) on macOS.
_LINUX = {"function": "renameat2", "no_replace": 1, "exchange": 2}
_MACOS = {"function": "renameatx_np", "no_replace": 4, "exchange": 2}
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def exchange(directory: int, name: str, other: str) -> None:
    """Exchange two names of a directory in one step; both must exist.

    Where kernel or file system cannot, three renames do it: a reader may then find `other` missing for an instant.
    """
    if _rename(directory, name, other, "exchange"):
        return
    aside = _aside(name)
    os.rename(other, aside, src_dir_fd=directory, dst_dir_fd=directory)
    try:
        rename_if_free(directory, name, other)
    except OSError:  # FileExistsError: somebody made `other` meanwhile; theirs takes the place of what was displaced
        finish_exchange(directory, name, other)
        raise
    os.rename(aside, name, src_dir_fd=directory, dst_dir_fd=directory)


def finish_exchange(directory: int, name: str, other: str) -> None:
    """End an exchange that a kill or an error cut off between its three renames, or take it back."""
    aside = _aside(name)
    if not os.access(aside, os.F_OK, dir_fd=directory, follow_symlinks=False):
        return
    try:
        put_back(directory, aside, other)
    except FileExistsError:
        os.rename(aside, name, src_dir_fd=directory, dst_dir_fd=directory)


def rename_if_free(directory: int, old: str, new: str) -> None:
    """Rename, or raise FileExistsError where the new name is taken by anything."""
    if _rename(directory, old, new, "no_replace"):
        return
    os.link(old, new, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    os.unlink(old, dir_fd=directory)


def put_back(directory: int, old: str, new: str) -> None:
    """Rename what was displaced to its own name, or raise FileExistsError where somebody has taken that."""
    try:
        rename_if_free(directory, old, new)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # The name was free a moment ago, and there is no other way to give it back.
        os.rename(old, new, src_dir_fd=directory, dst_dir_fd=directory)


def _aside(name: str) -> str:
    return f"{name}.aside"


def _rename(directory: int, old: str, new: str, how: str) -> bool:
    """Call the kernel; False where it does not know how."""
    platform: dict[str, Any] = _MACOS if sys.platform == "darwin" else _LINUX
    function = getattr(ctypes.CDLL(None, use_errno=True), platform["function"], None)
    if function is None:
        return False
    if function(directory, os.fsencode(old), directory, os.fsencode(new), ctypes.c_uint(platform[how])) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), old, None, new)
