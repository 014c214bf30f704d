import sys

import zoo

zoo.use()
kept = sys.path[:], sys.meta_path[:], dict(sys.path_importer_cache)
del sys.path[:]
del sys.meta_path[:]
zoo.meet()
print(sys.path)
sys.path[:], sys.meta_path[:] = kept[:2]
zoo.end()
