"""An optimizer that only calls the hooks, as PyTorch's does."""

from collections import OrderedDict
from itertools import chain

_global_optimizer_post_hooks = OrderedDict()


class RemovableHandle:
    _next = 0

    def __init__(self):
        self.id = RemovableHandle._next
        RemovableHandle._next += 1


def register_optimizer_step_post_hook(hook):
    handle = RemovableHandle()
    _global_optimizer_post_hooks[handle.id] = hook
    return handle


class Optimizer:
    def __init__(self, parameters=()):
        self._optimizer_step_post_hooks = OrderedDict()
        self.param_groups, self.state = [{"params": list(parameters)}], {}

    def step(self, *args, **kwargs):
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
            hook(self, args, kwargs)
