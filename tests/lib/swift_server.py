"""The four servers of OpenStack Swift in one process, on the configuration and the listening sockets of a test (see s3.py), with their
log on standard error instead of syslog.

usage: swift_server.py FOLDER account=FD container=FD object=FD proxy=FD
"""
import logging
import logging.handlers
import os
import socket
import sys

import eventlet
from swift.common import utils


class Log(logging.StreamHandler):
    """Takes the place of the handler for syslog, its constants too."""
    LOG_LOCAL0 = logging.handlers.SysLogHandler.LOG_LOCAL0

    def __init__(self, *_, **__):
        super().__init__(STDERR)


STDERR = os.fdopen(os.dup(2), "w")
FOLDER = sys.argv[1]
utils.SWIFT_CONF_FILE = FOLDER + "/swift.conf"
utils.ThreadSafeSysLogHandler = Log
utils.eventlet_monkey_patch()
from swift.common import storage_policy, wsgi  # noqa: E402  (reads the file named above)
from swift.common.ring import RingBuilder  # noqa: E402


def build_ring(kind, port):
    ring = RingBuilder(4, 1, 0)
    ring.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": port, "device": "d1", "weight": 1.0,
                  "replication_ip": "127.0.0.1", "replication_port": port, "meta": ""})
    ring.rebalance()
    ring.get_ring().save("%s/%s.ring.gz" % (FOLDER, kind))


def main():
    listeners = {}
    for word in sys.argv[2:]:
        kind, _, fd = word.partition("=")
        listeners[kind] = socket.socket(fileno=int(fd))
        if kind != "proxy":
            build_ring(kind, listeners[kind].getsockname()[1])
    storage_policy.reload_storage_policies()
    servers = []
    for kind, listener in listeners.items():
        app = wsgi.loadapp("%s/%s.conf" % (FOLDER, kind), global_conf={"log_name": kind})
        green = eventlet.greenio.GreenSocket(listener)
        servers.append(eventlet.spawn(eventlet.wsgi.server, green, app, utils.NullLogger(), protocol=wsgi.SwiftHttpProtocol,
                                      capitalize_response_headers=False, socket_timeout=60))
    for server in servers:
        server.wait()


main()
