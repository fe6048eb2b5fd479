"""A time stamp of the far past, of megabytes, and with markup."""

POINTS = "all"
EXTRA = ["print('TRIED')"]


def submit(notebook, folder):
    (folder / "timestamp.txt").write_text("<script>window.attacked=1</script>" * 100_000)


def failed(result):
    assert result.graded.timestamp is None or len(result.graded.timestamp) <= 100
