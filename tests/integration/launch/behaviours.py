"""Small scripts, by what they are about, that show how Python behaves. Each begins with `tensorflow`, `os` and `sys`
imported."""

from __future__ import annotations

import re

SCRIPTS = """
# ends well
print("done")

# error
def f(x):
    return 1 / x
try:
    f(0)
except ZeroDivisionError as fault:
    raise ValueError("told so") from fault

# syntax error in a module
open("broken_module.py", "w").write("x = = 1")
import broken_module

# exit
sys.exit()

# exit with code
sys.exit(17)

# exit with text
sys.exit("the reason")

# exit with something else
sys.exit(["a", 1])

# exit with a large code
raise SystemExit(300)

# abrupt exit
print("heard?")
os._exit(9)

# interrupt
raise KeyboardInterrupt

# interrupt by signal
import signal, time
os.kill(os.getpid(), signal.SIGINT)
time.sleep(10)

# termination
import signal
os.kill(os.getpid(), signal.SIGTERM)

# abort
os.abort()

# at exit
import atexit
atexit.register(print, "bye")
print("hello")
1 / 0

# abrupt at exit
import atexit
atexit.register(os._exit, 5)

# thread
import threading
def work():
    print(threading.current_thread() is threading.main_thread())
threading.Thread(target=work).start()

# error in a thread
import threading
loader = threading.Thread(target=lambda: 1 / 0, name="loader")
loader.start()
loader.join()

# stack
import inspect, traceback
traceback.print_stack()
print(len(inspect.stack()), sys._getframe().f_back)

# warning
import warnings
warnings.warn("old")
warnings.warn("older", DeprecationWarning)

# main
print(__name__, __file__, __spec__, __package__, __builtins__, __doc__, sorted(globals()))
print(sys.modules["__main__"].__dict__ is globals())

# arguments
print(ascii(sys.argv), ascii(sys.orig_argv[1:]))

# environment
print(ascii(sorted(item for item in os.environ.items() if item[0] != "SHOAL_RUN_ID")))

# environment in C
import ctypes
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print([getenv(name) for name in (b"ODD", b"TF_CONFIG", b"PYTHONPATH", b"SHOAL_PREFORK_CONTROL")])

# environment of children
import subprocess
print(ascii(subprocess.run(["sh", "-c", 'echo "$ODD$TF_CONFIG"'], capture_output=True).stdout))

# path
print(sys.path, sys.flags, sys.warnoptions)

# folder
print(os.getcwd(), os.umask(0o22))

# streams
for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream.fileno(), stream.encoding, stream.errors, stream.line_buffering, stream.write_through, stream.isatty())
print(sys.stdin.read())

# files
print(sorted(os.listdir("/proc/self/fd")))

# signals
import signal
print([signal.getsignal(number) for number in signal.valid_signals()])
print(signal.pthread_sigmask(0, []))

# session
print(os.getpid() == os.getsid(0) == os.getpgid(0))

# threads
import threading
print(os.listdir("/proc/self/task") == [str(os.getpid())], [thread.name for thread in threading.enumerate()])

# limits
import resource
print([resource.getrlimit(number) for number in range(16)], os.getpriority(os.PRIO_PROCESS, 0))

# interpreter
import faulthandler, gc
print(sys.executable, sys.prefix, gc.isenabled(), gc.get_threshold(), faulthandler.is_enabled())

# pickle
import pickle
class Model:
    pass
print(pickle.dumps(Model()), type(pickle.loads(pickle.dumps(Model()))) is Model)

# module beside the script
open("own_module.py", "w").write("print(__name__)")
import own_module

# sitecustomize
import sitecustomize
print(sitecustomize.__file__, sitecustomize.ran)

# fault handler
import faulthandler, signal
faulthandler.enable()
os.kill(os.getpid(), signal.SIGSEGV)
"""

BEHAVIOURS = dict(re.findall(r"^# ([^\n]+)\n(.*?)(?=\n# |\Z)", SCRIPTS, flags=re.DOTALL | re.MULTILINE))
