"""Shares of CPU in a report against what the application measured itself. A profile is a sample: how far it may be off
follows from the number of samples, so that neither a loaded machine nor chance fails a test."""
import json
import math
import os

TAX, STOCK = "Checkout.Pricing.Tax.Compute", "Checkout.Inventory.Stock.Check"
HOT = {TAX: 0.8, STOCK: 0.2}  # the load "hot" by its making
SIGMAS = 4
MARGIN = 0.02  # what the two measure differently: the session's ends, the kernel's part


def counted(samples, places):
    """{place: weight of the stacks whose innermost of these places it is}. What a place calls is its own, too: before
    the runtime optimizes, its arithmetic stands in a frame of its own."""
    counts = dict.fromkeys(places, 0)
    for stack, weight in samples.stacks:
        for frame in reversed(stack):
            place = next((p for p in places if p in frame), None)
            if place:
                counts[place] += weight
                break
    return counts


def check(case, samples, truth, least=0.5):
    """The places' shares agree with the truth, and at least `least` of all samples lies in them."""
    counts = counted(samples, truth)
    known = sum(counts.values())
    case.assertGreater(known, 10, "too few samples: %s" % samples.leaves())
    case.assertGreater(known / samples.total, least, "CPU elsewhere: %s" % samples.leaves())
    for place, share in truth.items():
        tolerance = SIGMAS * math.sqrt(share * (1 - share) / known) + MARGIN
        case.assertAlmostEqual(counts[place] / known, share, delta=tolerance, msg="%s of %d samples" % (counts, samples.total))


def check_hot(case, samples, least=0.3):  # a starved machine is still compiling
    check(case, samples, HOT, least)


def check_rate(case, folder, hertz):
    """As many samples as the CPU time that the kernel counted for the process lets expect."""
    with open(os.path.join(folder, "report.json")) as f:
        report = json.load(f)
    case.assertEqual(report["sampling"]["frequencyHertz"], hertz)
    case.assertRegex(report["sampling"]["method"], "^perf-")
    expected = report["cpu"]["usedNanoseconds"] / 1e9 * hertz
    case.assertGreater(report["sampling"]["samples"], 0.85 * expected, report["sampling"])
