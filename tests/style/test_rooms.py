"""The rooms of the tree (rooms.txt): which folder may include which."""
import collections
import os
import re
import unittest

from tests.lib import proc
from tests.style.test_style import C_PARTS, lines_of, tracked

FOLDER_FILES = 80


def read_rooms():
    """{room: the rooms that it may include}, in the order of the file, which is that of the floors; and what of the lines is wrong."""
    rooms, everywhere, complaints = {}, {}, []
    for line in lines_of("tests/style/rooms.txt"):
        if not line or line.startswith("#"):
            continue
        room, _, names = line.partition(":")
        known = [r for name in names.split() for r in rooms if r == name or (name.endswith("/*") and r.startswith(name[:-1]))]
        unknown = [name for name in names.split() if name not in rooms and not name.endswith("/*")]
        if unknown:
            complaints.append("%s: %s is not a room of a lower floor" % (room, ", ".join(unknown)))
        if room.endswith("/*"):
            everywhere[room.split("/")[0]] = known
        else:
            rooms[room] = set(known) | set(everywhere.get(room.split("/")[0], ()))
    return rooms, complaints


def includes(name):
    return [found.group(1) for found in (re.match(r'#include "((?:%s)/[^"]+)"' % "|".join(C_PARTS), line) for line in lines_of(name)) if found]


class Rooms(unittest.TestCase):
    one_process = True

    @classmethod
    def setUpClass(cls):
        cls.rooms, cls.wrong = read_rooms()
        cls.files = [n for n in tracked(".c", ".h") if n.split("/")[0] in C_PARTS]

    def complain(self, complaints):
        self.assertFalse(complaints, "\n" + "\n".join(complaints))

    def test_each_file_is_in_a_room(self):
        folders = {os.path.dirname(n) for n in self.files}
        self.complain(self.wrong + ["%s is not in rooms.txt" % f for f in sorted(folders - set(self.rooms))] +
                      ["rooms.txt has %s, where no source is" % r for r in sorted(set(self.rooms) - folders)])

    def test_rooms_know_lower_floors_only(self):
        complaints, used = [], collections.defaultdict(set)
        for name in self.files:
            room = os.path.dirname(name)
            for header in includes(name):
                if os.path.exists(os.path.join(proc.ROOT, header)):  # else it is generated
                    used[room].add(os.path.dirname(header))
                    if os.path.dirname(header) not in self.rooms[room] | {room}:
                        complaints.append("%s includes %s" % (name, header))
        self.complain(complaints + ["%s does not need %s any more: take it out of rooms.txt" % (room, other) for room, known in self.rooms.items()
                                    for other in sorted(known - used[room]) if other.split("/")[0] == room.split("/")[0]])

    def test_private_headers_stay_in_their_room(self):
        self.complain(["%s includes %s" % (name, header) for name in self.files for header in includes(name)
                       if header.endswith("_private.h") and os.path.dirname(header) != os.path.dirname(name)])

    def test_no_folder_is_a_heap(self):
        folders = collections.Counter(os.path.dirname(n) for n in tracked() if "/corpus/" not in n)
        self.complain(["%s: %d files (at most %d)" % (folder, count, FOLDER_FILES) for folder, count in folders.items() if count > FOLDER_FILES])


if __name__ == "__main__":
    unittest.main()
