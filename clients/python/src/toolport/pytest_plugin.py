"""Fixtures for tests that need a sidecar; pytest loads them wherever toolport is installed.

``toolport_sidecar`` serves the tools file that ``--toolport-tools`` or the ini option
``toolport_tools`` names, once in a session; override the fixture ``toolport_tools`` to name another
one. ``toolport_port`` and ``toolport_aport`` are clients for it, new in each test.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from .aio import AsyncToolPort
from .client import ToolPort
from .sidecar import Sidecar

_async_fixture: Any
try:
    from pytest_asyncio import fixture as _async_fixture
except ImportError:  # Another plugin may run asynchronous fixtures.
    _async_fixture = pytest.fixture


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds where the tools are."""
    help = "the tools file that the toolport_sidecar fixture serves"
    parser.addini("toolport_tools", help, default="")
    parser.getgroup("toolport").addoption("--toolport-tools", metavar="FILE", help=help)


@pytest.fixture(scope="session")
def toolport_tools(pytestconfig: pytest.Config) -> Path:
    """The tools file; override it to name another one."""
    given = pytestconfig.getoption("--toolport-tools")
    if given:
        return Path(pytestconfig.invocation_params.dir, given)
    configured = pytestconfig.getini("toolport_tools")
    if configured:
        return Path(pytestconfig.rootpath, configured)
    raise pytest.UsageError(
        "no tools file is named: pass --toolport-tools FILE, set toolport_tools in the ini file, "
        "or override the fixture toolport_tools"
    )


@pytest.fixture(scope="session")
def toolport_sidecar(toolport_tools: Path) -> Iterator[Sidecar]:
    """A sidecar that serves the tools, for the whole session."""
    with Sidecar.spawn(toolport_tools) as sidecar:
        yield sidecar


@pytest.fixture
def toolport_port(toolport_sidecar: Sidecar) -> Iterator[ToolPort]:
    """A synchronous client for the sidecar."""
    with toolport_sidecar.port() as port:
        yield port


@_async_fixture  # type: ignore[untyped-decorator]
async def toolport_aport(toolport_sidecar: Sidecar) -> AsyncIterator[AsyncToolPort]:
    """A client for asyncio; needs a plugin such as pytest-asyncio."""
    async with toolport_sidecar.aport() as port:
        yield port
