class _Steps:
    """The training steps of the program, counted by PyTorch's hook for all optimizers or by step().

    A program may have several optimizers: the program's steps are those of the slowest. An
    optimizer that is gone, or idle while others continue, is left out. The count is a sum over
    sets of optimizers. A new set begins when an optimizer comes or goes, or after a minute or
    more, when each optimizer has made a step in it:

        count = least steps in each earlier set + least steps since this set's begin

    Source: torch/optim/optimizer.py, register_optimizer_step_post_hook.
    """

    _SET_TIME = 60.0
    _IDLE_TIME, _IDLE_STEPS = 10.0, 100  # an optimizer is idle after this many seconds without a step, if the others made this many steps in all

    def __init__(self):
        self.own = 0  # by step()
        self._counted = {}  # id of an optimizer → [weak reference, steps]
        self._set = {}  # id → [its list in _counted, steps at the set's begin, steps last seen, when they grew, all optimizers' steps then]
        self._removed = 0  # steps of optimizers that are no longer in _counted
        self._before, self._begun = 0, 0.0  # steps of earlier sets, and when this one began
        self._hook = _GlobalHook("torch.optim.optimizer", "register_optimizer_step_post_hook", "_global_optimizer_post_hooks")  # since 1.13
        self.at_end = []  # what to call at the end of each step, on the program's thread

    def add(self, steps):
        if not _is_count(steps, _MAX_COUNT):
            raise ValueError("steps is not a number of steps")
        self.own += steps

    def add_to(self, report):
        """Adds the count to the stats, and registers the hook if it is not yet there."""
        try:
            self.register()
            steps = self.count()
            if steps is not None:
                report["steps"] = steps
                optimizer = self.optimizer()
                if optimizer:
                    report["optimizer"] = optimizer
        except Exception:
            _log_failure("counting steps")

    # -- The hook

    def register(self):
        """Registers the hook unless VRAMSCOPE_STEPS is 0, and returns whether it is there."""
        return os.environ.get("VRAMSCOPE_STEPS") != "0" and self._hook.add(self._counter)

    def remove(self):
        self._hook.remove()

    def living(self):
        """The optimizers that have made steps, and that still exist."""
        return [one for one in (entry[0]() for entry in list(self._counted.values())) if one is not None]

    def wait(self, look, wanted, seconds):
        """Has look(optimizer) called on the program's thread after each step, until look or wanted()
        returns true, or the time is over. wanted() is called ten times a second."""
        until, done = _monotonic() + seconds, _allocate_lock()
        done.acquire()

        def at_end(optimizer):
            try:
                if done.locked() and look(optimizer):
                    leave()  # here, not when the waiting thread wakes: by then the program may have ended another step
                    done.release()
            except Exception:
                _log_failure("looking at the end of a step")

        def leave():
            if at_end in self.at_end:
                self.at_end.remove(at_end)

        self.at_end.append(at_end)
        try:
            while not done.acquire(True, 0.1) and _monotonic() < until and not wanted():
                pass
        finally:
            leave()

    def _counter(self):
        counted, meet, at_end, compiling = self._counted, self._meet, self.at_end, _compiling()

        def count_step(optimizer, args, kwargs):
            if compiling():
                return
            entry = counted.get(id(optimizer))
            if entry is not None and entry[0]() is optimizer:
                entry[1] += 1
            else:
                meet(optimizer)
            for look in at_end[:]:
                look(optimizer)

        return count_step

    def _meet(self, optimizer):
        try:
            if len(self._counted) >= _MAX_OPTIMIZERS:
                for key, entry in list(self._counted.items()):
                    if entry[0]() is None:
                        self._counted.pop(key, None)
            if len(self._counted) < _MAX_OPTIMIZERS:
                self._counted[id(optimizer)] = [_weak_reference(optimizer), 1]
        except Exception:
            pass  # an optimizer that allows no weak reference

    # -- The count

    def count(self):
        """The program's steps so far, or None if they are not counted."""
        if self.own or not self._counted:
            return self.own or None
        now, counted, members = _monotonic(), dict(self._counted), self._set
        made = self._removed + sum(entry[1] for entry in counted.values())
        new = [key for key, entry in counted.items() if key not in members or members[key][0] is not entry]
        if new or (now - self._begun > self._SET_TIME and all(entry[1] > base for entry, base, *_ in members.values())):
            self._begin(members.values())
        for key in new:
            members[key] = [counted[key], 0, 0, now, made]
        gone = []
        for key, member in members.items():
            entry, _, seen, grew, then = member
            if entry[1] > seen:
                member[2:] = entry[1], now, made
            elif entry[0]() is None or (now - grew > self._IDLE_TIME and made - then > self._IDLE_STEPS):
                gone.append(key)
        if gone:
            self._begin([members[key] for key in members if key not in gone] or members.values())
            for key in gone:
                entry = members.pop(key)[0]
                if self._counted.get(key) is entry:  # an optimizer that steps again counts as new
                    self._removed += self._counted.pop(key)[1]
        if self._compiled() and all(now - member[3] > self._IDLE_TIME for member in members.values()):
            return None  # the steps may be part of a compiled graph
        return self._before + self._least(members.values())

    def going_on(self):
        """Whether an optimizer made a step in the last seconds, as of the last count."""
        return any(_monotonic() - member[3] < self._IDLE_TIME for member in list(self._set.values()))

    def optimizer(self):
        """The class of the optimizer that makes the steps, or None if there are several classes or none."""
        known = {type(one).__name__ for one in self.living()}
        return _clip(known.pop()) if len(known) == 1 else None

    @staticmethod
    def _least(members):
        return min((member[0][1] - member[1] for member in members), default=0)

    def _begin(self, counting):
        """Begins another set, of the same members. Adds the least steps of the members in counting to those of earlier sets."""
        self._before += self._least(counting)
        self._begun = _monotonic()
        for member in self._set.values():
            member[1] = member[0][1]

    @staticmethod
    def _compiled():
        counters = _attribute(_module("torch._dynamo.utils"), "counters")
        return bool(counters and "frames" in counters and counters["frames"].get("ok"))
