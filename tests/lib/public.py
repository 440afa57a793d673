"""Programs where every user can run them: the checkout may lie below a folder that only its owner may enter."""
import os
import shutil
import tempfile


def copy(case, *paths):
    """A folder that everybody may enter with copies of these files, for as long as the test takes; of a program with all that lies beside it: its folder."""
    place = tempfile.mkdtemp(prefix="drdotnet-public-", dir="/tmp")
    case.addCleanup(shutil.rmtree, place, ignore_errors=True)
    for path in paths:
        if os.path.isdir(path):
            shutil.copytree(path, place, dirs_exist_ok=True)
        else:
            shutil.copy(path, place)
    for folder, folders, files in os.walk(place):
        for name in [".", *folders, *files]:
            path = os.path.join(folder, name)
            os.chmod(path, os.stat(path).st_mode | (0o055 if os.path.isdir(path) or os.access(path, os.X_OK) else 0o044))
    return place
