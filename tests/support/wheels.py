"""Wheels that a test makes itself, file by file, as an honest or a hostile builder would."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

PACKAGE: Mapping[str, str] = {"tiny_pkg/__init__.py": "ANSWER = 42\n"}


def describing(name: str, version: str, needs: Iterable[str] = ()) -> dict[str, str]:
    """The two files that describe a distribution."""
    lines = [f"Requires-Dist: {need}\n" for need in needs]
    return {
        f"{name}-{version}.dist-info/METADATA": (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{''.join(lines)}\n"
        ),
        f"{name}-{version}.dist-info/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
    }


def record(files: Mapping[str, str], about: str) -> str:
    """The record of these files."""
    lines = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        lines.append(f"{path},sha256={digest.decode()},{len(text.encode())}\n")
    return "".join(lines) + f"{about}/RECORD,,\n"


def wheel_bytes(
    files: Mapping[str, str] = PACKAGE,
    *,
    name: str = "tiny_pkg",
    version: str = "1.0",
    needs: Iterable[str] = (),
    describe: Mapping[str, str] | None = None,
    changed: Mapping[str, str | None] | None = None,
    modes: Mapping[str, int] | None = None,
    twice: str | None = None,
    compression: int = zipfile.ZIP_DEFLATED,
) -> bytes:
    """A wheel whose record fits; `describe` replaces the files METADATA and WHEEL.

    `changed` replaces any file after the record was made; None removes it.
    """
    about = f"{name}-{version}.dist-info"
    whole = {**files, **describing(name, version, needs)}
    whole |= {f"{about}/{document}": text for document, text in (describe or {}).items()}
    whole[f"{about}/RECORD"] = record(whole, about)
    content = {**whole, **(changed or {})}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for path, text in content.items():
            if text is not None:
                info = zipfile.ZipInfo(path)
                info.compress_type = compression
                info.external_attr = (modes or {}).get(path, 0o100644) << 16
                archive.writestr(info, text)
        if twice is not None:
            archive.writestr(zipfile.ZipInfo(twice), "again")
    return stream.getvalue()


def put_wheel(
    folder: Path, content: bytes, *, name: str = "tiny_pkg", version: str = "1.0"
) -> Path:
    """Write a wheel where pip finds it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    path.write_bytes(content)
    return path
