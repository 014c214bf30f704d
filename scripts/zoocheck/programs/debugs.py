"""debugpy listens; no client connects."""

import debugpy

import zoo

debugpy.listen(("127.0.0.1", 0))
zoo.busy(zoo.work)
print(debugpy.is_client_connected())
zoo.end()
