def _start_time(pid):
    """Field 22 of /proc/PID/stat: with the pid it identifies a process for good."""
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
    """An open directory of sockets whose owner and mode have been checked.

    All access goes through its descriptor, so that a path that changes later
    does no harm, and a long one fits a socket's address (108 bytes).
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

    def path(self, name):
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
        """Whether this is a socket of our user on which no process listens."""
        import socket

        try:
            self.inode(name)
        except OSError:
            return False
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client.setblocking(False)
            client.connect(self.path(name))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        finally:
            client.close()
        return False

    def tidy(self):
        """Removes the sockets of processes that have exited."""
        import time

        for name in os.listdir(self.fd)[:4096]:
            named = _parse_name(name)
            if named is None:
                continue
            try:
                if _start_time(named[0]) == named[1]:
                    continue
            except (OSError, ValueError, IndexError):
                pass  # no such process here, but perhaps in another pid namespace
            try:
                # Between bind and listen a new socket looks dead.
                age = time.time() - os.stat(name, dir_fd=self.fd, follow_symlinks=False).st_mtime
                if age > 10 and self.dead(name):
                    self.remove(name)
            except OSError:
                pass


def _own_directory(prefix, uid):
    """A directory with a prefix that is this user's alone; None if there is none."""
    import itertools

    parent, start = os.path.split(prefix)
    try:
        with os.scandir(parent) as entries:
            for entry in itertools.islice(entries, 65536):
                if entry.name.startswith(start) and entry.is_dir(follow_symlinks=False):
                    info = entry.stat(follow_symlinks=False)
                    if info.st_uid == uid and not info.st_mode & 0o077:
                        return entry.path
    except OSError:
        pass  # an entry has been removed meanwhile, or there is no parent
    return None


class _Listener:
    """This process's listening socket."""

    def __init__(self, uid, pid, start):
        self._uid, self._pid = uid, pid
        self._name = _socket_name(pid, start)
        self._path = None
        self._inode = None
        self.sock = None

    def _directories(self):
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        if os.path.isabs(runtime):
            yield os.path.join(os.path.normpath(runtime), "vramscope")
        yield "/tmp/vramscope-%d" % self._uid
        # Another user may have taken that name. Nobody can take one that is random.
        prefix = "/tmp/vramscope-%d-" % self._uid
        yield _own_directory(prefix, self._uid) or prefix + os.urandom(8).hex()

    def bind(self):
        """Listens in the first usable directory. False if there is none, or
        another probe of this process listens."""
        for path in self._directories():
            try:
                with _Directory(path, self._uid, make=True) as directory:
                    directory.tidy()
                    sock = self._listen(directory)
                    if sock is None:
                        return False
                    self.close()
                    self.sock, self._path = sock, path
                    self._inode = directory.inode(self._name)
                    return True
            except OSError:
                _log_failure("listening in " + path)
        return False

    def _listen(self, directory):
        import errno
        import socket

        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            try:
                sock.bind(directory.path(self._name))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                # Another probe of this process, or the dead socket of the program
                # before an exec, which keeps the pid and the start time.
                if not directory.dead(self._name):
                    sock.close()
                    return None
                directory.remove(self._name)
                sock.bind(directory.path(self._name))
            os.chmod(self._name, 0o600, dir_fd=directory.fd)
            sock.listen(16)
            return sock
        except BaseException:
            sock.close()
            raise

    def reachable(self):
        """Whether the name still leads to this socket. $XDG_RUNTIME_DIR is removed at the last logout."""
        try:
            with _Directory(self._path, self._uid, make=False) as directory:
                return directory.inode(self._name) == self._inode
        except OSError:
            return False

    def close(self):
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def remove(self):
        """Stops listening and removes the name, if it is still this socket's."""
        if self.sock is None or os.getpid() != self._pid:
            return
        self.close()
        try:
            with _Directory(self._path, self._uid, make=False) as directory:
                if directory.inode(self._name) == self._inode:
                    directory.remove(self._name)
        except OSError:
            pass  # already removed
