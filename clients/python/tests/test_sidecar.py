"""A sidecar of one's own: found, started, waited for, and ended."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolport import Retry, Sidecar, SidecarError, Unavailable

FAKE = [sys.executable, str(Path(__file__).with_name("fake_sidecar.py"))]


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    file = tmp_path / "tools.ts"
    file.write_text("export default {}")
    return file


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


def spawn(tools: Path, manner: str = "", **options: Any) -> Sidecar:
    env = {"FAKE_MANNER": manner, **options.pop("env", {})}
    return Sidecar.spawn(tools, command=FAKE, env=env, **options)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_until_gone(pid: int) -> None:
    until = time.monotonic() + 20
    while not gone(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert gone(pid)


@pytest.mark.parametrize("manner", ["", "noisy"])
def test_a_sidecar_serves_within_its_block_and_is_gone_after(tools: Path, manner: str) -> None:
    with spawn(tools, manner) as sidecar, sidecar.port() as port:
        assert port.execute("echo", {"a": 1}).value == {"a": 1}
        folder = Path(sidecar.address.removeprefix("unix:")).parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert sidecar.alive and sidecar.digest == "sha256:ab"
        arguments = f'arguments: ["serve", "{tools}", "--address", "{sidecar.address}", '
        assert sidecar.stderr.startswith(arguments + '"--exit-with-parent"]')

    assert not sidecar.alive and not folder.exists()
    assert sidecar.stderr.endswith("drained")
    wait_until_gone(sidecar.pid)
    with pytest.raises(SidecarError, match="ended with code 0"):
        sidecar.port()


async def test_an_async_block_does_the_same(tools: Path) -> None:
    async with spawn(tools) as sidecar, sidecar.aport() as port:
        assert (await port.execute("echo", {"a": 1})).value == {"a": 1}

    assert not sidecar.alive


async def test_a_start_that_is_given_up_leaves_nothing_behind(tools: Path) -> None:
    sidecar = spawn(tools, "hangs")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            async with sidecar:
                raise AssertionError

    wait_until_gone(sidecar.pid)


def test_the_block_of_a_failure_ends_it_too(tools: Path) -> None:
    sidecar = spawn(tools)
    with pytest.raises(KeyError), sidecar:
        raise KeyError

    assert not sidecar.alive
    sidecar.close()


def test_its_error_output_goes_to_the_log(tools: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "toolport.sidecar"), spawn(tools):
        pass

    assert "drained" in [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("manner", "code", "says"),
    [
        ("refuses", 2, "ended with code 2 before it was ready.*which is taken"),
        ("prints and ends", 1, "code 1 before it was ready"),
    ],
)
def test_a_start_that_fails_quotes_what_was_said(
    tools: Path, manner: str, code: int, says: str
) -> None:
    with pytest.raises(SidecarError, match=f"(?s){says}") as raised:
        spawn(tools, manner).start()

    assert (raised.value.exit_code, raised.value.started) == (code, "no")
    assert isinstance(raised.value, Unavailable)


def test_another_version_of_the_ready_line_is_refused(tools: Path) -> None:
    sidecar = spawn(tools, "is of a newer release")

    with pytest.raises(SidecarError, match="speaks version 2 of the ready line"):
        sidecar.start()

    wait_until_gone(sidecar.pid)


@pytest.mark.parametrize(
    "options", [{"env": {"LIMIT": 5}}, {"args": ["--max-calls-in-flight", 5]}, {"args": ["a\0b"]}]
)
def test_what_no_process_can_be_given_is_told_in_a_sentence(
    tools: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(SidecarError, match="is not of strings without NUL"):
        spawn(tools, **options).start()


def test_a_long_folder_for_temporary_files_does_not_make_the_socket_s_path_too_long(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in (71, 72, 73, 80, 100):
        # Of characters with two bytes each, which are what counts.
        folder = Path("/tmp") / f"{tmp_path.name[:8]}{os.getpid()}".ljust(size // 2, "é")
        folder.mkdir()
        try:
            monkeypatch.setattr("tempfile.tempdir", str(folder))
            with spawn(tools) as sidecar, sidecar.port() as port:
                assert len(os.fsencode(sidecar.address.removeprefix("unix:"))) <= 103
                assert port.execute("echo").ok
            assert list(folder.iterdir()) == []
        finally:
            folder.rmdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t"))


def test_a_start_that_takes_too_long_is_given_up(tools: Path) -> None:
    sidecar = spawn(tools, "hangs", startup_timeout=1)

    with pytest.raises(SidecarError, match="no ready line within 1 s"):
        sidecar.start()

    wait_until_gone(sidecar.pid)


def test_one_that_ignores_its_end_is_killed(tools: Path, caplog: pytest.LogCaptureFixture) -> None:
    with spawn(tools, "deaf", close_timeout=0.3) as sidecar:
        pass

    wait_until_gone(sidecar.pid)
    assert "did not end within 0.3 s and is killed" in caplog.text


def test_its_death_is_told_with_its_last_words(
    tools: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with spawn(tools) as sidecar, sidecar.port() as port:
        with pytest.raises(SidecarError, match=r"(?s)code 134.*out of memory") as raised:
            port.execute("die")
        assert (raised.value.exit_code, raised.value.started) == (134, "unknown")
        assert raised.value.stderr.endswith("fatal: out of memory")
        with pytest.raises(SidecarError, match=r"(?s)code 134.*out of memory"):
            sidecar.port()
        with pytest.raises(SidecarError, match="out of memory") as again:
            port.execute("echo")
        assert again.value.started == "no"

    assert "the sidecar ended by itself with code 134" in caplog.text


async def test_its_death_is_told_by_the_async_client_too(tools: Path) -> None:
    async with spawn(tools) as sidecar, sidecar.aport() as port:
        with pytest.raises(SidecarError, match=r"(?s)code 134.*out of memory"):
            await port.execute("die")


def restarting(tools: Path, manner: str = "", **options: Any) -> Sidecar:
    return spawn(tools, manner, restart="on-failure", **options)


def test_one_that_dies_is_started_again_where_it_was(tools: Path) -> None:
    with restarting(tools) as sidecar, sidecar.port(retry=Retry()) as port:
        address, first = sidecar.address, sidecar.pid
        with pytest.raises(SidecarError, match="code 134 and is started again") as raised:
            port.execute("die")
        assert raised.value.started == "unknown"
        assert port.execute("echo", {"a": 1}, retry=Retry()).value == {"a": 1}
        assert (sidecar.address, sidecar.restarts) == (address, 1)
        assert sidecar.pid != first and sidecar.alive
        folder = Path(address.removeprefix("unix:")).parent
        assert f'"--journal", "{folder}/journal.db"' in sidecar.stderr

    assert not sidecar.alive
    wait_until_gone(sidecar.pid)


def test_on_tcp_it_comes_back_with_its_port_and_token(tools: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("made\n")
    env = {"FAKE_TOKEN_FILE": str(file)}
    with restarting(tools, address="127.0.0.1:0", env=env) as sidecar:
        with sidecar.port(retry=Retry()) as port:
            address = sidecar.address
            with pytest.raises(SidecarError):
                port.execute("die")
            file.write_text("another")
            assert port.execute("echo").ok
            assert f'"--address", "{address}"' in sidecar.stderr


@pytest.mark.parametrize(
    "said", [{"journal": "calls.db"}, {"args": ["--journal=calls.db"]}, {"env": {}}]
)
def test_a_journal_that_is_named_is_the_one(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: dict[str, Any]
) -> None:
    if "env" in said:
        monkeypatch.setenv("TOOLPORT_JOURNAL", "calls.db")
    with restarting(tools, cwd=tmp_path, **said) as sidecar:
        assert "journal.db" not in sidecar.stderr
        assert ("calls.db" in sidecar.stderr) == ("env" not in said)


def test_one_that_keeps_dying_is_given_up(tools: Path) -> None:
    with restarting(tools, max_restarts=2) as sidecar, sidecar.port() as port:
        for _ in range(3):
            with pytest.raises(SidecarError, match="code 134"):
                port.execute("die", retry=Retry())
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                sidecar.port().close()
            except SidecarError:
                break
            time.sleep(0.02)
        with pytest.raises(SidecarError, match="ended with code 134"):
            sidecar.port()
        assert sidecar.restarts == 2
        # There is nothing to wait for.
        with pytest.raises(SidecarError):
            port.execute("echo", retry=Retry(within=3600))


def test_one_that_comes_back_with_other_tools_is_ended(tools: Path, tmp_path: Path) -> None:
    digest = tmp_path / "digest"
    digest.write_text("sha256:ab")
    env = {"FAKE_DIGEST_FILE": str(digest)}
    with restarting(tools, max_restarts=1, env=env) as sidecar, sidecar.port() as port:
        digest.write_text("sha256:cd")
        with pytest.raises(SidecarError):
            port.execute("die")
        until = time.monotonic() + 20
        while not sidecar._started().is_over and time.monotonic() < until:
            time.sleep(0.02)
        with pytest.raises(SidecarError, match="another set of tools, sha256:cd"):
            sidecar.port()


def test_closing_it_while_it_is_started_again_leaves_nothing_behind(tools: Path) -> None:
    with restarting(tools) as sidecar, sidecar.port() as port:
        with pytest.raises(SidecarError):
            port.execute("die")
    assert not sidecar.alive
    wait_until_gone(sidecar.pid)


def test_a_policy_that_is_none_is_refused(tools: Path) -> None:
    with pytest.raises(ValueError, match="expected never or on-failure"):
        spawn(tools, restart="always")


@pytest.fixture
def short_folder() -> Iterator[str]:
    # One that is killed removes nothing.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield folder


def test_it_ends_when_its_parent_is_killed(tools: Path, short_folder: str) -> None:
    script = f"""
import os, sys, time
from toolport import Sidecar
with Sidecar.spawn({str(tools)!r}, command={FAKE!r}) as sidecar:
    if os.fork() == 0:
        time.sleep(60)  # A child that lives on does not keep it.
    print(sidecar.pid, flush=True)
    time.sleep(60)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
        env={**os.environ, "TMPDIR": short_folder},
    )
    assert parent.stdout is not None
    try:
        pid = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        wait_until_gone(pid)
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.stdout.close()


def test_on_tcp_the_client_gets_the_token_that_it_made(tools: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("made\n")

    with spawn(tools, address="127.0.0.1:0", env={"FAKE_TOKEN_FILE": str(file)}) as sidecar:
        assert sidecar.address.startswith("127.0.0.1:")
        with sidecar.port() as port:
            assert port._target.metadata == (("authorization", "Bearer made"),)
            assert port.execute("echo").ok


def test_a_process_that_ends_without_closing_it_ends_it(tools: Path) -> None:
    script = f"""
from toolport import Sidecar
sidecar = Sidecar.spawn({str(tools)!r}, command={FAKE!r}).start()
print(sidecar.pid)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )

    wait_until_gone(int(done.stdout))


def test_a_tools_file_or_a_command_that_is_not_there_is_named(tools: Path, tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match=r"no tools file .*absent\.ts"):
        Sidecar.spawn(tmp_path / "absent.ts").start()
    with pytest.raises(SidecarError, match=r"/nonexistent/toolport can't be started"):
        Sidecar.spawn(tools, command="/nonexistent/toolport --flag").start()
    with pytest.raises(SidecarError, match="not started"):
        Sidecar.spawn(tools).port()
