"""Symbols that a hostile pod has made so that they are read for ever: a method whose sequence points fill a megabyte and say nothing, for a module that the
process itself claims to have loaded. The formats: tests/unit/agent/symbols/make_pdb.h."""
import ctypes
import struct

PATH, NAME = "/tmp/Evil.dll", "Evil.pdb"
METHOD = 0x06000001
IL_ASK, IL_OFFSETS = 0x107, 0x20e
ID = bytes(range(1, 21))
POINTS_BYTES = (1 << 20) - 2
SECTION = 0x2000


def packed(n):
    return struct.pack(">I", 0xc0000000 | n)


def stream(at, data, name):
    return struct.pack("<II", at, len(data)) + name + bytes(4 - len(name) % 4)


def symbols():
    """Document 1 has no name. The points: line 10 at offset 0, then "the document changes" half a million times."""
    points = bytes([0, 0, 0, 9, 10, 5]) + b"\0\1" * ((POINTS_BYTES - 6) // 2)
    blobs = b"\0" + packed(len(points)) + points
    pdb = ID + struct.pack("<IQI", 0, 1 << 6, 1)
    tables = struct.pack("<IHBBQQII", 0, 2, 4, 1, 3 << 0x30, 0, 1, 1) + struct.pack("<IHIH", 0, 0, 0, 0) + struct.pack("<HI", 1, 1)
    head = struct.pack("<IHHII", 0x424a5342, 1, 1, 0, 12) + b"PDB v1.0\0\0\0\0" + struct.pack("<HH", 0, 3)
    parts, at, streams = ((pdb, b"#Pdb"), (tables, b"#~"), (blobs, b"#Blob")), len(head) + 16 + 12 + 16, b""
    for data, name in parts:
        streams += stream(at, data, name)
        at += len(data)
    return head + streams + b"".join(data for data, _ in parts)


def image():
    """As it lies in memory: headers, a debug directory, and the name and id of the symbols."""
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", 0x8664, 1, 0, 0, 0, 240, 0)
    optional = struct.pack("<H", 0x20b).ljust(108, b"\0") + struct.pack("<I", 16) + bytes(6 * 8) + struct.pack("<II", SECTION, 28)
    section = bytes(8) + struct.pack("<IIII", 0x8000, SECTION, 0x8000, 0x400)
    head = (b"MZ".ljust(0x3c, b"\0") + struct.pack("<I", 0x80)).ljust(0x80, b"\0") + coff + optional.ljust(240, b"\0") + section
    codeview = b"RSDS" + ID[:16] + struct.pack("<I", 1) + NAME.encode() + b"\0"
    entry = struct.pack("<IIHHIIII", 0, struct.unpack("<I", ID[16:])[0], 0x100, 0x504d, 2, len(codeview), SECTION + 28, 0x400 + 28)
    return head.ljust(SECTION, b"\0") + entry + codeview.ljust(2048, b"\0")


def load():
    """Writes the symbols, and gives the image's address; it stays."""
    with open(PATH.rpartition("/")[0] + "/" + NAME, "wb") as f:
        f.write(symbols())
    globals()["kept"] = ctypes.create_string_buffer(image())
    return ctypes.addressof(globals()["kept"])


def il_offsets(payload):
    """The answer to IL_ASK: all places are at 5."""
    count, = struct.unpack_from("<I", payload)
    return IL_OFFSETS, struct.pack("<I", count) + struct.pack("<I", 5) * count


def function_tail(address):
    """What a FUNCTION frame ends with: token, image, path."""
    return struct.pack("<IQH", METHOD, address, len(PATH)) + PATH.encode()
