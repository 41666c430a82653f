"""A server with the routes of a vLLM server that a run uses, over HTTP, with an ``HFEngine`` behind them.

It samples from a real model, loads real weights and checks their digests. Prompts that begin as one with the
same salt before are answered from the weights of that time, as a prefix cache would let them be read. Weights
come from files, or over Gloo to its workers, which are threads.
"""

import asyncio
import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import torch

from nlac_bench.rollout.engines import weight_file
from nlac_bench.rollout.engines.engine import SampleRequest, Sampling, Slot, SyncError
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.vllm.group import GroupError, Invitation, Member
from nlac_bench.rollout.engines.weights import ModelSource

BLOCK = 16


class _Http(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Gone(Exception):
    """The server ends without a reply."""


class _Sent:
    """Weights that were sent. The engine's own check with a probe text is left to the run."""

    def __init__(self, tensors: dict[str, torch.Tensor], engine: HFEngine) -> None:
        self.tensors, self.engine = tensors, engine

    def named_tensors(self) -> Any:
        return self.tensors.items()

    def logprobs(self, ids: Any, prompt_len: int) -> Any:
        return ModelSource(self.engine.decoders["policy"].model).logprobs(ids, prompt_len)


class StubVLLM:
    """The server. ``fault`` is one of those that the methods below name, or empty."""

    def __init__(self, model: str, port: int = 0, deterministic: bool = True, **settings: Any) -> None:
        self.model, self.fault = model, ""
        self.settings = {
            "version": "0.32.0", "scale_out": True, "dev_mode": True, "backend": "nlac_bench_file",
            "logprobs_mode": "processed_logprobs", "enforce_eager": True, "workers": 1, "pip": True,
            **settings,
        }  # fmt: skip
        self.engine = HFEngine.from_pretrained(
            model, device="cpu", dtype="float32", deterministic=deterministic
        )
        self.weight_version, self.transfers, self.active = "default", 0, False
        self.members: list[Member] = []
        self.invitation: Invitation | None = None
        self._received: dict[str, torch.Tensor] = {}
        self._refused = ""
        self.served: Counter[str] = Counter()
        self.before: Callable[[str], None] = lambda path: None
        """Called with the path of each request; tests wait or kill there."""
        self._cached: dict[tuple[str, tuple[int, ...]], int] = {}
        self.resumed = threading.Event()
        self.resumed.set()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # one packet a reply: the second of two would wait 40 ms for an acknowledgement

            def do_GET(self) -> None:
                stub.answer(self, None)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                stub.answer(self, json.loads(body) if body else {})

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    @contextlib.contextmanager
    def running(self) -> Iterator["StubVLLM"]:
        thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.resumed.set()
            self.http.shutdown()
            self.http.server_close()
            self.engine.close()

    def answer(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        url = urlsplit(handler.path)
        self.served[url.path] += 1
        status, reply = 200, None
        try:
            self.before(url.path)
            reply = self._route(url.path, body, parse_qs(url.query))
        except _Gone:
            handler.close_connection = True
            return
        except _Http as error:
            status, reply = error.status, {"error": {"message": str(error)}}
        except Exception as error:
            status, reply = 500, {"error": {"message": f"{type(error).__name__}: {error}"}}
        data = json.dumps(reply).encode()
        with contextlib.suppress(OSError):  # the client has gone
            handler.send_response(status)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)

    def _route(self, path: str, body: Any, query: dict[str, list[str]]) -> Any:
        if path == "/version":
            return {"version": self.settings["version"]}
        if path == "/v1/models":
            return {"data": [{"id": self.model, "root": self.model, "max_model_len": self.engine.context}]}
        if path == "/inference/v1/generate":
            if not self.settings["scale_out"]:
                raise _Http(403, "Scale-out endpoints are disabled")
            return self.generate(body)
        if not self.settings["dev_mode"]:
            raise _Http(404, "Not Found")
        return {
            "/server_info": self._info, "/weight_info": lambda: {"weight_version": self.weight_version},
            "/pause": lambda: self._pause(query), "/resume": self.resumed.set,
            "/start_weight_update": self._start, "/update_weights": lambda: self._update(body),
            "/finish_weight_update": lambda: self._finish(body),
            "/get_world_size": lambda: {"world_size": self.settings["workers"]},
            "/init_weight_transfer_engine": lambda: self._join(body),
        }[path]()  # fmt: skip

    def _info(self) -> Any:
        if not self.settings["pip"]:
            raise AttributeError("'NoneType' object has no attribute 'splitlines'")  # as vLLM 0.32
        model = {
            "dtype": "torch.float32", "logprobs_mode": self.settings["logprobs_mode"],
            "enforce_eager": self.settings["enforce_eager"], "quantization": None,
        }  # fmt: skip
        backend = self.settings["backend"]
        return {
            "vllm_config": {
                "model_config": model,
                "cache_config": {"block_size": BLOCK},
                "device_config": {"device_type": "cpu"},
                "weight_transfer_config": None if backend is None else {"backend": backend},
            }
        }

    # --- weights --------------------------------------------------------------------------------

    def _pause(self, query: dict[str, list[str]]) -> None:
        assert query["mode"] == ["keep"]
        self.resumed.clear()
        if query["clear_cache"] == ["true"] and self.fault != "keeps the cache":
            self._cached.clear()

    def _start(self) -> None:
        if self.active:
            raise RuntimeError("start_weight_update called while a weight update is already active")
        self.active, self._received, self._refused = True, {}, ""

    def _update(self, body: Any) -> None:
        if not self.active:
            raise RuntimeError("start_weight_update must be called before update_weights")
        self.active = False
        update = body["update_info"]
        if "path" in update:
            sent = dict(weight_file.read(Path(update["path"])))
            if {name: weight_file.digest(tensor) for name, tensor in sent.items()} != update["digests"]:
                raise ValueError("digests: the tensors that were read are not those that were sent")
            self._received = sent
        else:
            self.receive(update["number"], update["parts"])
        self.active = True

    def _join(self, body: Any) -> None:
        self.members = []
        self.invitation = invitation = Invitation(**body["init_info"])
        self.members = self._workers(lambda worker: Member(invitation, worker, torch.device("cpu")))

    def receive(self, number: int, parts: Any) -> None:
        """Let all workers receive a buffer; a tensor that is wrong is reported at the end of the update."""
        if not self.members:
            raise GroupError("this worker has not joined a group; it was restarted")
        if self.fault == "ends in a broadcast":
            members = self.members
            self._workers(
                lambda worker: members[worker]._meeting.come(f"buffer-{number}", members[worker].rank)
            )
            self.members = members = []  # which closes its connections
            raise _Gone
        iterators = self._workers(lambda worker: self.members[worker].receive(number, parts))
        try:
            for tensors in iterators:
                self._received |= {name: tensor.clone() for name, tensor in tensors}
        except ValueError as error:
            self._refused = str(error)

    def _workers(self, function: Callable[[int], Any]) -> list[Any]:
        count = self.settings["workers"]
        with ThreadPoolExecutor(count) as threads:
            return list(threads.map(function, range(count)))

    def _apply(self, sent: dict[str, torch.Tensor]) -> None:
        if self._refused:
            raise ValueError(self._refused)
        if self.fault != "skipped push":
            old = ModelSource(self.engine.decoders["policy"].model)
            self.engine.sync(old, self.transfers, "target")
            kept = {name: tensor.clone() for name, tensor in old.named_tensors() if ".layers.1." in name}
            self._load(sent)
            if self.fault == "stale layer":
                with torch.no_grad():
                    for name, tensor in old.named_tensors():
                        tensor.copy_(kept.get(name, tensor))
            try:
                weight_file.check_digests(self.engine.weight_digests("policy"), sent.items())
            except SyncError as error:
                raise ValueError(f"digests: {error}") from None
        self.transfers += 1

    def _load(self, sent: dict[str, torch.Tensor]) -> None:
        try:
            self.engine.sync(_Sent(sent, self.engine), self.transfers)
        except SyncError as error:  # such as a tensor that the file lacks
            raise ValueError(f"digests: {error}") from None

    def _finish(self, body: Any) -> None:
        if not self.active:
            raise RuntimeError("finish_weight_update called without a matching start_weight_update")
        self.active = False
        self._apply(self._received)
        if self.fault != "lagging":
            self.weight_version = body["weight_version"]

    # --- samples --------------------------------------------------------------------------------

    def generate(self, body: Any) -> Any:
        if not body:
            raise _Http(400, "token_ids: Field required")
        if body["model"] != self.model:
            raise _Http(404, f"The model `{body['model']}` does not exist.")
        if self.fault == "500":
            raise RuntimeError("out of memory")
        if self.fault == "slow":
            time.sleep(5)
        self.resumed.wait()
        prompt, arguments = body["token_ids"], body["sampling_params"]
        if "prompt_logprobs" in arguments:  # does not read the prefix cache
            found = asyncio.run(self.engine.logprobs(prompt, 1))
            scored = [{str(token): {"logprob": p}} for token, p in zip(prompt[1:], found, strict=True)]
            return {"prompt_logprobs": [None, *scored], "choices": [], "usage": {}}
        slot, cached = self._cache(str(body["cache_salt"]), tuple(prompt))
        sampling = Sampling(
            temperature=arguments["temperature"], top_p=arguments.get("top_p", 1.0),
            max_tokens=arguments["max_tokens"], stop=tuple(arguments.get("stop", ())),
        )  # fmt: skip
        request = SampleRequest(prompt_ids=prompt, sampling=sampling, seed=arguments.get("seed"), slot=slot)
        label = self.weight_version
        (sample,) = asyncio.run(self.engine.sample(request))
        assert sample.ids is not None and sample.logprobs is not None
        ended = sample.finish == "stop"
        ends = sample.ids[-1:] and sample.ids[-1] in self.engine.end_ids
        rows = [{"token_id": i, "logprob": p} for i, p in zip(sample.ids, sample.logprobs, strict=True)]
        choice = {
            "index": 0, "token_ids": sample.ids, "logprobs": {"content": rows},
            "finish_reason": "stop" if ended else "length",
            "stop_reason": "stop string" if ended and not ends else None,
            "weight_versions": [{"version": label, "start": 0, "end": len(rows)}],
        }  # fmt: skip
        usage = {"prompt_tokens": len(prompt), "prompt_tokens_details": {"cached_tokens": cached}}
        return {"choices": [choice], "usage": usage}

    def _cache(self, salt: str, prompt: tuple[int, ...]) -> tuple[Slot, int]:
        """Return the weights that the answer would be computed from, and the number of cached tokens."""
        key = salt, prompt[:BLOCK]
        if len(prompt) <= BLOCK:
            return "policy", 0
        known = self._cached.setdefault(key, self.transfers)
        return ("policy" if known == self.transfers else "target"), BLOCK


def serve(model: str, port: int, ready: Connection) -> None:
    """Be a server at ``port``, in a process of its own; sends its address to ``ready``."""
    torch.set_num_threads(1)
    served = StubVLLM(model, port, deterministic=False)
    ready.send(served.url)
    served.http.serve_forever()
