# The probe avoids imports: an import releases the GIL, and adds an entry to sys.modules, which breaks
# a loop over sys.modules in another thread. C modules of the standard library that the program has
# not imported are loaded only for the probe. probe/attach also runs this part by itself, before the
# rest.

_private = globals().get("_private") or {}  # name → a C module that only the probe uses


def _library(name):
    """A C module of the standard library: the program's, or else the probe's own."""
    for _ in range(1000):
        module = sys.modules.get(name)
        if module is None:
            return _private.get(name) or _new_module(name)
        if not getattr(getattr(module, "__spec__", None), "_initializing", False):
            break
        posix.stat("/")  # lets the thread run that is importing the module
    file = str(getattr(module, "__file__", None))
    if file.endswith((".py", ".pyc")):
        raise RuntimeError("the program has a module of its own by the name of %s, which the probe needs: %s" % (name, file))
    return module


def _new_module(name):
    """Makes a new instance of a C module, which is not in sys.modules. If it does not find the module's file, it
    imports the module or, in a probe of vramscope attach, raises RuntimeError."""
    if name in sys.builtin_module_names:
        return _created(name, None, _imp.create_builtin, _imp.exec_builtin)
    # The rest of the import path is not searched: the program may have a module of that name there.
    library = getattr(sys, "platlibdir", "lib"), *sys.version_info[:2]
    own = sys.base_exec_prefix + "/%s/python%d.%d/lib-dynload" % library
    for directory in [own] + [path for path in sys.path if str(path).endswith("/lib-dynload")]:
        for suffix in _imp.extension_suffixes():
            try:
                return _created(name, "%s/%s%s" % (directory, name, suffix), _imp.create_dynamic, _imp.exec_dynamic)
            except ImportError as error:
                if "No such file" not in str(error):
                    raise
    if globals().get("_started_by") != "attach":
        return __import__(name)
    raise RuntimeError("attach would have to import %s; start the program with vramscope run" % name)


def _created(name, origin, create, execute):
    """Returns a new instance of a C module.

    Some modules of older Pythons enter themselves in sys.modules. They are removed in the
    same call of C code, so no other thread runs in between. If another thread has imported
    the module first, that thread's instance is returned.
    """
    spec = type(sys.implementation)(name=name, origin=origin)
    absent = map({False: spec}.__getitem__, map(sys.modules.__contains__, (name,)))
    created = map(sys.modules.pop, (name,), map(create, absent))
    try:
        list(map(execute, map(_private.setdefault, (name,), created)))
    except KeyError:
        return sys.modules[name]
    return _private[name]
