"""A server that nobody asks for anything."""

import select
import socket
import time

from told import heavy, spin, tell

heavy(0.25)
tell("imported")
spin(0.25)
server = socket.create_server(("127.0.0.1", 0))
tell("ready")
end = time.monotonic() + 0.8
while time.monotonic() < end:
    select.select([server], [], [], 0.2)
tell("left")
