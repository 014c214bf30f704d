import zoo


def never():
    print("never")


zoo.busy(zoo.work)
zoo.end()
