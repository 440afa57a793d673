"""The flame graph of a report's page, by keys alone: what each page that has one must do."""

FOCUSED = "document.activeElement.getAttribute('aria-label')"
LEVEL = "document.activeElement.getAttribute('aria-level')"


def zoom_by_keys(test, page):
    """From the tab into the tree, three frames inward, and Enter: the focus stays on the frame, and the way back is offered."""
    page.value("document.getElementById('tab-flame').focus()")
    for _ in range(6):
        page.key("Tab")
        if page.value("document.activeElement.getAttribute('role')") == "treeitem":
            break
    test.assertEqual(page.value(FOCUSED), "all, 100.0%")
    for _ in range(3):
        page.key("ArrowDown")
    test.assertEqual(page.value(LEVEL), "4")
    name = page.value(FOCUSED)
    page.key("Enter")
    test.assertEqual(page.value(FOCUSED), name)
    test.assertFalse(page.value("document.getElementById('reset').disabled"))
