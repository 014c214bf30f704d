"""Training steps."""

import unittest

from harness import FRESH, Case

BEGIN = FRESH, "import torch, torch.optim as o; live = torch.empty(9, 0)"
COUNT = "def steps(optimizer, n):\n for _ in range(n): optimizer.step()"


class Steps(Case):
    def begin(self, *setup, **options):
        job = self.job(*BEGIN, COUNT, *setup, **options)
        monitor = self.monitor(job)
        return job, lambda: monitor.ask("stats").get("steps")

    def test_nothing_counts_them(self):
        job, steps = self.begin()
        self.assertIsNone(steps())

    def test_an_optimizer_counts(self):
        job, steps = self.begin("a = o.Optimizer()")
        steps()
        job.do("steps(a, 30)")
        self.assertEqual(steps(), 30)
        job.do("steps(a, 12)")
        self.assertEqual(steps(), 42)

    def test_the_class_of_the_optimizer_is_reported(self):
        job, monitor = self.begin("class AdamW(o.Optimizer): pass\na = AdamW()")[0], None
        monitor = self.monitor(job)
        self.assertNotIn("optimizer", monitor.ask("stats"))
        job.do("steps(a, 2)")
        self.assertEqual(monitor.ask("stats").get("optimizer"), "AdamW")
        job.do("b = o.Optimizer(); steps(b, 2)")
        self.assertNotIn("optimizer", monitor.ask("stats"))
        job.do("del b; import gc; gc.collect() and None")
        self.assertEqual(monitor.ask("stats").get("optimizer"), "AdamW")

    def test_the_slowest_of_several_counts(self):
        job, steps = self.begin("a, b = o.Optimizer(), o.Optimizer()")
        steps()
        job.do("steps(a, 50); steps(b, 10)")
        self.assertEqual(steps(), 10)
        job.do("steps(a, 50); steps(b, 10)")
        self.assertEqual(steps(), 20)

    def test_optimizers_one_after_another_add_up(self):
        job, steps = self.begin("v._Steps._IDLE_TIME = -1; kept = []")
        steps()
        for _ in range(3):
            job.do("a = o.Optimizer(); steps(a, 200)")
            steps()
        job.do("kept.append(a); a = o.Optimizer(); steps(a, 150)")  # the earlier optimizer is kept, and idle
        steps()
        job.do("steps(a, 150)")
        self.assertEqual([steps(), steps()], [900, 900])

    def test_a_collected_optimizer_counts_no_longer(self):
        job, steps = self.begin("a, b = o.Optimizer(), o.Optimizer(); v._Steps._SET_TIME = -1")
        steps()
        job.do("steps(a, 50); steps(b, 10)")
        self.assertEqual([steps(), steps()], [10, 10])
        job.do("del b; steps(a, 5)")
        self.assertEqual(steps(), 15)
        job.do("steps(a, 7)")
        self.assertEqual(steps(), 22)

    def test_optimizers_that_take_turns(self):
        job, steps = self.begin("a, b = o.Optimizer(), o.Optimizer()")
        steps()
        for _ in range(3):
            job.do("steps(a, 20)")
            steps()
            job.do("steps(b, 20)")
        self.assertEqual(steps(), 60)

    def test_many_optimizers(self):
        job, steps = self.begin()
        steps()
        job.do("for _ in range(500): steps(o.Optimizer(), 1)")
        self.assertLessEqual(job.do("len(v._steps._counted)"), job.do("v._MAX_OPTIMIZERS"))
        self.assertIsNotNone(steps())

    def test_a_program_counts_itself(self):
        job, steps = self.begin("a = o.Optimizer()")
        steps()
        job.do("steps(a, 5); v.step(); v.step(2)")
        self.assertEqual(steps(), 3)
        self.assertIn("ValueError", job.do("v.step(-1)"))
        self.assertIn("ValueError", job.do("v.step(1.5)"))
        self.assertEqual(steps(), 3)

    def test_the_setting_turns_it_off(self):
        job, steps = self.begin("a = o.Optimizer()", VRAMSCOPE_STEPS="0")
        steps()
        job.do("steps(a, 5)")
        self.assertIsNone(steps())
        self.assertEqual(job.do("len(o.optimizer._global_optimizer_post_hooks)"), 0)

    def test_a_program_with_hooks_of_its_own_is_left_alone(self):
        job, steps = self.begin("a = o.Optimizer(); seen = []", "h = o.register_optimizer_step_post_hook(lambda *_: seen.append(1))")
        steps()
        job.do("steps(a, 5)")
        self.assertIsNone(steps())
        self.assertEqual(job.do("len(seen), len(o.optimizer._global_optimizer_post_hooks)"), (5, 1))

    def test_the_hook_goes_with_the_probe(self):
        job, steps = self.begin("a = o.Optimizer()")
        steps()
        hooks = job.do("hooks = o.optimizer._global_optimizer_post_hooks; len(hooks)")
        self.assertEqual(hooks, 1)
        job.do("v._agent.stop()")
        self.assertEqual(job.do("len(o.optimizer._global_optimizer_post_hooks)"), 0)

    def test_beside_a_later_hook_it_does_nothing_after_the_probe(self):
        job, steps = self.begin("a = o.Optimizer(); seen = []")
        steps()
        job.do("h = o.register_optimizer_step_post_hook(lambda *_: seen.append(1))")
        job.do("v._agent.stop(); steps(a, 5)")
        self.assertEqual(job.do("len(seen), len(v._steps._counted)"), (5, 0))

    def test_the_hook_goes_while_a_thread_is_between_two_hooks(self):
        job, steps = self.begin("a = o.Optimizer()")
        steps()
        job.do("a._optimizer_step_post_hooks[1] = lambda *_: v._agent.stop()")
        self.assertIsNone(job.do("a.step()"))

    def test_a_compiled_step_is_unknown(self):
        job, steps = self.begin("a = o.Optimizer()", "v._Steps._IDLE_TIME = 0.05")
        steps()
        job.do("steps(a, 5)")
        self.assertEqual(steps(), 5)
        job.do("import sys, types, time; sys.modules['torch._dynamo.utils'] = types.SimpleNamespace(counters={'frames': {'ok': 1}}); time.sleep(0.1)")
        self.assertIsNone(steps())


if __name__ == "__main__":
    unittest.main()
