"""Ctrl-C in the demos: what was started is ended in order, and nothing is left running."""
import contextlib
import signal
import subprocess

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_in_order():
    """A signal unwinds the program as SystemExit; further ones do not disturb that."""
    def unwind(number, _):
        for each in SIGNALS:
            signal.signal(each, lambda *_: None)
        raise SystemExit(128 + number)
    for each in SIGNALS:
        signal.signal(each, unwind)


@contextlib.contextmanager
def forwarded_to(child):
    """Signals are the child's meanwhile."""
    before = {each: signal.signal(each, lambda number, _: child.send_signal(number)) for each in SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def run_to_its_end(words, **popen):
    """The exit code of a program that ends itself in order on a signal."""
    child = subprocess.Popen(words, **popen)
    with forwarded_to(child):
        return child.wait()
