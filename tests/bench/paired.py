"""What can be said of pairs of measurements on a machine that does other things as well."""
import statistics


def median_interval(values, percent=95):
    """(low, median, high): the median, and where it lies with that probability whatever the values' distribution is (order statistics: as many
    of n fair coins fall on one side). None instead of an interval where there are too few of them."""
    ordered, n = sorted(values), len(values)
    tail, below, ways = (100 - percent) / 200 * 2 ** n, 0, 1  # ways: n over k
    k = 0
    while below + ways <= tail:
        below += ways
        ways = ways * (n - k) // (k + 1)
        k += 1
    middle = statistics.median(ordered)
    return (ordered[k - 1], middle, ordered[n - k]) if k else (None, middle, None)
