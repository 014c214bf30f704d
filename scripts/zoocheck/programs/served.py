"""The application of serve.py, for both kinds of servers."""

import zoo


def answer(path):
    if path == "/ready":
        zoo.use()
        zoo.ready()
        return "ready"
    if path == "/going":
        return "goes" if zoo.going() else "waits"
    if path == "/work":
        zoo.work()
        return "worked"
    if path == "/end":
        return "intact" if zoo.intact() else "broken"
    return "serves"


def wsgi(environ, start):
    start("200 OK", [("Content-Type", "text/plain")])
    return [answer(environ["PATH_INFO"]).encode()]


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": answer(scope["path"]).encode()})
