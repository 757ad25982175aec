"""Opens a transcript for reading: a regular file, through no symbolic link, decompressed if it is packed."""

from __future__ import annotations

import importlib
import os
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, cast

PACKED = ".zst"
RATIO, RATIO_FROM = 250, 64 * 1024 * 1024  # of unpacked to packed bytes, above so many unpacked bytes
CHUNK = 1024  # bytes that are unpacked at once, at most to 50 MB or so
IN_MEMORY = 8 * 1024 * 1024  # bytes; more is unpacked into a temporary file


class NotReadable(OSError):
    """A file that is not read, and why."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes) -> bytes: ...


def opened(path: Path) -> BinaryIO:
    """Open a file for reading, decompressed. Raises OSError, NotReadable among them."""
    file = _regular(path)
    if not path.name.endswith(PACKED):
        return file
    with file:
        return _unpacked(file)


def zstd() -> bool:
    """Return whether this Python can read files packed with zstd."""
    return zstd_module() is not None


def _regular(path: Path) -> BinaryIO:
    """Open a file. What it was before and after is compared: a link may take its place meanwhile."""
    before = path.lstat()
    if stat.S_ISLNK(before.st_mode):
        raise NotReadable("it is a symbolic link")
    if not stat.S_ISREG(before.st_mode):
        raise NotReadable("it is no file")
    file = path.open("rb")
    after = os.fstat(file.fileno())
    if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
        file.close()
        raise NotReadable("it was replaced while it was opened")
    return cast("BinaryIO", file)


@cache
def zstd_module() -> Any:
    """Return the module that reads zstd: Python's own from 3.14 on, or a package; None without one."""
    for name in ("compression.zstd", "zstandard"):
        with suppress(ImportError):
            return importlib.import_module(name)
    return None


def _check(written: int, read: int) -> None:
    if written > max(RATIO_FROM, RATIO * read):
        raise NotReadable(f"it unpacks to more than {RATIO} times its size")


def _decompressor(module: Any) -> _Decompressor:
    if module.__name__ == "zstandard":
        return cast("_Decompressor", module.ZstdDecompressor().decompressobj())
    return cast("_Decompressor", module.ZstdDecompressor())


def _unpacked(file: BinaryIO) -> BinaryIO:
    """Return the content of a packed file. Raises NotReadable if it is damaged or out of proportion."""
    module = zstd_module()
    if module is None:
        raise NotReadable("it is packed with zstd: `pip install zstandard`, or unpack it with `unzstd`")
    inner = _decompressor(module)
    target = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  returned
    try:
        _unpack(file, module, inner, target)
    except BaseException:
        target.close()
        raise
    target.seek(0)
    return cast("BinaryIO", target)


def _unpack(file: BinaryIO, module: Any, inner: _Decompressor, target: IO[bytes]) -> None:
    read = written = 0
    try:
        while part := file.read(CHUNK):
            read += len(part)
            while part:
                if inner.eof:
                    inner = _decompressor(module)
                content = inner.decompress(part)
                part = getattr(inner, "unused_data", b"") if inner.eof else b""
                written += len(content)
                _check(written, read)
                target.write(content)
    except module.ZstdError as error:
        raise NotReadable(f"it cannot be unpacked: {error}") from None
    if not inner.eof:
        raise NotReadable("it ends before the end of its packed content")
