"""%vram in a real Jupyter kernel, on a box with another user's process on each of two GPUs."""

import unittest

from jupyter_client.manager import KernelManager


class Notebook(unittest.TestCase):
    def setUp(self):
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel()
        self.addCleanup(self.manager.shutdown_kernel, now=True)
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.addCleanup(self.client.stop_channels)
        self.client.wait_for_ready(timeout=60)

    def run_cell(self, code):
        """Runs a cell and returns what it prints."""
        printed = []

        def hook(message):
            if message["msg_type"] == "stream":
                printed.append(message["content"]["text"])

        reply = self.client.execute_interactive(code, timeout=60, output_hook=hook)
        self.assertEqual(reply["content"]["status"], "ok", reply["content"])
        return "".join(printed)

    def test_vram(self):
        self.run_cell("%load_ext vramscope")
        shown = self.run_cell("%vram")
        self.assertRegex(shown, r"this kernel \(PID \d+\) has no memory on a GPU")
        self.assertIn("4200001", shown)
        self.assertIn("4200002", shown)
        self.run_cell("import torch; cached = torch.empty(512 << 20); kept = torch.empty(64 << 20); del cached")
        shown = self.run_cell("%vram")
        self.assertRegex(shown, r" *0 +\d+ +\S+ +\S+ +64\.0M +512M +0 +\S+ +512M  this kernel\n")
        self.assertIn("4200001", shown)  # a process on the kernel's GPU
        self.assertNotIn("4200002", shown)  # a process on the other GPU
        self.assertRegex(self.run_cell("%vram flush"), r"freed 512M")
        shown = self.run_cell("%vram")
        self.assertRegex(shown, r" 64\.0M +0 +0 +\S+ +0  this kernel\n")
        self.assertIn("%vram flush [gradual", self.run_cell("%vram help"))


if __name__ == "__main__":
    unittest.main()
