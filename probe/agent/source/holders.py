# The classes of holders. A block with holders of several classes belongs to the first of them.
_CLASSES = ("parameters", "gradients", "optimizer_state", "buffers", "variables")
_PARAMETERS, _GRADIENTS, _STATE, _BUFFERS, _VARIABLES = range(5)
_PASSED = type, type(sys), type(_clip), type(len), type(None), int, float, str, bytes  # types of objects that are not looked into


class _GlobalHook:
    """One of PyTorch's hooks for all modules or all optimizers."""

    def __init__(self, module, register, hooks):
        self._names = module, register, hooks
        self._handle = None

    def add(self, make):
        """Registers the hook that make() returns, and returns whether it is there. If the program has such hooks,
        none is added: a thread that iterates over them would fail. If there are none, no thread iterates."""
        module, register, hooks = self._names
        module = _module(module)
        register = getattr(module, register, None)
        if self._handle is None and register is not None and not getattr(module, hooks, True):
            self._handle = register(make())
        return self._handle is not None

    def remove(self):
        """Removes the hook, without changing what a thread may be iterating over."""
        module, handle, name = _module(self._names[0]), self._handle, self._names[2]
        hooks = getattr(module, name, None)
        if handle is None or not hooks or handle.id not in hooks:
            return
        if len(hooks) == 1:
            setattr(module, name, type(hooks)())
        else:
            hooks[handle.id] = _do_nothing


def _do_nothing(*_):
    pass


def _compiling():
    """Returns a function that returns whether torch.compile is tracing its caller. torch.compile would
    inline a hook into the program's graph, and compile again for each value that the hook reads."""
    compiler = _attribute(_module("torch"), "compiler")
    return getattr(compiler, "is_dynamo_compiling", None) or getattr(compiler, "is_compiling", None) or bool


class _Pace:
    """Limits a search. The probe has the GIL for _HOLD at a time, and the search raises a _Refusal after _LOOK_MOST.
    With once there are no pauses, and the search raises after that many seconds."""

    def __init__(self, once=0):
        self._until, self._calls, self._end = _monotonic() + (once or _HOLD), 0, _monotonic() + (once and -1 or _LOOK_MOST)

    def breathe(self, items=1):
        """Counts the items that were looked at. Pauses, or raises, if the hold has lasted long enough."""
        self._calls += items
        if self._calls < 16:
            return
        self._calls = 0
        if _monotonic() >= self._until:
            if self._until > self._end:
                raise _Refusal("busy", "the program leaves no time to look at so many tensors: try again")
            _sleep(_PAUSE)
            self._until = _monotonic() + _HOLD


class _Holders:
    """The program's modules, optimizers and variables that hold tensors. The first two are known by weak references.

    A gradient is read only on the program's thread that makes the step. A backward pass and zero_grad() write .grad
    without the GIL, and the program crashes if another thread reads it meanwhile.

    Modules become known when they register parameters, buffers or modules, from the import of PyTorch
    on, and optimizers when they step. The rest is found by a look at the variables of the main module and
    of the functions that run, and at what these hold: _LOOKED values at most. The heap is never walked.

    Source: torch/nn/modules/module.py, register_module_parameter_registration_hook (2.0 to 2.15).
    """

    def __init__(self, steps):
        self._steps = steps
        self._modules = None  # id → module, weakly
        names = ("register_module_%s_registration_hook", "_global_%s_registration_hooks")
        self._hooks = [_GlobalHook("torch.nn.modules.module", *(name % what for name in names)) for what in ("parameter", "buffer", "module")]
        self.trains = False  # whether the last walk found a module in training

    def watch(self):
        if self._modules is None and _module("torch.nn.modules.module") is not None:
            self._modules = _module("weakref").WeakValueDictionary()
        for hook in self._hooks:
            hook.add(self._hook)

    def unwatch(self):
        for hook in self._hooks:
            hook.remove()

    def _hook(self):
        known, compiling = self._modules, _compiling()

        def met(module, name, value):
            try:
                if not compiling() and known.get(id(module)) is not module and len(known) < _MAX_MODULES:
                    known[id(module)] = module
            except Exception:
                pass  # a module that allows no weak reference

        return met

    # -- The walk

    def walk(self, pace):
        """Returns the storages in the GPUs' memory, as a _Found."""
        found, self.trains = _Found(), False
        torch = _module("torch")
        _sleep(_PAUSE)  # the look at the variables is a hold of its own
        # A subclass of Tensor may run the program's code when any of its attributes is read.
        with torch._C.DisableTorchFunctionSubclass():
            for kind, one in self._held(torch, pace, _look(_variables(), (torch.Tensor, torch.nn.Module, getattr(_module("torch.optim.optimizer"), "Optimizer", torch.nn.Module)))):
                found.add(kind, one)
                one = None  # nothing is kept alive while other threads run
                pace.breathe()
        return found

    def at_error(self, ordinal, frame):
        """Returns what holds a device's memory when an allocation fails on this thread, the most first. Gradients are left out: another thread may be writing them."""
        torch, found, sums, names, seen, pace = _module("torch"), _Found(), {}, [""] * _VARIABLES, set(), _Pace(_ERROR_LOOK)
        if _compiling()() or not _no_fork.acquire(0):
            return {}
        try:
            with _CollectionOff(), torch._C.DisableTorchFunctionSubclass():
                for kind, one in self._held(torch, pace, []):
                    found.add(kind, one)
                for name, value in _named([frame], _PASSED + (torch.Tensor, torch.nn.Module), seen):
                    names.append(name)
                    for one in _look([value], (torch.Tensor,), seen, pace):
                        found.add(len(names) - 1, one)  # it counts for the first variable that has it
        except Exception:
            pass  # there is no more time, or a class hides what it holds
        finally:
            _no_fork.release()
        for kind, size, device in (_opened(entry) for part in found.parts for entry in part.values()):
            sums[kind] = sums.get(kind, 0) + (size + 511 & ~511) * (device == ordinal)
        return {"held": [{"class": _CLASSES[min(kind, _VARIABLES)], "name": _clip(names[kind]), "bytes": sums[kind]} for kind in sorted(sums, key=sums.get, reverse=True)[:_MAX_HELD] if sums[kind]]}

    def names(self, found):
        """Returns [(bytes, name), …] of the variables that hold the most of the memory that walk() counted for variables, as far as a search of one _HOLD gets."""
        _sleep(_PAUSE)  # so that this search is a hold of its own
        torch, sums, seen, pace = _module("torch"), {}, set(), _Pace(_HOLD)
        try:
            with torch._C.DisableTorchFunctionSubclass():
                for name, value in _named(_frames(), _PASSED + (torch.Tensor, torch.nn.Module), seen):
                    for one in _look([value], (torch.Tensor,), seen, pace):
                        for address, _, _ in _storages(one):
                            kind, size, _ = _opened(found.part(address).get(address, 0))
                            if kind == _VARIABLES:
                                sums[name] = sums.get(name, 0) + size
        except Exception:
            pass  # there is no more time, or a class hides what it holds
        return sorted(((size, name) for name, size in sums.items() if size >= 1 << 20), reverse=True)[:_NAMES]

    def _held(self, torch, pace, looked):
        """Yields (class, tensor)."""
        optimizers, modules, seen = self._steps.living(), self._modules.valuerefs() if self._modules is not None else [], set()
        while looked:
            one = looked.pop()
            if issubclass(type(one), torch.Tensor):
                yield _VARIABLES, one
            elif issubclass(type(one), torch.nn.Module):
                modules.append(_weak_reference(one))
            else:
                optimizers.append(one)
            one = None
        while optimizers or modules:
            pace.breathe()
            of, one = (_of_optimizer, optimizers.pop()) if optimizers else (self._of_module, modules.pop()())
            if one is not None and id(one) not in seen:
                seen.add(id(one))
                try:
                    yield from of(one, modules, pace)
                except _Refusal:
                    raise
                except Exception:
                    _log_failure("looking into a %s" % type(one).__name__)
            one = None

    def _of_module(self, module, modules, _):
        modules.extend(_weak_reference(below) for below in list(module._modules.values()) if below is not None)
        for name, kind in (("_parameters", _PARAMETERS), ("_buffers", _BUFFERS)):
            for tensor in list(getattr(module, name).values()):
                if tensor is not None:
                    self.trains = self.trains or (module.training and tensor.requires_grad)
                    yield kind, tensor


def _gradients(optimizer):
    """{address of a storage: _entry()} of the gradients of an optimizer that has just made a step on this thread."""
    found = _Found()
    with _module("torch")._C.DisableTorchFunctionSubclass():
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    found.add(_GRADIENTS, parameter.grad)
    return found.whole()


def _of_optimizer(optimizer, _, pace):
    for group in list(optimizer.param_groups):
        parameters, n = group["params"], 0
        while n < len(parameters):  # the list may change meanwhile
            yield _PARAMETERS, parameters[n]
            for tensor in _tensors(optimizer.state.get(parameters[n])) if n < len(parameters) else ():
                yield _STATE, tensor
            n += 1
    # Then the optimizer's other attributes and the contents of plain containers among them. An iterator keeps no item alive that its container has dropped.
    inside = [map(vars(optimizer).get, [name for name in list(vars(optimizer)) if name not in ("state", "param_groups")])]
    left = 4 * _LOOKED
    while inside and left:
        left -= 1
        pace.breathe()
        try:
            one = [next(inside[-1])]
        except (StopIteration, RuntimeError):  # the container ends, or is a dict that has changed
            inside.pop()
            continue
        kind = type(one[0])
        if issubclass(kind, _module("torch").Tensor):
            yield _STATE, one.pop()
        elif kind in (dict, list, tuple) and len(inside) <= 4:
            inside.append(iter(one[0].values() if kind is dict else one[0]))
        one = None


def _tensors(value, deep=3):
    """The tensors of an optimizer's state for a parameter, in up to three nested dicts or lists."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in _tensors(one, deep - 1)] if deep else ()
    return (value,) if hasattr(value, "is_cuda") else ()


def _look(values, wanted, seen=None, pace=None):
    """The objects of the wanted types among values and in what these hold, three objects deep."""
    found, seen, most = [], set() if seen is None else seen, _LOOKED if pace is None else 4 * _LOOKED
    for _ in range(4):
        below = []
        for value in values:
            kind = type(value)
            pace and pace.breathe()
            if len(seen) >= most or issubclass(kind, _PASSED) or id(value) in seen:
                continue
            seen.add(id(value))
            if issubclass(kind, wanted):
                found.append(value)
                continue
            try:
                held = value if kind in (dict, list, tuple, set) else object.__getattribute__(value, "__dict__") if kind.__dictoffset__ else ()
                if len(held) + len(below) <= 4 * _LOOKED:
                    below.extend(held.values() if type(held) is dict else held)
            except Exception:
                pass  # a class that hides its attributes
        values = below
    return found


def _variables():
    """Returns the values of the variables of the main module, and of functions: those that run on other threads, and those of the last traceback."""
    values = list(vars(_module("__main__")).values()) if _module("__main__") else []
    for frame in _frames() + [_kept()]:
        for _, held in _of_functions(frame):
            values.extend(value for _, value in held)
    return values


def _frames():
    """Returns the innermost frame of each other thread, of _MAX_THREADS at most."""
    return [frame for thread, frame in list(sys._current_frames().items())[:_MAX_THREADS] if thread != _get_ident()]


def _kept():
    """The innermost frame of the last traceback, which a notebook keeps with the variables of what failed, or None."""
    kept = getattr(sys, "last_traceback", None)
    if type(kept) is not _attribute(_module("types"), "TracebackType"):
        return None  # a program may have set it to anything
    while kept.tb_next is not None:
        kept = kept.tb_next
    return kept.tb_frame


def _named(frames, opaque, seen):
    """Yields (name, value) of variables, or of the attributes of their values. The variables that the last traceback keeps come first, then global ones, then those of the functions on the frames' stacks, the outermost first."""
    functions = [one for frame in frames for one in _of_functions(frame)]
    running = {one for one, _ in functions}
    spaces = [vars(_module("__main__"))] + [one.f_globals for one, _ in functions if not _foreign(one.f_code.co_filename)]
    seen.update(map(id, spaces))
    places = [(" in %s, kept by sys.last_traceback" % one.f_code.co_name, held) for one, held in _of_functions(_kept()) if one not in running]
    places += [("", sorted((one for one in list(space.items()) if type(one[0]) is str), key=lambda one: one[0][:1] == "_")) for space in spaces]  # names with _ come last: a notebook's Out is its _oh, too
    places += [(" in " + one.f_code.co_name, held) for one, held in reversed(functions)]
    for where, held in places:
        for name, value in held:
            inside = object.__getattribute__(value, "__dict__") if type(value).__dictoffset__ and not issubclass(type(value), opaque) else None
            yield from [("%s.%s%s" % (name, key, where), below) for key, below in list(inside.items())] if inside else [(name + where, value)]


def _of_functions(frame):
    """Yields (frame, its variables) of the functions on a stack, the innermost first.

    Python before 3.13 keeps the dict of a function's variables, and with it their values, so the
    dict is emptied. The program may use that dict itself. So a function is skipped if it calls locals()
    or vars(), or runs code by eval() or exec(), and the stack is left at a function that is traced or
    reads f_locals.
    """
    left, lent = _MAX_FRAMES, False
    while left and frame is not None and "f_locals" not in frame.f_code.co_names and frame.f_trace is None:
        function, names = frame.f_code.co_flags & 2, frame.f_code.co_names  # CO_NEWLOCALS
        if function and not lent and "locals" not in names and "vars" not in names:
            held = frame.f_locals
            variables = list(held.items())
            if sys.version_info < (3, 13):
                held.clear()
            yield frame, variables
        frame, left, lent = frame.f_back, left - 1, not function


class _Found:
    """{address of a storage: _entry() of the first class that holds it}, in many dicts. No other thread runs
    while a dict grows or is freed, which takes milliseconds for one of 100,000 entries."""

    def __init__(self):
        self.parts = [{} for _ in range(251)]  # a prime: addresses are multiples of 512, and often of 2 MiB

    def __bool__(self):
        return any(self.parts)

    def part(self, address):
        return self.parts[(address >> 9) % len(self.parts)]

    def add(self, kind, tensor):
        for address, size, device in _storages(tensor):
            part = self.part(address)
            other = _opened(part.get(address) or _entry(kind, size, device))
            part[address] = _entry(min(kind, other[0]), max(size, other[1]), other[2])

    def free(self):
        _sleep(_PAUSE)  # so that this is a hold of its own
        pace = _Pace()
        while self.parts:
            self.parts.pop()
            pace.breathe(16)

    def whole(self):
        return {address: entry for part in self.parts for address, entry in part.items()}


def _storages(tensor):
    """Yields (address, bytes, device) of the storage of a tensor, up to the tensor's end, or of the storages that a
    wrapper has instead. It makes no storage objects, which PyTorch would keep."""
    try:
        if tensor.is_cuda:
            end, each, address = tensor.storage_offset(), tensor.element_size(), tensor.data_ptr()
            if address:
                address -= end * each
                dense = tensor.is_contiguous()
                end += tensor.numel() if dense else 1 + sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride()))
                yield address, end * each, tensor.get_device()
                return
    except Exception:
        pass  # no storage: a wrapper, or a tensor without memory
    flatten = getattr(type(tensor), "__tensor_flatten__", None)
    if flatten is not None and "Fake" not in type(tensor).__name__:
        try:
            for name in flatten(tensor)[0][:8]:
                yield from _storages(getattr(tensor, name))
        except Exception:
            _log_failure("looking into a %s" % type(tensor).__name__)


# An entry is class, bytes and device in one integer, which the garbage collector does not track.
def _entry(kind, size, ordinal):
    return kind << 58 | min(size, _MAX_BYTES) << 7 | ordinal & 127


def _opened(entry):
    """(class, bytes, device)"""
    return entry >> 58, entry >> 7 & (1 << 51) - 1, entry & 127
