"""A module that only holds tensors, and calls the hooks as PyTorch's does."""

from collections import OrderedDict

_global_parameter_registration_hooks = OrderedDict()
_global_buffer_registration_hooks = OrderedDict()
_global_module_registration_hooks = OrderedDict()


class _Handle:
    def __init__(self, hooks, hook):
        self.id = id(self)
        hooks[self.id] = hook


def register_module_parameter_registration_hook(hook):
    return _Handle(_global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook):
    return _Handle(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    return _Handle(_global_module_registration_hooks, hook)


class Module:
    def __init__(self):
        self.training, self._parameters, self._buffers, self._modules = True, {}, {}, {}

    def register_parameter(self, name, value):
        for hook in _global_parameter_registration_hooks.values():
            hook(self, name, value)
        value.requires_grad, self._parameters[name] = True, value

    def register_buffer(self, name, value):
        for hook in _global_buffer_registration_hooks.values():
            hook(self, name, value)
        self._buffers[name] = value

    def add_module(self, name, value):
        for hook in _global_module_registration_hooks.values():
            hook(self, name, value)
        self._modules[name] = value
