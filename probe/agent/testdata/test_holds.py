"""What holds the memory, by class."""

import threading
import time
import unittest

from harness import MIB, Case

BEGIN = (
    "import torch, torch.optim as o, vramscope_probe as v; v._STATS_TIME = -1e9; v._STEP_WAIT = 0.1; v._HOLD_MOST = 9",
    "def parameter(m, name, size):\n m.register_parameter(name, torch.empty(size << 20))",
    "m = torch.nn.Module(); inner = torch.nn.Module(); m.add_module('inner', inner)",
    "parameter(m, 'w', 3); parameter(inner, 'w', 5); inner.register_buffer('b', torch.empty(100))",
)


class Holds(Case):
    def begin(self, *setup):
        job = self.job(*BEGIN, *setup)
        return job, self.monitor(job)

    def by_class(self, answer):
        """Returns the classes with memory; they must sum to the allocated memory."""
        self.assertTrue(answer["ok"], answer)
        (device,) = answer["devices"]
        self.assertEqual(sum(part["bytes"] for part in device["parts"]), device["allocated_bytes"])
        return {part["class"]: part["bytes"] for part in device["parts"] if part["bytes"]}

    def test_modules_hold_parameters_and_buffers(self):
        job, monitor = self.begin("m = [m, m]")
        self.assertIn("holds", monitor.ask("hello")["capabilities"])
        answer = monitor.ask("holds")
        self.assertEqual(self.by_class(answer), {"parameters": 8 * MIB, "buffers": 512})
        self.assertEqual((answer["moving"], answer["exact"]), (False, True))
        self.assertNotIn("activations", [part["class"] for part in answer["devices"][0]["parts"]])
        (a,) = self.allocators(monitor).values()
        self.assertEqual(answer["devices"][0]["allocated_bytes"], a[0]["allocated_bytes"])

    def test_optimizers_hold_state_and_parameters_of_no_module(self):
        job, monitor = self.begin("w = m._parameters['w']; own = torch.empty(2 << 20)", "a = o.Optimizer([w, own])",
                                  "a.state[w] = {'step': 7, 'exp_avg': torch.empty(3 << 20), 'more': [{'deep': torch.empty(1 << 20)}]}",
                                  "a.master = {'fp32': [torch.empty(5 << 20)]}; a.parameters, a.model = [w], m")
        self.assertEqual(self.by_class(monitor.ask("holds")), {"parameters": 10 * MIB, "optimizer_state": 9 * MIB, "buffers": 512})

    def test_what_an_optimizers_other_objects_hold_is_no_state(self):
        job, monitor = self.begin("class Trainer: pass", "a = o.Optimizer([m._parameters['w']]); a.trainer = Trainer(); a.trainer.batch = torch.empty(2 << 20)",
                                  "a.deep = [({'four': [torch.empty(1 << 20)]},)]; a.deeper = [[[[[torch.empty(6 << 20)]]]]]; a.number = 5")
        parts = self.by_class(monitor.ask("holds"))
        self.assertEqual(parts.pop("optimizer_state"), 1 * MIB)
        self.assertEqual(parts.get("variables", 0) + parts.get("unnamed", 0), 8 * MIB)

    def test_an_optimizers_attributes_stay_free_to_go(self):
        job, monitor = self.begin("import weakref; a = o.Optimizer(); a.kept = [torch.empty(1 << 20) for _ in range(5)]",
                                  "walk = v._of_optimizer(a, [], v._Pace()); kind, one = next(walk)")
        self.assertEqual(job.do("gone = [weakref.ref(t) for t in a.kept]; one = t = None; a.kept.clear(); [g() for g in gone]"), [None] * 5)

    def test_variables_and_what_nobody_names(self):
        class_ = "class Hidden:\n __slots__ = 'tensor'\nh = Hidden(); h.tensor = torch.empty(7 << 20)"
        job, monitor = self.begin(class_, "numbers = [[n] * 10000 for n in range(300)]; kept = {'batch': [torch.empty(2 << 20)]}", "t = torch.empty(4 << 20); t.record_stream(); del t")
        self.assertEqual(self.by_class(monitor.ask("holds")),
                         {"parameters": 8 * MIB, "buffers": 512, "variables": 2 * MIB, "unnamed": 7 * MIB, "pending": 4 * MIB})
        job.do("del kept")
        self.assertEqual(self.by_class(monitor.ask("holds"))["unnamed"], 7 * MIB)

    def test_variables_are_named_and_so_is_what_the_last_traceback_keeps(self):
        job, monitor = self.begin("import sys, __main__; v._HOLD = 9", "__main__.Out = __main__._oh = {3: torch.empty(2 << 20)}; small = torch.empty(1000)",
                                  "def cell():\n batch = torch.empty(7 << 20); 1 / 0", "try: cell()\nexcept ZeroDivisionError: sys.last_traceback = sys.exc_info()[2]")
        answer = monitor.ask("holds")
        self.assertEqual(self.by_class(answer), {"parameters": 8 * MIB, "buffers": 512, "variables": 9 * MIB + 1024})
        self.assertEqual(answer["notes"][-2:], ["the variable batch in cell, kept by sys.last_traceback has 7M", "the variable Out has 2M"])
        job.do("from unittest.mock import Mock; sys.last_traceback = Mock(); globals()[3] = 7")  # a program may set it to anything
        self.assertEqual(monitor.ask("holds")["notes"][-1], "the variable Out has 2M")

    def test_what_ends_with_the_step_is_activations(self):
        job, monitor = self.begin("class Hidden:\n __slots__ = 'tensor'\nh, g = Hidden(), Hidden()", "v._STEP_WAIT = 60; a, b = o.Optimizer(m._parameters.values()), o.Optimizer(inner._parameters.values())",
                                  "m._parameters['w'].grad = torch.empty(3 << 20)",
                                  "h.tensor, g.tensor = torch.empty(6 << 20), torch.empty(9 << 20)",
                                  "def step():\n a.step(); h.tensor = None; b.step(); h.tensor = torch.empty(6 << 20)")
        monitor.ask("stats")  # registers the hook
        job.do("step()")
        answers = []
        asking = threading.Thread(target=lambda: answers.append(monitor.ask("holds")))
        asking.start()
        while asking.is_alive():
            job.do("step() if v._steps.at_end else None")
            time.sleep(0.01)
        self.assertEqual(self.by_class(answers[0]), {"parameters": 8 * MIB, "gradients": 3 * MIB, "buffers": 512, "activations": 6 * MIB, "unnamed": 9 * MIB})
        self.assertEqual(job.do("v._steps.at_end"), [])

    def test_where_nothing_is_found_it_waits_for_steps(self):
        """After an attach, modules may be older than the hooks. The model here is where no search looks."""
        job = self.job(BEGIN[0].replace("v._STEP_WAIT = 0.1", "v._STEP_WAIT = 60"), "class Hidden:\n __slots__ = ('opt', 'w')\nh = Hidden(); h.w = torch.empty(8 << 20)",
                       "h.opt = o.Optimizer([h.w]); h.opt.state[h.w] = {'exp_avg': torch.empty(4 << 20)}")
        monitor, answers = self.monitor(job), []
        asking = threading.Thread(target=lambda: answers.append(monitor.ask("holds")))
        asking.start()
        while asking.is_alive():
            time.sleep(0.5)  # the search has ended by then
            job.do("h.opt.step()")
        self.assertEqual(self.by_class(answers[0]), {"parameters": 8 * MIB, "optimizer_state": 4 * MIB})

    def test_a_late_step_does_not_end_the_search(self):
        job, monitor = self.begin("v._LOOK_MOST, v._HOLD, v._STEP_WAIT = 0.5, 0.0005, 1", "ws = [torch.empty(512) for _ in range(1500)]; opt = o.Optimizer(ws)")
        monitor.ask("stats")  # registers the hook
        job.do("opt.step()")
        job.do("v._LOOK_MOST = 5; read = v._Holds._read\ndef shown(self, pace):\n found = read(self, pace); pace._end = 0; return found\nv._Holds._read = shown")
        self.assertTrue(monitor.ask("holds")["ok"])

    def test_garbage_is_collected_in_the_pauses_alone(self):
        """A full collection holds the GIL for as long as the program has objects to look at."""
        job, monitor = self.begin("import gc; v._HOLD, v._HOLD_MOST = 0.0005, 0; kept = [torch.empty(512) for _ in range(1500)]", "at_work, in_pauses = set(), set()",
                                  "def noting(call, where):\n def noted(*a):\n  where.add((gc.isenabled(), gc.get_threshold(), v._no_fork._depth))\n  return call(*a)\n return noted",
                                  "class Lock: acquire = staticmethod(noting(v._never_released.acquire, in_pauses))", "v._storages, v._opened, v._never_released = noting(v._storages, at_work), noting(v._opened, at_work), Lock",
                                  "gc.set_threshold(600, 5, 7)")
        self.assertTrue(monitor.ask("holds")["ok"])
        self.assertEqual(job.do("[sorted(at_work), sorted(in_pauses), gc.get_threshold()]"), [[(True, (job.do("v._STOPPED"), 5, 7), 1)], [(True, (600, 5, 7), 0)], (600, 5, 7)])
        job.do("gc.set_threshold(0, 5, 7), at_work.clear(), in_pauses.clear()")  # the program turns the collector off
        self.assertTrue(monitor.ask("holds")["ok"])
        self.assertEqual(job.do("[sorted(at_work), sorted(in_pauses), gc.get_threshold()]"), [[(True, (0, 5, 7), 1)], [(True, (0, 5, 7), 0)], (0, 5, 7)])

    def test_the_programs_own_thresholds_stay(self):
        job, monitor = self.begin("import gc; storages = v._storages\ndef sets(t):\n gc.set_threshold(900, 8, 9)\n return storages(t)\nv._storages = sets")
        self.assertTrue(monitor.ask("holds")["ok"])
        self.assertEqual(job.do("gc.get_threshold()"), (900, 8, 9))
        job.do("v._storages = storages; gc.set_threshold(v._STOPPED)")  # like a program that saved the threshold during a hold and restores it
        self.assertTrue(monitor.ask("holds")["ok"])
        self.assertEqual(job.do("gc.get_threshold()"), (900, 8, 9))

    def test_without_a_snapshot_sizes_are_rounded(self):
        job, monitor = self.begin("v._HOLD_MOST = 0", "kept = torch.empty(100)",
                                  "taken, take = [], torch.cuda.memory._snapshot; torch.cuda.memory._snapshot = lambda: taken.append(1) or take()")
        monitor.ask("stats")
        job.do("taken.clear(); v._agent.memory._torch._next_map = 0")  # a snapshot for the statistics is due
        answer = monitor.ask("holds")
        self.assertEqual(job.do("taken"), [])
        self.assertEqual(self.by_class(answer), {"parameters": 8 * MIB, "buffers": 512, "variables": 512})
        self.assertFalse(answer["exact"])

    def test_memory_that_sleeps_is_not_allocated(self):
        """Memory may sleep, as vLLM's does, before any statistics are read."""
        job, monitor = self.begin("v._HOLD_MOST = 0; v._SNAPSHOT_MOST = v._SNAPSHOT_SHARE = 1e9; asleep = set(); v._Driver.mapped = lambda self, address: address not in asleep",
                                  "pool = torch.cuda.MemPool()\nwith torch.cuda.use_mem_pool(pool): weights, cache = torch.empty(200 << 20), torch.empty(30 << 20)", "del cache",
                                  "asleep.update(s['address'] for s in torch.cuda.memory_snapshot() if s['segment_pool_id'] != (0, 0))")
        self.assertEqual(self.by_class(monitor.ask("holds")), {"parameters": 8 * MIB, "buffers": 512})

    def test_memory_that_comes_and_goes_is_not_named(self):
        job, monitor = self.begin("walk = v._Holders.walk",
                                  "def moving(self, pace):\n found = walk(self, pace); parameter(m, 'w', 3); return found\nv._Holders.walk = moving")
        answer = monitor.ask("holds")
        self.assertTrue(answer["moving"])
        self.assertLessEqual(self.by_class(answer)["parameters"], 8 * MIB)

    def test_a_hook_that_is_the_programs_stays_alone(self):
        job = self.job("import vramscope_probe as v; v._Holders.watch = lambda self: None", "import torch, torch.nn.modules.module as module",
                       "hook = module.register_module_buffer_registration_hook(print)", "v._Holders.watch = watch = v._Holders.__dict__['watch']",
                       "live = torch.empty(1)")
        self.assertEqual(job.do("len(module._global_buffer_registration_hooks)"), 1)

    def test_modules_that_are_gone_are_forgotten(self):
        job, monitor = self.begin("for _ in range(1000): parameter(torch.nn.Module(), 'w', 0)")
        self.assertLessEqual(job.do("len(v._holders._modules)"), 64)
        self.assertEqual(self.by_class(monitor.ask("holds"))["parameters"], 8 * MIB)

    def test_what_is_found_is_spread_over_small_dicts(self):
        """While a large dict grows or is freed, no other thread of the program runs."""
        job, _ = self.begin()
        for stride in (512, 2 * MIB, 20 * MIB):
            job.do("found = v._Found(); [found.part(n * %d).setdefault(n, 1) for n in range(100000)]" % stride)
            self.assertLess(job.do("max(map(len, found.parts))"), 1000, stride)

    def test_a_function_keeps_its_variables(self):
        """The search empties the dict of a function's variables, and the function keeps its variables."""
        job, monitor = self.begin("gate, result = [], []",
                                  "def run():\n batch = torch.empty(2 << 20)\n import time\n while not gate: time.sleep(0.01)\n result.append(batch)\n",
                                  "import threading; thread = threading.Thread(target=run); thread.start()")
        self.assertEqual(self.by_class(monitor.ask("holds"))["variables"], 2 * MIB)
        job.do("gate.append(1); thread.join(); result.clear()")
        self.assertNotIn("variables", self.by_class(monitor.ask("holds")))

    def test_variables_that_the_program_has_in_a_dict_stay_there(self):
        """Python before 3.13 has one dict for the variables of a function that runs, which eval, exec and vars use."""
        for what in ("eval('wait() + one')", "exec('result.append(wait() + one)')", "(vars(), wait())[0]['one']"):
            with self.subTest(what):
                job, monitor = self.begin("gate, begun, result = [], [], []", "import threading, time",
                                          "def wait():\n begun.append(1)\n while not gate: time.sleep(0.01)\n return 0\n",
                                          "def run():\n one = 1\n result.append(%s)\n" % what,
                                          "thread = threading.Thread(target=run); thread.start()", "while not begun: time.sleep(0.01)")
                self.by_class(monitor.ask("holds"))
                job.do("gate.append(1); thread.join()")
                self.assertIn(1, job.do("result"))

    def test_requests_that_are_refused(self):
        job = self.job("import torch; v = torch.empty(1)")
        monitor = self.monitor(job)
        self.assertEqual(monitor.ask("holds", devices=["0"])["error"]["code"], "bad_request")
        job.do("del torch._C.DisableTorchFunctionSubclass")
        self.assertEqual(monitor.ask("holds")["error"]["code"], "unsupported")
        self.assertNotIn("holds", monitor.ask("hello")["capabilities"])


if __name__ == "__main__":
    unittest.main()
