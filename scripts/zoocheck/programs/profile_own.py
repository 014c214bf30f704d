import cProfile
import pstats

import zoo

made = 0


def own():
    global made
    made += 1


def step():
    own()
    zoo.time.sleep(0.001)


zoo.use()
profile = cProfile.Profile()
profile.enable()
zoo.busy(step)
profile.disable()
stats = pstats.Stats(profile).stats
print([calls[0] == made for (_, _, name), calls in stats.items() if name == "own"])
print([file for file, _, _ in stats if "vramscope" in file and file.endswith(".py")])
zoo.end()
