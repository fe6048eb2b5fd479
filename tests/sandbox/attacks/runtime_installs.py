"""Programs and packages fetched while the notebook runs: pip, curl, bash, apt."""

RUNNER = {"cell_seconds": 8}
EXTRA = [
    """
import subprocess, sys
def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=3, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, (done.stdout + done.stderr)[-150:]
    return done.stdout[-200:]
attempt("pip", lambda: run(sys.executable, "-m", "pip", "install", "--retries", "0", "--timeout", "1", "--target", "/tmp/x", "six==1.16.0"))
attempt("curl", lambda: run("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/@TCP@ && echo connected"))
attempt("wget", lambda: run("wget", "-T1", "-t1", "http://127.0.0.1:@TCP@/"))
attempt("apt", lambda: run("apt-get", "update"))
""",
    "!curl -s -m 1 http://127.0.0.1:@TCP@/ && echo REACHED by curl",
    "%%bash\ncat '@HOME@/secret.txt' '@COURSE@/grading/seeds.json' && echo REACHED by bash\necho TRIED by bash: $(id -u)",
]
PROBE = "TRIED by bash: 1000"
POINTS = "all"
