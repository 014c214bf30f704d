import threading

import zoo

end = threading.Event()
every = [threading.Thread(target=end.wait) for _ in range(300)]
for thread in every:
    thread.start()
zoo.meet()
print(threading.active_count())
end.set()
for thread in every:
    thread.join()
zoo.end()
