"""The application whose threads' stacks are known (tests/apps/StackApp), and a profile held against them."""
import collections
import re

from tests.lib import dotnet, platforms

PREFIX = "Stacks."


class StackApp(dotnet.App):
    """`paths`: {thread: [[outermost method, ..., leaf], ...]}; `may_be_missing`: methods that the JIT may inline; `called_by`: {library: the
    method that alone calls it}."""
    NAME = "StackApp"
    QUIET = 0.2  # it has code that is compiled again and again

    def __init__(self, framework, folder, **how):
        super().__init__("all", framework, folder, **how)
        first = self._lines()[0]
        self.paths, self.may_be_missing = first["paths"], set(first["may_be_missing"])
        self.called_by = {"pow": method for method in first["called_by"].values()} if platforms.current == "musl" else first["called_by"]  # it is in libc


class StackReady(StackApp):
    """The same, compiled ahead of time."""
    NAME = "StackReady"


def own(stack):
    """Methods of the program in a stack, outermost first, without their type arguments and without what runs the shapes."""
    names = [re.sub("<[^>]*>", "", f[len(PREFIX):]) for f in stack if f.startswith(PREFIX)]
    return [n for n in names if not n.startswith("Program.") and n != "Work.Keep"]


def is_beginning(names, path, may_be_missing):
    """Whether the names are the first ones of the path, but for what may be missing."""
    at = 0
    for name in names:
        while at < len(path) and path[at] != name and path[at] in may_be_missing:
            at += 1
        if at == len(path) or path[at] != name:
            return False
        at += 1
    return True


Judged = collections.namedtuple("Judged", "right wrong")  # of one thread: samples, and {names: samples}


def judge(app, samples):
    """{thread: Judged} of a profile's folded stacks; samples without a method of the program do not count."""
    found = {}
    for stack, weight in samples.stacks:
        paths = app.paths.get(stack[0])
        names = own(stack)
        if paths is None or not names:
            continue
        one = found.setdefault(stack[0], [0, collections.Counter()])
        if any(is_beginning(names, path, app.may_be_missing) for path in paths):
            one[0] += weight
        else:
            one[1]["; ".join(names)] += weight
    return {thread: Judged(right, wrong) for thread, (right, wrong) in found.items()}


def judge_libraries(app, samples):
    """Judged of the samples in libraries of which the application says what method calls them: the last of its methods on the stack."""
    right, wrong = 0, collections.Counter()
    for stack, weight in samples.stacks:
        names = own(stack)
        callers = [method for library, method in app.called_by.items() if library in stack]
        if stack[0] not in app.paths or not callers:
            continue
        if names[-1:] == callers:
            right += weight
        else:
            wrong["; ".join(names)] += weight
    return Judged(right, wrong)
