"""The page while its server is away, and when it is back."""
import unittest

from tests.lib import browser, serve
from tests.system.page import test_page


@unittest.skipUnless(browser.program(), "no Chromium")
class Away(test_page.LocalCase):
    def test_server_comes_back(self):
        self.expected = ["ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "ERR_SOCKET_NOT_CONNECTED", "ERR_ABORTED", "status of 401"]
        page = self.open()
        self.until(page, "document.querySelector('tbody tr')", "the list")
        self.server.stop()
        page.click("document.querySelector('[aria-label=\"Refresh the list\"]')")
        self.until(page, "!document.getElementById('banner').hidden", "it says that the server is away")
        self.assertTrue(page.value("Boolean(document.querySelector('tbody tr'))"), "what was there stays")
        again = serve.Serve(self.folder, "--port", str(self.server.port))
        self.addCleanup(again.stop)
        self.until(page, "document.getElementById('banner').hidden", "it is back")
        if again.token != self.server.token:  # another server's token is asked for, then it goes on where it was
            self.until(page, "document.getElementById('token')", "the sign-in")
            page.type(again.token)
            page.key("Enter")
        self.until(page, "document.querySelector('tbody tr')", "the list")


if __name__ == "__main__":
    unittest.main()
