"""A client of the controller's REST API, with the token of a ServiceAccount."""
import http.client
import json
import ssl
import threading
import urllib.parse


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)


class Api:
    def __init__(self, port, ca_file, token=None):
        self.port, self.token = port, token
        self.tls = ssl.create_default_context(cafile=ca_file)
        self.tls.check_hostname = False  # the certificate is for the Service's name

    def connect(self, timeout=60):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=timeout)

    def send(self, connection, method, path, body=None, headers=()):
        headers = dict(headers)
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if method not in ("GET", "HEAD"):
            headers["Content-Type"] = "application/json"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()

    def call(self, method, path, body=None, headers=(), **query):
        if query:
            path += "?" + urllib.parse.urlencode({k.rstrip("_"): v for k, v in query.items()})
        connection = self.connect()
        try:
            return Answer(self.send(connection, method, path, body, headers))
        finally:
            connection.close()

    def get(self, path, **query):
        return self.call("GET", path, **query)

    def events(self, session_id):
        return Events(self, session_id)


class Events(threading.Thread):
    """Reads a stream of events to its end: [(name, data)]."""

    def __init__(self, api, session_id):
        super().__init__(daemon=True)
        self.seen, self.status = [], None
        self.connection = api.connect(120)
        self.response = api.send(self.connection, "GET", "/api/sessions/%s/events" % session_id)
        self.status, self.media_type = self.response.status, self.response.headers["Content-Type"]
        self.start()

    def run(self):
        name = None
        for line in self.response:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                self.seen.append((name, json.loads(line[6:])))
        self.connection.close()
