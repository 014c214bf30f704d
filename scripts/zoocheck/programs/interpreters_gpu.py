"""A sub-interpreter imports the library and ends. Then the main interpreter uses the GPU."""

import _xxsubinterpreters as interpreters

import zoo

for _ in range(3):
    own = interpreters.create()
    interpreters.run_string(own, "import torch")
    interpreters.destroy(own)
print("destroyed", flush=True)
zoo.meet()
zoo.end()
