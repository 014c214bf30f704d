import zoo

zoo.busy(zoo.work)
zoo.end()
