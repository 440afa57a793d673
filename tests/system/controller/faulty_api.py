"""A proxy before a real API server that goes wrong on purpose: it answers in its place, cuts or mutes watches, adds lines to them, and
lets a test act just before a request reaches the server or just after, before its answer comes back.

    with FaultyApi(cluster) as api:
        api.on("GET", r"/pods", api.answer(429, {"Retry-After": "1"}))
        config = api.kubeconfig(path, token_file)
"""
import http.client
import http.server
import json
import re
import socket
import ssl
import threading
import time
import urllib.parse


class Rule:
    def __init__(self, method, pattern, act, times):
        self.method, self.pattern, self.act, self.times = method, re.compile(pattern), act, times


class Request:
    def __init__(self, handler, body):
        self.method, self.path, self.body = handler.command, handler.path, body
        self.headers = {k: v for k, v in handler.headers.items() if k.lower() in ("authorization", "content-type", "accept")}
        self.query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(handler.path).query))
        self.is_watch = self.query.get("watch") == "true"
        self.time = time.monotonic()
        self.status = None
        self.silent = threading.Event()


class FaultyApi:
    def __init__(self, cluster):
        host = urllib.parse.urlsplit(cluster.server)
        self.host, self.port = host.hostname, host.port
        self.cluster = cluster
        self.tls = ssl.create_default_context(cadata=cluster.ca_pem.decode())
        self.rules, self.requests, self.watches = [], [], []
        self.muted = False
        self.clock_ahead = 0  # seconds, as its answers' Date tells
        self.lock = threading.Lock()
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def date_time_string(self, timestamp=None):
                return super().date_time_string(time.time() + api.clock_ahead)

            def handle_any(self):
                api._handle(self)
            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # clients are killed here
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut()
        with self.lock:
            for request in self.requests:
                request.silent.set()
        self.server.shutdown()
        self.server.server_close()

    def kubeconfig(self, path, token_file):
        """For a program that goes through this proxy."""
        self.cluster.write_kubeconfig(path, token_file)
        with open(path) as f:
            config = json.load(f)
        config["clusters"][0]["cluster"] = {"server": "http://127.0.0.1:%d" % self.server.server_address[1]}
        with open(path, "w") as f:
            json.dump(config, f)
        return path

    # what goes wrong --------------------------------------------------------------------------------------------------
    def on(self, method, pattern, act, times=1):
        """The next `times` requests of this method whose path and query match: act(request, forward) in the place of forwarding, where
        forward() gives (status, headers, body); act returns the same, or None to close the connection without a word."""
        rule = Rule(method, pattern, act, times)
        with self.lock:
            self.rules.append(rule)
        return rule

    @staticmethod
    def answer(status, headers=None, body=None):
        text = json.dumps(body or {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "made up", "code": status}).encode()
        return lambda request, forward: (status, headers or {}, text)

    @staticmethod
    def cut_in_the_body(request, forward):
        status, headers, body = forward()
        return status, {**headers, "Content-Length": str(len(body))}, body[:len(body) // 2]

    @staticmethod
    def half_of_the_text(request, forward):
        status, headers, body = forward()
        return status, headers, body[:len(body) // 2]

    @staticmethod
    def never_answers(request, forward):
        """As a half-open connection: the request is taken, and nothing comes back until the client has enough."""
        request.silent.wait(60)
        return None

    @staticmethod
    def before(action):
        def act(request, forward):
            action()
            return forward()
        return act

    @staticmethod
    def lost_answer(action):
        """The request reaches the server; its answer does not come back."""
        def act(request, forward):
            forward()
            action()
            return None
        return act

    @staticmethod
    def never_arrives(action):
        def act(request, forward):
            action()
            return None
        return act

    def inject(self, data):
        """Bytes into each running watch of sessions."""
        with self.lock:
            for watch in self.watches:
                watch.send(data)

    def cut(self):
        """Ends each running watch of sessions."""
        with self.lock:
            for watch in self.watches:
                watch.cut()

    def seen(self, method, pattern):
        with self.lock:
            return [r for r in self.requests if r.method == method and re.search(pattern, r.path)]

    def watched(self):
        """The watches that were asked for, in their order."""
        return [r for r in self.seen("GET", "profilingsessions") if r.is_watch]

    def running(self):
        with self.lock:
            return len(self.watches)

    # the proxy --------------------------------------------------------------------------------------------------------
    def _matching(self, request):
        with self.lock:
            self.requests.append(request)
            for rule in self.rules:
                if rule.times and rule.method == request.method and rule.pattern.search(request.path):
                    rule.times -= 1
                    return rule
        return None

    def _connect(self):
        return http.client.HTTPSConnection(self.host, self.port, context=self.tls, timeout=60)

    def _forward(self, request):
        connection = self._connect()
        try:
            connection.request(request.method, request.path, request.body, request.headers)
            answer = connection.getresponse()
            headers = {k: v for k, v in answer.getheaders() if k.lower() in ("content-type", "retry-after")}
            return answer.status, headers, answer.read()
        finally:
            connection.close()

    def _handle(self, handler):
        length = int(handler.headers.get("Content-Length") or 0)
        request = Request(handler, handler.rfile.read(length) if length else None)
        rule = self._matching(request)
        try:
            if request.is_watch and not rule:
                Watch(self, handler, request).run()
                return
            result = rule.act(request, lambda: self._forward(request)) if rule else self._forward(request)
            if result is None:
                handler.close_connection = True
                handler.connection.shutdown(socket.SHUT_RDWR)
                return
            status, headers, body = result
            request.status = status
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name, value)
            if "Content-Length" not in headers:
                handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
            if "Content-Length" in headers:  # it has promised more
                handler.close_connection = True
        except OSError:
            handler.close_connection = True


class Watch:
    """One watch that is passed on as it comes."""

    def __init__(self, api, handler, request):
        self.api, self.handler, self.request = api, handler, request
        self.lock = threading.Lock()
        self.over = False

    def send(self, data):
        with self.lock:
            try:
                if not self.over:
                    self.handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            except OSError:
                self.over = True

    def cut(self):
        self.over = True
        try:
            self.upstream.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            pass

    def run(self):
        self.upstream = self.api._connect()
        try:
            self.upstream.request("GET", self.request.path, headers=self.request.headers)
            answer = self.upstream.getresponse()
            self.request.status = answer.status
            self.handler.send_response(answer.status)
            self.handler.send_header("Content-Type", "application/json")
            self.handler.send_header("Transfer-Encoding", "chunked")
            self.handler.end_headers()
            self.handler.wfile.flush()
            if "profilingsessions" in self.request.path:
                with self.api.lock:
                    self.api.watches.append(self)
            self._pass_on(answer)
        except (OSError, http.client.HTTPException, ValueError):
            pass
        finally:
            with self.api.lock:
                if self in self.api.watches:
                    self.api.watches.remove(self)
            self.handler.close_connection = True
            self.upstream.close()

    def _pass_on(self, answer):
        while not self.over:
            try:
                line = answer.readline()
            except (OSError, http.client.HTTPException, ValueError):  # cut: it ends as a server ends one, not in the midst of it
                break
            if not line:
                break
            if not self.api.muted:
                self.send(line)
        self.over = True
        self.handler.wfile.write(b"0\r\n\r\n")
