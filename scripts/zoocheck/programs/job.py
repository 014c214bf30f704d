"""A job that waits."""

import zoo

zoo.meet()
print("intact" if zoo.intact() else "broken", sum(range(1000)))
