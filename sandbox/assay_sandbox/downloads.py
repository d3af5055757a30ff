"""Gets wheels with the host's pip: wheels only, so that no package's code runs here.

Of the user's pip configuration only where packages come from is taken. Constraints, build
settings and whatever else a file or the environment says would change what is fetched.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.api import Requirement, RuntimeUnavailable

__all__ = ["download", "source_settings"]

CONFIG_SECONDS = 60
DOWNLOAD_SECONDS = 900

SOURCES = (
    *("index-url", "extra-index-url", "no-index", "find-links", "trusted-host"),
    *("cert", "client-cert", "proxy", "timeout", "default-timeout", "retries"),
    "keyring-provider",
)
SECTIONS = ("global", "download", ":env:")
"""Sections of pip's configuration, the one that wins last."""

PLACES = (
    *("HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "PATH", "NETRC"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
)
NO_PIP = "pip is not installed for the Python that runs assay; fix: python -m ensurepip"


def download(wanted: Iterable[Requirement], folder: Path) -> None:
    """Put one wheel for each requirement into `folder/wheels`; raises RuntimeUnavailable.

    `folder` is the caller's, empty and short-lived; pip's own temporary files are in it too.
    """
    (folder / "tmp").mkdir()
    (folder / "wheels").mkdir()
    names = [str(requirement) for requirement in wanted]
    options = ("--only-binary", ":all:", "--no-deps", "--no-cache-dir", "--no-input", "--quiet")
    environment = _places() | {
        **source_settings(),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "TMPDIR": str(folder / "tmp"),
    }
    arguments = ("download", *options, "--dest", str(folder / "wheels"), *names)
    finished = _pip(arguments, environment, DOWNLOAD_SECONDS)
    if finished.returncode != 0:
        raise RuntimeUnavailable(
            f"pip can't get {', '.join(names)} as wheels; see: python -m pip download"
            " --only-binary :all: --no-deps " + " ".join(names)
        )


def source_settings() -> dict[str, str]:
    """Where the user's pip gets packages from, as variables of an environment."""
    named = {"PIP_" + key.replace("-", "_").upper() for key in SOURCES} | {"PIP_CONFIG_FILE"}
    environment = _places() | {key: os.environ[key] for key in named if key in os.environ}
    finished = _pip(("config", "list"), environment, CONFIG_SECONDS)
    if b"No module named pip" in finished.stderr:
        raise RuntimeUnavailable(NO_PIP)
    if finished.returncode != 0:
        raise RuntimeUnavailable(
            "pip does not say its configuration; see: python -m pip config list"
        )
    found = _settings(finished.stdout.decode("utf-8", "replace"))
    return {
        "PIP_" + key.replace("-", "_").upper(): found[section, key]
        for section in SECTIONS
        for key in SOURCES
        if (section, key) in found
    }


def _settings(text: str) -> Mapping[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for line in text.splitlines():
        name, _, shown = line.partition("=")
        section, _, key = name.rpartition(".")
        try:
            value = ast.literal_eval(shown)
        except (SyntaxError, ValueError):
            continue
        if isinstance(value, str) and "\0" not in value:
            found[section, key] = value
    return found


def _places() -> dict[str, str]:
    found = {name: os.environ[name] for name in PLACES if name in os.environ}
    return found | {"LC_ALL": "C.UTF-8"}


def _pip(
    arguments: tuple[str, ...], environment: Mapping[str, str], seconds: int
) -> subprocess.CompletedProcess[bytes]:
    # Isolated, so that neither the current folder nor PYTHON* variables bring other code in;
    # the current folder stays, since a folder of wheels may be given relative to it.
    try:
        return subprocess.run(
            [sys.executable, "-I", "-m", "pip", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeUnavailable(
            f"pip did not end within {seconds} seconds; see the network"
        ) from None
