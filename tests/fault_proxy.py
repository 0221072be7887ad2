"""A TCP proxy on loopback that fails on purpose: it cuts, spoils or withholds what a server answers."""

import asyncio
import contextlib
import random
import threading

FAULTS = ("blackhole", "reset", "cut", "truncated", "garbage", "refused")


class FaultProxy:
    """A proxy before a server; `fault` holds for all that a client sends from now on.

    Parameters
    ----------
    port : int
        Of the server, on 127.0.0.1.

    Attributes
    ----------
    port : int
        Where clients connect.
    fault : str or None
        "blackhole" gives nothing, "reset" resets the connection in place of an answer and "cut" in the middle of one,
        "truncated" closes it there in good order, "garbage" gives random bytes. Set all of them through `fail`.
    plan : list of (str or None)
        Faults of the next requests, one after another; `fault` holds when they are used up.
    open : int
        Connections of clients that are open.
    """

    def __init__(self, port):
        self.upstream, self.fault, self.plan, self.open = port, None, [], 0
        self._loop, self._listening, self.port, self._writers = asyncio.new_event_loop(), None, 0, set()

    def __enter__(self):
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)
        self._thread.start()
        self._run(self._listen())
        return self

    def __exit__(self, *_):
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def fail(self, fault, plan=()):
        """Fail in this way from now on, connections that are open too; None works again."""
        self.fault, self.plan = fault, list(plan)
        if fault == "refused":
            self._run(self._hang_up())
        elif self._listening is None:
            self._run(self._listen())

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self):
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._listening.sockets[0].getsockname()[1]

    async def _hang_up(self):
        """Close the door, and reset whoever is inside."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        for writer in list(self._writers):
            writer.transport.abort()

    async def _end(self):
        await self._hang_up()
        mine = asyncio.all_tasks() - {asyncio.current_task()}
        for task in mine:
            task.cancel()
        await asyncio.gather(*mine, return_exceptions=True)

    async def _serve(self, reader, writer):
        self.open += 1
        self._writers.add(writer)
        now = [None]  # the fault of the request that was sent last
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self.upstream)
            with contextlib.closing(to_server):
                sides = (self._requests(reader, to_server, now), self._answers(from_server, writer, now))
                tasks = [asyncio.ensure_future(each) for each in sides]
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()
            self.open -= 1

    async def _requests(self, reader, writer, now):
        while data := await reader.read(65536):
            now[0] = self.plan.pop(0) if self.plan else self.fault
            writer.write(data)
            await writer.drain()

    async def _answers(self, reader, writer, now):
        chance = random.Random(0)  # noqa: S311 - no secret
        while data := await reader.read(65536):
            fault, half = now[0], len(data) // 2
            await asyncio.sleep(3600 * (fault == "blackhole"))
            parts = {"garbage": chance.randbytes(len(data)), "reset": b"", "refused": b""}
            writer.write(parts.get(fault, data[:half] if fault in {"cut", "truncated"} else data))
            with contextlib.suppress(ConnectionError):
                await writer.drain()
            if fault in {"reset", "refused", "cut"}:
                await asyncio.sleep(0.001)  # the part before is on its way
                writer.transport.abort()
            if fault in {"reset", "refused", "cut", "truncated"}:
                return
