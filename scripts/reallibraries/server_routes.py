"""A server with the routes of a vLLM or SGLang wheel, and an engine that has memory and does nothing.

    server_routes.py vllm|sglang SITE PORT [--key KEY]    followed by the real server's command line

SITE has the unpacked wheel, fastapi, uvicorn, and prometheus_client (vLLM) or msgspec (SGLang). The routes,
their arguments and SGLang's check of the API key are the wheel's own code. The engine behind the routes is a stand-in,
and so are the metrics of vLLM and /server_info of SGLang. The server allocates 8 GiB by libcuda.so.1.
"""

import ast
import ctypes
import importlib
import re
import sys
import types
import typing

kind, site, port = sys.argv[1:4]
sys.path.insert(0, site)

import uvicorn  # noqa: E402
from fastapi import Body, FastAPI, Request  # noqa: E402
from fastapi.responses import JSONResponse  # noqa: E402
from starlette.routing import Mount  # noqa: E402

SIZE = 8 << 30


class Memory:
    """What the engine has on the GPU."""

    def __init__(self):
        self.cuda, self.context, self.address = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
        assert self.cuda.cuInit(0) == 0
        assert self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), 0) == 0
        self.take()

    def take(self):
        assert self.cuda.cuCtxPushCurrent_v2(self.context) == 0
        assert self.cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(SIZE)) == 0

    def give(self):
        assert self.cuda.cuCtxPushCurrent_v2(self.context) == 0
        assert self.cuda.cuMemFree_v2(self.address) == 0


def package(name):
    """A package of the wheel without its __init__, which would import the whole package."""
    module = types.ModuleType(name)
    module.__path__ = [site + "/" + name.replace(".", "/")]
    sys.modules[name] = module
    return module


def stub(name, **attributes):
    module = types.ModuleType(name)
    module.__dict__.update(attributes)
    sys.modules[name] = module


def parts(path, wanted, into):
    """Runs the definitions of some names from a file of the wheel. The whole file would import too much."""
    tree = ast.parse(open(f"{site}/{path}").read())
    found = [n for n in tree.body if (n.targets[0].id if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) else getattr(n, "name", None)) in wanted]
    assert len(found) == len(wanted), f"{path} has {len(found)} of {wanted}"
    exec(compile(ast.Module(found, []), path, "exec"), into)  # noqa: S102


def vllm(memory):
    for name in ("vllm", "vllm.entrypoints", "vllm.entrypoints.serve", "vllm.entrypoints.serve.dev", "vllm.entrypoints.serve.dev.sleep",
                 "vllm.entrypoints.serve.instrumentator", "vllm.entrypoints.serve.middleware", "vllm.entrypoints.serve.tokenize", "vllm.v1", "vllm.engine"):
        package(name)
    modes = {"Literal": typing.Literal}
    parts("vllm/v1/engine/__init__.py", ["PauseMode"], modes)
    stub("vllm.v1.engine", PauseMode=modes["PauseMode"])
    stub("vllm.engine.protocol", EngineClient=object)
    stub("vllm.entrypoints.serve.tokenize.serving", ServingTokenization=object)
    stub("vllm.logger", init_logger=lambda _: types.SimpleNamespace(info=lambda *_: None))

    class Engine:
        sleeping = False

        async def sleep(self, level, mode):
            assert (level, mode, self.sleeping) == (1, "wait", False), f"level {level}, mode {mode}"
            self.sleeping = True
            memory.give()

        async def wake_up(self, _tags):
            memory.take()
            self.sleeping = False
            return True

        async def is_sleeping(self):
            return self.sleeping

    app = FastAPI()
    app.state.engine_client = Engine()
    importlib.import_module("vllm.entrypoints.serve.dev.sleep.api_router").attach_router(app)
    app.include_router(importlib.import_module("vllm.entrypoints.serve.instrumentator.basic").router)
    names = ["vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"]
    loggers = open(site + "/vllm/v1/metrics/loggers.py").read()
    assert all(f'name="{name}"' in loggers for name in names), "the wheel has other metrics"
    import prometheus_client

    for name in names:
        prometheus_client.Gauge(name, "", ["engine", "model_name"]).labels("0", "m").set(0)
    metrics = Mount("/metrics", prometheus_client.make_asgi_app())
    metrics.path_regex = re.compile("^/metrics(?P<path>.*)$")  # as instrumentator/metrics.py has it
    app.routes.append(metrics)
    return app


def sglang(memory):
    for name in ("sglang", "sglang.srt", "sglang.srt.utils", "sglang.srt.entrypoints"):
        package(name)
    sys.modules["sglang.srt.utils"].get_device_name = lambda: None
    auth = importlib.import_module("sglang.srt.utils.auth")
    structs = importlib.import_module("sglang.srt.utils.msgspec_utils")
    requests = ["ReleaseMemoryOccupationReqInput", "ResumeMemoryOccupationReqInput", "PauseGenerationReqInput", "ContinueGenerationReqInput"]
    code = {**vars(typing), **vars(structs), "msgspec": importlib.import_module("msgspec")}
    parts("sglang/srt/managers/io_struct.py", ["BaseReq", *requests], code)
    snapshot = {"Optional": typing.Optional, "msgspec": code["msgspec"]}
    parts("sglang/srt/managers/load_snapshot.py", ["_SECTION_FIELDS", "MemoryMetrics", "SpeculativeMetrics", "LoRAMetrics", "DisaggregationMetrics",
                                                   "QueueMetrics", "LoadSnapshot", "_CORE_KEYS"], snapshot)

    class Manager:
        """Stands in for the scheduler, which fails if it is asked for the state that it is already in."""

        paused, released = False, set()

        async def pause_generation(self, request):
            assert request.mode == "retract"
            self.paused = True

        async def continue_generation(self, _request):
            assert not self.released
            self.paused = False

        async def release_memory_occupation(self, request, _http):
            assert self.paused and not self.released & set(request.tags)
            self.released = set(request.tags)
            memory.give()

        async def resume_memory_occupation(self, request, _http):
            assert self.released == set(request.tags)
            memory.take()
            self.released = set()

        async def get_loads(self, **_):
            return [snapshot["LoadSnapshot"](token_usage=0.25, memory=snapshot["MemoryMetrics"](5.0, 2.5, 0.25, 1000))]

    app = FastAPI()
    state = types.SimpleNamespace(tokenizer_manager=Manager())
    stub("sglang.srt.runtime_context", get_parallel=lambda: types.SimpleNamespace(tp_size=1, pp_size=1, attn_dp_enabled=False))
    stub("sglang.srt.entrypoints.http_server", get_global_state=lambda: state)
    code.update(vars(auth), app=app, _global_state=state, Body=Body, Request=Request, ORJSONResponse=JSONResponse, HTTPStatus=importlib.import_module("http").HTTPStatus)
    parts("sglang/srt/entrypoints/http_server.py", ["release_memory_occupation", "resume_memory_occupation", "pause_generation", "continue_generation",
                                                    "_create_error_response"], code)
    loads = importlib.import_module("sglang.srt.entrypoints.v1_loads")
    app.include_router(loads.router)

    @app.get("/server_info")
    async def server_info():
        return {"version": loads.__version__, "enable_memory_saver": True, "enable_weights_cpu_backup": True}

    if "--key" in sys.argv:
        auth.add_api_key_middleware(app, api_key=sys.argv[sys.argv.index("--key") + 1], admin_api_key=None)
    return app


uvicorn.run({"vllm": vllm, "sglang": sglang}[kind](Memory()), host="127.0.0.1", port=int(port), log_level="warning")
