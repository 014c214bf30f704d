def _start_time(pid):
    """Field 22 of /proc/PID/stat: with the pid it names a process for good."""
    with open("/proc/%s/stat" % pid, "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def _socket_name(pid, start):
    return "%d-%d.sock" % (pid, start)


def _parse_name(name):
    pid, dash, start = name[:-5].partition("-")
    if name.endswith(".sock") and dash and pid.isdigit() and start.isdigit():
        if pid != "0" and _socket_name(int(pid), int(start)) == name:
            return int(pid), int(start)
    return None


class _Directory:
    """An open directory of sockets, its owner and mode checked.

    Everything goes through its descriptor: what happens to the path afterwards
    does not matter, and its length neither (a socket's address has 108 bytes).
    """

    def __init__(self, path, uid, make):
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        parent = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if make:
                info = os.fstat(parent)
                if info.st_uid != uid and not info.st_mode & 0o1000:
                    raise OSError("%s is another user's" % os.path.dirname(path))
                try:
                    os.mkdir(os.path.basename(path), 0o700, dir_fd=parent)
                except FileExistsError:
                    pass
            self.fd = os.open(os.path.basename(path), flags, dir_fd=parent)
        finally:
            os.close(parent)
        info = os.fstat(self.fd)
        if info.st_uid != uid or info.st_mode & 0o077:
            os.close(self.fd)
            raise OSError("%s is another user's, or open to others: refused" % path)
        self._uid = uid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def reach(self, name):
        return "/proc/self/fd/%d/%s" % (self.fd, name)

    def inode(self, name):
        info = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        if info.st_mode & 0o170000 != 0o140000 or info.st_uid != self._uid:
            raise OSError("%s is not our user's socket" % name)
        return info.st_ino

    def remove(self, name):
        try:
            os.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            pass

    def dead(self, name):
        """Whether nobody listens on a socket of our user any more."""
        import socket

        try:
            self.inode(name)
        except OSError:
            return False
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client.setblocking(False)
            client.connect(self.reach(name))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        finally:
            client.close()
        return False

    def tidy(self):
        """Removes the sockets of processes that have died."""
        import time

        for name in os.listdir(self.fd)[:4096]:
            named = _parse_name(name)
            if named is None:
                continue
            try:
                if _start_time(named[0]) == named[1]:
                    continue
            except (OSError, ValueError, IndexError):
                pass  # nobody here has that pid; somebody in another namespace may
            try:
                # A socket that is bound and not yet listened on looks dead.
                age = time.time() - os.stat(name, dir_fd=self.fd, follow_symlinks=False).st_mtime
                if age > 10 and self.dead(name):
                    self.remove(name)
            except OSError:
                pass


class _Place:
    """Where this process listens."""

    def __init__(self, uid, pid, start):
        self._uid, self._pid = uid, pid
        self._name = _socket_name(pid, start)
        self._path = None
        self._inode = None
        self.listener = None

    def _directories(self):
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        if os.path.isabs(runtime):
            yield os.path.join(os.path.normpath(runtime), "vramscope")
        yield "/tmp/vramscope-%d" % self._uid

    def bind(self):
        """Listens in the first directory that can be used. False: nowhere, or
        another probe of this process does."""
        for path in self._directories():
            try:
                with _Directory(path, self._uid, make=True) as directory:
                    directory.tidy()
                    listener = self._listen(directory)
                    if listener is None:
                        return False
                    self.close()
                    self.listener, self._path = listener, path
                    self._inode = directory.inode(self._name)
                    return True
            except OSError:
                _complain("listening in " + path)
        return False

    def _listen(self, directory):
        import errno
        import socket

        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.setblocking(False)
            try:
                listener.bind(directory.reach(self._name))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                # This process's other probe, or the program before an exec,
                # which kept the pid and the start time.
                if not directory.dead(self._name):
                    listener.close()
                    return None
                directory.remove(self._name)
                listener.bind(directory.reach(self._name))
            os.chmod(self._name, 0o600, dir_fd=directory.fd)
            listener.listen(16)
            return listener
        except BaseException:
            listener.close()
            raise

    def standing(self):
        """Whether the name still leads here. $XDG_RUNTIME_DIR vanishes at the last logout."""
        try:
            with _Directory(self._path, self._uid, make=False) as directory:
                return directory.inode(self._name) == self._inode
        except OSError:
            return False

    def close(self):
        if self.listener is not None:
            self.listener.close()
            self.listener = None

    def leave(self):
        """Stops listening, and removes the name if it is still ours."""
        if self.listener is None or os.getpid() != self._pid:
            return
        self.close()
        try:
            with _Directory(self._path, self._uid, make=False) as directory:
                if directory.inode(self._name) == self._inode:
                    directory.remove(self._name)
        except OSError:
            pass  # gone already
