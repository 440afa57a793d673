"""A real Chromium without a window, driven by the DevTools protocol over a pipe (https://chromedevtools.github.io/devtools-protocol/).

    with browser.Browser(folder) as b:
        page = b.open("file:///...", dark=True)
        page.value("document.title"); page.key("Enter"); page.type("tax"); page.roles()
        page.problems, page.requests
"""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time

from tests.lib import proc

KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, " ": 32}
SECONDS = 60  # for an answer: a loaded machine is slow, a hanging browser is hanging


def program():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def _words(pid):
    try:
        with open("/proc/%d/cmdline" % pid, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


class Browser:
    def __init__(self, folder):
        self.profile = profile = os.path.join(folder, "browser")
        os.makedirs(profile, exist_ok=True)
        words = [program(), "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--user-data-dir=" + profile, "--no-first-run",
                 "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
                 "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--force-device-scale-factor=1", "about:blank"]
        theirs_in, self.out = os.pipe()
        self.inp, theirs_out = os.pipe()

        def hand_over():  # the browser reads descriptor 3 and writes 4
            first, second = os.dup2(theirs_in, 13), os.dup2(theirs_out, 14)
            os.dup2(first, 3), os.dup2(second, 4)
        self.log = open(os.path.join(folder, "browser.log"), "wb")
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=(3, 4),
                                        preexec_fn=hand_over, start_new_session=True, env={**os.environ, "HOME": profile})
        os.close(theirs_in), os.close(theirs_out)
        self.next_id, self.pending, self.events = 1, b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        proc.wait_until(self._ended, 30, "the browser's crash handlers are gone")
        self.log.close()
        os.close(self.inp), os.close(self.out)

    def _ended(self):
        """Ends what is in sessions of its own, its crash handlers, which would see only later that the browser is gone."""
        left = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self.profile in _words(pid)]
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return not left

    def _message(self, deadline):
        while b"\0" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.inp], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.inp, 1 << 20)
            if not data:
                raise AssertionError("the browser has ended, code %s" % self.process.poll())
            self.pending += data
        message, _, self.pending = self.pending.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **params):
        number, self.next_id = self.next_id, self.next_id + 1
        message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self._message(deadline)
            if answer.get("id") == number:
                assert "error" not in answer, "%s: %s" % (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def wait_event(self, session, method):
        deadline = time.monotonic() + SECONDS
        while not any(e.get("sessionId") == session and e["method"] == method for e in self.events):
            self.events.append(self._message(deadline))

    def open(self, url, width=1200, height=900, dark=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        page = Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"], target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(domain + ".enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.scheme("dark" if dark else "light")
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)  # else keys are lost while another page has the focus
        page.call("Page.navigate", url=url)
        self.wait_event(page.session, "Page.loadEventFired")
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def ready(self):
        """A report's page has drawn its sections: it unpacks report.json first."""
        state = proc.wait_until(lambda: self.value("document.documentElement.dataset.page"), SECONDS, "the report is drawn", 0.05)
        assert state == "ready", self.problems
        return self

    def _events(self, method):
        return [e["params"] for e in self.browser.events if e.get("sessionId") == self.session and e["method"] == method]

    @property
    def problems(self):
        """What a developer would see in red or yellow on the console."""
        self.value("1")  # what was on its way has arrived
        return [e["entry"]["text"] for e in self._events("Log.entryAdded")] + \
               [json.dumps(e["args"]) for e in self._events("Runtime.consoleAPICalled")] + \
               [e["exceptionDetails"]["text"] for e in self._events("Runtime.exceptionThrown")]

    @property
    def requests(self):
        return [e["request"]["url"] for e in self._events("Network.requestWillBeSent")]

    def key(self, key, text=""):
        code = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text or key in KEYS else "rawKeyDown", **code,
                  **({"text": text} if text else {"text": "\r"} if key == "Enter" else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def type(self, text):
        for character in text:
            self.key(character, character)

    def click(self, expression):
        """With the mouse, in the middle of the element."""
        box = self.value("(() => { const e = %s; e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
                         " return [r.x + r.width / 2, r.y + r.height / 2]; })()" % expression)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="none" if kind == "mouseMoved" else "left",
                      clickCount=0 if kind == "mouseMoved" else 1)

    def roles(self):
        """[(role, name)] of what assistive technology sees."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n.get("ignored")]

    def picture(self, path, clip=None):
        how = {"clip": {**dict(zip(("x", "y", "width", "height"), clip)), "scale": 1}, "captureBeyondViewport": True} if clip else {}
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", **how)["data"]))
