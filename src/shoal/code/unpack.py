"""Unpack an archive of code: python3 -c PROGRAM ARCHIVE SHA256 FOLDER"""

import hashlib
import sys
import tarfile
from pathlib import Path, PurePosixPath

archive, expected, folder = sys.argv[1:]
digest = hashlib.sha256()
try:
    with Path(archive).open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
except OSError as fault:
    sys.exit(f"{archive}: {fault.strerror}")
if digest.hexdigest() != expected:
    sys.exit(f"{archive} is not the code that was asked for: its SHA-256 is {digest.hexdigest()}, not {expected}")
with tarfile.open(archive) as code:
    if hasattr(tarfile, "data_filter"):
        try:
            code.extractall(folder, filter="data")
        except tarfile.FilterError as fault:
            sys.exit(f"{archive}: {fault}")
    else:  # an early Python 3.11, say: without links, nothing leads out but names
        for member in code.getmembers():
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts or not (member.isfile() or member.isdir()):
                sys.exit(f"{archive}: {member.name} may lead out of the folder")
        code.extractall(folder)
