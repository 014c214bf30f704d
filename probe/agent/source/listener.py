def _start_time(pid):
    """Field 22 of /proc/PID/stat: with the pid it identifies a process for good."""
    return int(_read("/proc/%s/stat" % pid).rpartition(b")")[2].split()[19])


_SOCKET, _RECORD = ".sock", ".last"


def _socket_name(pid, start):
    return "%d-%d%s" % (pid, start, _SOCKET)


def _parse_name(name):
    pid, dash, start = name[:-5].partition("-")
    if name.endswith(_SOCKET) and dash and pid.isdigit() and start.isdigit():
        if pid != "0" and _socket_name(int(pid), int(start)) == name:
            return int(pid), int(start)
    return None


class _Directory:
    """An open directory of sockets whose owner and mode have been checked.

    All access goes through its descriptor, so that a path that changes later
    does no harm, and a long one fits a socket's address (108 bytes).
    """

    def __init__(self, path, uid, make):
        above, name = os.path.split(path)
        flags = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
        parent = posix.open(above, posix.O_PATH | posix.O_DIRECTORY | posix.O_CLOEXEC)
        try:
            try:
                self.fd = posix.open(name, flags, dir_fd=parent)
            except FileNotFoundError:
                if not make:
                    raise
                info = posix.fstat(parent)
                if info.st_uid != uid and not info.st_mode & 0o1000:
                    raise OSError("%s is another user's" % above)
                try:
                    posix.mkdir(name, 0o700, dir_fd=parent)
                except FileExistsError:
                    pass
                self.fd = posix.open(name, flags, dir_fd=parent)
        finally:
            posix.close(parent)
        info = posix.fstat(self.fd)
        if info.st_uid != uid or info.st_mode & 0o077:
            posix.close(self.fd)
            raise OSError("%s is another user's, or open to others: refused" % path)
        self._uid = uid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        posix.close(self.fd)

    def path(self, name):
        return "/proc/self/fd/%d/%s" % (self.fd, name)

    def socket(self, name):
        """The stat of a socket. Raises OSError if it is not our user's."""
        info = posix.stat(name, dir_fd=self.fd, follow_symlinks=False)
        if info.st_mode & 0o170000 != 0o140000 or info.st_uid != self._uid:
            raise OSError("%s is not our user's socket" % name)
        return info

    def remove(self, name):
        try:
            posix.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            pass

    def write(self, name, content, check):
        hidden = "." + name
        check()
        file = posix.open(hidden, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, 0o600, dir_fd=self.fd)
        try:
            posix.write(file, content)
        finally:
            posix.close(file)
        check()
        posix.rename(hidden, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def dead(self, name, check):
        """Returns whether this is a socket of our user on which no process listens or is about to listen."""
        _socket = _library("_socket")
        try:
            if _time_ns() / 1e9 - self.socket(name).st_mtime < _BIND_TIME:
                return False
        except OSError:
            return False
        check()
        client = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK)
        try:
            check()
            client.connect(self.path(name))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        finally:
            client.close()
        return False

    def tidy(self, check):
        """Removes the sockets of processes that have exited, and the records of errors that monitors have had
        time to read. Returns how many records are left."""
        records = 0
        for name in posix.listdir(self.fd)[:4096]:
            if name.endswith(_RECORD):
                records += not self._remove_old(name)
            named = _parse_name(name)
            if named is None:
                continue
            try:
                if _start_time(named[0]) == named[1]:
                    continue
            except (OSError, ValueError, IndexError):
                pass  # no such process here, but perhaps in another pid namespace
            try:
                if self.dead(name, check):
                    self.remove(name)
            except OSError:
                pass
        return records

    def _remove_old(self, name):
        try:
            if _time_ns() / 1e9 - posix.stat(name, dir_fd=self.fd, follow_symlinks=False).st_mtime < _RECORD_TIME:
                return False
            self.remove(name)
        except OSError:
            pass  # another probe has removed it
        return True


def _own_directory(prefix, uid):
    """A directory with this prefix that only this user can open; None if there is none."""
    parent, start = os.path.split(prefix)
    try:
        with posix.scandir(parent) as entries:
            for number, entry in enumerate(entries):
                if number == 65536:
                    break
                if entry.name.startswith(start) and entry.is_dir(follow_symlinks=False):
                    info = entry.stat(follow_symlinks=False)
                    if info.st_uid == uid and not info.st_mode & 0o077:
                        return entry.path
    except OSError:
        pass  # an entry has been removed meanwhile, or there is no parent
    return None


class _Listener:
    """This process's listening socket."""

    def __init__(self, uid, pid, start, check):
        self._uid, self._pid = uid, pid
        self._check = check  # called before system calls for which a seccomp filter might kill the process
        self._name = _socket_name(pid, start)
        self._path = None
        self._inode = None
        self._tidied = False
        self.sock = None

    def _directories(self):
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        if os.path.isabs(runtime):
            yield os.path.join(os.path.normpath(runtime), "vramscope")
        yield "/tmp/vramscope-%d" % self._uid
        # Another user may have taken that name. A random name cannot be taken.
        prefix = "/tmp/vramscope-%d-" % self._uid
        yield _own_directory(prefix, self._uid) or prefix + posix.urandom(8).hex()

    def adopt(self, fd, path):
        """Takes over a socket that listens. False if the program has closed it meanwhile."""
        _socket = _library("_socket")
        path, sock, ours = os.fsdecode(path), None, False
        try:
            sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK, 0, fd)
            ours = sock.getsockname() == path
        except OSError:
            pass  # the descriptor is closed, or a file of the program's by now
        try:
            with _Directory(os.path.dirname(path), self._uid, make=False) as directory:
                if ours:
                    self._inode = directory.socket(self._name).st_ino
                    self.sock, self._path = sock, os.path.dirname(path)
                    return True
                directory.remove(self._name)
        except OSError:
            pass  # the directory has been removed
        if sock is not None:
            (sock.close if ours else sock.detach)()
        return False

    def bind(self):
        """Listens in the first usable directory. False if there is none, or
        another probe of this process listens."""
        for path in self._directories():
            try:
                self._check()
                with _Directory(path, self._uid, make=True) as directory:
                    sock = self._listen(directory)
                    if sock is None:
                        return False
                    self.close()
                    self.sock, self._path = sock, path
                    self._inode = directory.socket(self._name).st_ino
                    return True
            except OSError:
                _log_failure("listening in " + path)
        return False

    def leave(self, record):
        """Writes an error's record beside the sockets, in the first usable directory, unless that has
        _MAX_RECORDS already. The record gets its name when it is complete."""
        for path in self._directories():
            try:
                self._check()
                with _Directory(path, self._uid, make=True) as directory:
                    if directory.tidy(self._check) < _MAX_RECORDS:
                        directory.write(self._name[: -len(_SOCKET)] + _RECORD, record, self._check)
                    return
            except OSError:
                _log_failure("leaving an error in " + path)

    def _listen(self, directory):
        _socket = _library("_socket")
        self._check()
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK)
        try:
            try:
                self._check()
                sock.bind(directory.path(self._name))
            except OSError as error:
                if error.errno != _EADDRINUSE:
                    raise
                # The name is that of another probe of this process, or of the dead socket
                # of the program before an exec, which keeps the pid and the start time.
                if not directory.dead(self._name, self._check):
                    sock.close()
                    return None
                directory.remove(self._name)
                sock.bind(directory.path(self._name))
            self._check()
            posix.chmod(self._name, 0o600, dir_fd=directory.fd)
            self._check()
            sock.listen(16)
            return sock
        except BaseException:
            sock.close()
            raise

    def reachable(self):
        """Whether the name still leads to this socket. $XDG_RUNTIME_DIR is removed at the last logout.
        The first call also removes the sockets of processes that have exited."""
        try:
            with _Directory(self._path, self._uid, make=False) as directory:
                if not self._tidied:
                    self._tidied = True
                    directory.tidy(self._check)
                return directory.socket(self._name).st_ino == self._inode
        except OSError:
            return False

    def close(self):
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def remove(self):
        """Stops listening and removes the name, if it is still this socket's."""
        if self.sock is None or posix.getpid() != self._pid:
            return
        self.close()
        try:
            with _Directory(self._path, self._uid, make=False) as directory:
                if directory.socket(self._name).st_ino == self._inode:
                    directory.remove(self._name)
        except OSError:
            pass  # already removed
