# vramscope attach runs this in a process first, on the thread that becomes the
# probe's: it takes the right to start the probe, and listens on the probe's socket.
#
# A function of Python that makes a system call lets go of the GIL, and after five
# milliseconds, by default, another thread asks for it. C code may then hold it for a
# second. So this is short, and calls the C library with the GIL held.
#
# The caller sets directory (the payload's) and path (the socket's, or b"").

import posix
import sys


def begin():
    name, call = "vramscope_attach", library()
    if name in sys.__dict__ or call("unlink", directory + b"claim") != 0:
        return
    left = sys.__dict__[name] = {"directory": directory}
    posix.register_at_fork(after_in_child=lambda: sys.__dict__.pop(name, None) and forget(left))
    file = listen(call) if path and "vramscope_probe" not in sys.modules else -1
    if file >= 0:
        left["socket"] = file, path


def library():
    """Returns a function that calls one of the C library's."""
    ctypes = sys.modules.get("_ctypes") or load("_ctypes")
    handle = ctypes.dlopen(None, 0)
    integer = type("integer", (ctypes._SimpleCData,), {"_type_": "i"})
    cdecl, holds_gil = 1, 4
    function = type("function", (ctypes.CFuncPtr,), {"_flags_": cdecl | holds_gil, "_restype_": integer})
    return lambda name, *arguments: function(ctypes.dlsym(handle, name))(*arguments)


def load(name):
    """Imports a shared object of Python's own. The usual search reads directories."""
    import _frozen_importlib
    import _frozen_importlib_external
    import _imp

    for directory in sys.path:
        if directory.endswith("/lib-dynload"):
            for suffix in _imp.extension_suffixes():
                origin = directory + "/" + name + suffix
                try:
                    return _frozen_importlib._load(_frozen_importlib_external.spec_from_file_location(name, origin))
                except ImportError:
                    pass
    return __import__(name)


def listen(call):
    """Returns a descriptor, or -1: then the probe finds out why."""
    stream, local = 1 | posix.O_CLOEXEC | posix.O_NONBLOCK, 1
    file = call("socket", local, stream, 0)
    address = local.to_bytes(2, sys.byteorder) + path + b"\0"
    if file >= 0 and call("bind", file, address, len(address)) == 0:
        if call("chmod", path, 0o600) == 0 and call("listen", file, 16) == 0:
            return file
        call("unlink", path)
    call("close", file)
    return -1


def forget(left):
    """In a child that is forked before the probe has the socket."""
    if "socket" in left:
        posix.close(left["socket"][0])


begin()
