"""A local server that speaks OpenAI's protocol and breaks it at a given rate, in chosen ways."""

import asyncio
import contextlib
import gzip
import json
import random
import ssl
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

FAULTS = ("429", "500", "timeout", "broken_json", "drop", "truncated", "empty_choices")

Body = dict[str, Any] | list[Any] | str | None
Reply = Body | tuple[int, Body] | tuple[int, Body, str]
"""A body, or a status with a body and perhaps further header lines. A text is sent as it is."""


def completion(content: str | None, **message: Any) -> dict[str, Any]:
    """A chat completion as OpenAI words it."""
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}}
    return {
        "id": "x", "object": "chat.completion", "created": 0, "model": "stub",
        "choices": [{**choice, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }  # fmt: skip


class FaultServer:
    """Answers each request with ``answer(path, body)``, or with one of ``faults`` at ``rate``."""

    def __init__(
        self,
        answer: Callable[[str, dict[str, Any]], Reply],
        faults: Sequence[str] = (),
        rate: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.answer, self.faults, self.rate = answer, faults, rate
        self.random = random.Random(seed)
        self.served: Counter[str] = Counter()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.in_flight = self.most_in_flight = 0
        self.url = ""
        self.models: Body = None
        """What ``GET /models`` answers; None is 404."""
        self.models_at: str | None = None
        """The only path that answers it, or None."""
        self.compressed = False
        """Whether that answer is compressed, which no client asked for."""

    @contextlib.asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator["FaultServer"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        protocol = "https" if tls else "http"
        self.url = f"{protocol}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            server.close()

    @contextlib.contextmanager
    def in_thread(self) -> Iterator["FaultServer"]:
        """Serve from another thread, for commands that run an event loop of their own."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()

        async def stop() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        serving = self.running()
        asyncio.run_coroutine_threadsafe(serving.__aenter__(), loop).result()
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), loop).result()
            asyncio.run_coroutine_threadsafe(stop(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split(" ")[1]
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in head.split("\r\n")[1:] if line)}
        sent = await reader.readexactly(int(headers.get("content-length", 0)))
        if head.startswith("GET "):
            known = self.models and path == (self.models_at or path)
            listed = json.dumps(self.models).encode()
            encoding = "Content-Encoding: gzip\r\n" if self.compressed else ""
            listed = gzip.compress(listed) if self.compressed else listed
            return await self._send(writer, 200 if known else 404, listed, encoding)
        body = json.loads(sent)
        self.requests.append(body)
        self.headers.append(headers)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(0.001)
            fault = self.random.choice(self.faults) if self.random.random() < self.rate else "none"
            self.served[fault] += 1
            return await self._reply(fault, path, body, writer)
        finally:
            self.in_flight -= 1

    async def _reply(self, fault: str, path: str, body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        match fault:
            case "429":
                error = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
                return await self._send(writer, 429, json.dumps(error).encode(), "Retry-After: 0.01\r\n")
            case "500":
                return await self._send(writer, 500, b"<html>internal error</html>")
            case "timeout":
                await asyncio.sleep(5)
                return False
            case "broken_json":
                return await self._send(writer, 200, b'{"choices": [{"message": {"content": "0')
            case "drop":
                return False
            case "truncated":
                text = json.dumps(completion("0")).encode()
                await self._send(writer, 200, text[:40], length=len(text))
                return False
            case "empty_choices":
                return await self._send(writer, 200, json.dumps({**completion("0"), "choices": []}).encode())
        reply = self.answer(path, body)
        status, data, *headers = reply if isinstance(reply, tuple) else (200, reply)
        sent = data if isinstance(data, str) else json.dumps(data)
        return await self._send(writer, status, sent.encode(), "".join(headers))

    async def _send(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        body: bytes,
        extra: str = "",
        length: int | None = None,
    ) -> bool:
        size = len(body) if length is None else length
        head = (
            f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n{extra}\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        return True
