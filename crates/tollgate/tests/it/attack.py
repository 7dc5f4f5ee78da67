# Runs inside a server. Tries every way to the gateway's files that a process of the same user has, and
# prints the names of those that worked. `facts` is set before.
import ctypes, glob, http.client, shutil, sqlite3, subprocess, tempfile

data, config, secret = (facts["paths"][key] for key in ("data", "config", "secret"))
token, database = data + "/admin.token", data + "/tollgate.db"
gateway, aside = facts["gateway"], tempfile.mkdtemp()
worked, found = [], [""]

def attempt(name, action):
    try:
        result = action()
    except (OSError, sqlite3.Error, http.client.HTTPException, ValueError):
        return
    if result is not False:
        worked.append(name)

def read(path, mode="rb"):
    with open(path, mode) as file:
        found.append(file.read(64).decode("latin-1"))

def run(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    return done.returncode == 0

def change_database():
    # A fresh connection writes to the file, or to a journal beside it.
    connection = sqlite3.connect(database, timeout=1)
    connection.execute("create table evil (x)")
    connection.commit()

def read_by_link():
    os.symlink(data, aside + "/link")
    read(aside + "/link/admin.token")

def replace(path):
    with open(aside + "/forged", "w") as file:
        file.write("forged")
    os.replace(aside + "/forged", path)

for path in (token, config, secret, database):
    name = os.path.basename(path)
    attempt("read " + name, lambda: read(path))
    attempt("append to " + name, lambda: open(path, "ab").close())
    attempt("truncate " + name, lambda: os.truncate(path, 1))
    attempt("rename " + name, lambda: os.rename(path, path + ".x"))
    attempt("unlink " + name, lambda: os.unlink(path))
    attempt("replace " + name, lambda: replace(path))
    attempt("hard link " + name, lambda: os.link(path, aside + "/" + name))
    attempt("hard link beside " + name, lambda: os.link(path, path + ".x"))
    attempt("proc root " + name, lambda: read("/proc/self/root" + path))
    attempt("proc root of the gateway " + name, lambda: read(f"/proc/{gateway}/root" + path))
    attempt("relative " + name, lambda: read(os.path.relpath(path)))
    attempt("child process " + name, lambda: run("cat", path))
    attempt("own namespace " + name, lambda: run("unshare", "-Urm", "cat", path))
    attempt("bind mount " + name, lambda: run(
        "unshare", "-Urm", "sh", "-c", f"mount --bind '{data}' '{aside}' && cat '{aside}/admin.token'"))
attempt("mount", lambda: run("mount", "--bind", data, aside))
attempt("through a link", read_by_link)
attempt("change the database", change_database)
attempt("new file", lambda: open(data + "/new", "w").close())
attempt("journal", lambda: open(database + "-journal", "w").close())
attempt("new directory", lambda: os.mkdir(data + "/new"))
for path in (data, os.path.dirname(config), os.path.dirname(data)):
    attempt("move " + path, lambda: os.rename(path, path + ".x"))
    attempt("take " + path, lambda: os.rename(path, aside + "/taken"))
attempt("copy", lambda: shutil.copytree(data, aside + "/copy"))

for name in ("environ", "mem", "maps", "auxv", "cwd/tollgate.yaml", "cwd/.tollgate/admin.token"):
    attempt("proc " + name, lambda: read(f"/proc/{gateway}/{name}"))
for descriptor in range(3, 64):
    attempt("descriptor", lambda: os.readlink(f"/proc/{gateway}/fd/{descriptor}"))
    attempt("file of a descriptor", lambda: read(f"/proc/{gateway}/fd/{descriptor}"))
for process in (name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()):
    attempt("root of others", lambda: read(f"/proc/{process}/root{token}"))
libc = ctypes.CDLL(None, use_errno=True)
attempt("ptrace", lambda: libc.ptrace(16, gateway, 0, 0) == 0)
if facts["name"] != "privileged":
    attempt("signal", lambda: os.kill(gateway, 0))
for disk in glob.glob("/dev/vd*") + glob.glob("/dev/sd*") + glob.glob("/dev/nvme*n*") + glob.glob("/dev/loop*"):
    attempt("disk " + disk, lambda: read(disk))

def ask(key):
    connection = http.client.HTTPConnection(facts["address"], timeout=20)
    connection.request("GET", "/api/keys", headers={"authorization": "Bearer " + key.strip()})
    return connection.getresponse().status == 200

for key in found:
    attempt("be admin", lambda: ask(key))
print(*worked or ["nothing"], sep=", ")
