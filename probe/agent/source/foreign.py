class _Foreign:
    """The parts of the ctypes package that the probe needs, made from its C module."""

    _CDECL, _HOLDS_GIL = 1, 4

    def __init__(self):
        c = self._c = _library("_ctypes")
        self.byref = c.byref
        for name, code in (("char", "c"), ("int", "i"), ("uint", "I"), ("long", "l"), ("ulong", "L"), ("ubyte", "B"), ("pointer", "P"), ("text", "z")):
            setattr(self, name, type(name, (c._SimpleCData,), {"_type_": code}))
        self._function = self._function_type(self._CDECL)
        self._function_with_gil = self._function_type(self._CDECL | self._HOLDS_GIL)

    def _function_type(self, flags):
        return type("function", (self._c.CFuncPtr,), {"_flags_": flags, "_restype_": self.int})

    def open(self, name, mode=posix.RTLD_NOW):
        """A shared library, or with None the program and all its libraries. Raises OSError."""
        return _ForeignLibrary(self._c.dlopen(name, mode), self)

    def buffer(self, size):
        return (self.char * size)()


class _ForeignLibrary:
    def __init__(self, handle, foreign):
        self._handle = handle  # _ctypes looks for this name
        self._foreign = foreign

    def get(self, name, result=None, *arguments, with_gil=False):
        """A function, with the types of its result and arguments. The result is an int by default. Raises AttributeError."""
        foreign = self._foreign
        function = (foreign._function_with_gil if with_gil else foreign._function)((name, self))
        if result is not None:
            function.argtypes, function.restype = arguments, result
        return function
