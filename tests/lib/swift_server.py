"""One server of OpenStack Swift on the configuration of a test (see s3.py), instead of the one under /etc/swift, with
its log on standard error instead of syslog.

usage: swift_server.py SWIFT_CONF CONF SECTION
"""
import logging
import logging.handlers
import os
import sys

from swift.common import utils


class Log(logging.StreamHandler):
    """Takes the place of the handler for syslog, its constants too."""
    LOG_LOCAL0 = logging.handlers.SysLogHandler.LOG_LOCAL0

    def __init__(self, *_, **__):
        super().__init__(STDERR)


STDERR = os.fdopen(os.dup(2), "w")  # Swift closes its own


utils.SWIFT_CONF_FILE = sys.argv[1]
utils.ThreadSafeSysLogHandler = Log
from swift.common import storage_policy  # noqa: E402  (reads the file named above)

storage_policy.reload_storage_policies()
from swift.common.wsgi import run_wsgi  # noqa: E402

sys.exit(run_wsgi(sys.argv[2], sys.argv[3]))
