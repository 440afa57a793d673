"""The compiler's calls among the commands that `make -Bn` prints on standard input, as a compilation database (clang.llvm.org/docs/JSONCompilationDatabase)."""
import json
import os
import re
import sys

calls = [(line.strip(), re.search(r" -c (\S+\.c)|(\S+\.c)$", line)) for line in sys.stdin if " -c " in line]
json.dump([{"directory": os.getcwd(), "command": line, "file": found[1] or found[2]} for line, found in calls if found], sys.stdout, indent=1)
