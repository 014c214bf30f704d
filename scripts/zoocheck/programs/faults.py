import faulthandler
import sys

import zoo

faulthandler.enable()
faulthandler.register(10, all_threads=False)
faulthandler.dump_traceback_later(300)
zoo.meet()
faulthandler.cancel_dump_traceback_later()
faulthandler.dump_traceback(sys.stdout, all_threads=False)
print(faulthandler.is_enabled())
zoo.end()
