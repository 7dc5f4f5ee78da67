"""Fetches reports and keeps them: fresh ones are given at once, old ones too while a new one is fetched beside.

When the source is down, the last report is given for as long as it means anything, and says that it is old.
"""

import sys
import threading
import time
import urllib.error
import urllib.request

import metar

MOST_BYTES = 1024 * 1024
# A report that is older than this is no help to anybody.
OLDEST_SECONDS = 2 * 3600
# Aerodromes that nobody asked for lately are not refreshed.
REMEMBERED_SECONDS = 1800
LOOK_EVERY_SECONDS = 10


class SourceDown(Exception):
    """There is no report, and this is why."""


class Entry:
    def __init__(self):
        self.lock = threading.Lock()
        self.report = None
        self.fetched = float("-inf")
        self.tried = float("-inf")
        self.asked = float("-inf")
        self.problem = None


class Reports:
    def __init__(self, aerodromes, clock=time.monotonic):
        self._aerodromes, self._clock = aerodromes, clock
        self._entries, self._lock = {}, threading.Lock()

    def keep_fresh(self) -> None:
        """Starts what refreshes reports in the background."""
        threading.Thread(target=self._refresh_for_ever, name="refresh", daemon=True).start()

    def get(self, icao: str) -> dict:
        """`{"report", "age_seconds", "problem"}`; `problem` says why there is no newer one."""
        entry = self._entry(icao)
        entry.asked = self._clock()
        keeps = self._aerodromes.now()["source"]["cache_seconds"]
        age = self._clock() - entry.fetched
        if entry.report is None or age > OLDEST_SECONDS:
            self._fetch(icao, entry, must=True)
        elif age > keeps:
            threading.Thread(target=self._fetch, args=(icao, entry), daemon=True).start()
        age = self._clock() - entry.fetched
        if entry.report is None or age > OLDEST_SECONDS:
            raise SourceDown(entry.problem or "there is no report yet")
        return {"report": entry.report, "age_seconds": round(age), "problem": entry.problem}

    def _entry(self, icao: str) -> Entry:
        with self._lock:
            return self._entries.setdefault(icao, Entry())

    def _refresh_for_ever(self) -> None:
        while True:
            time.sleep(LOOK_EVERY_SECONDS)
            try:
                self.refresh()
            except Exception as error:  # It must go on, whatever it was.
                log(f"refreshing failed: {error}")

    def refresh(self) -> None:
        """Fetches what was asked for lately and will be too old before the next look."""
        keeps = self._aerodromes.now()["source"]["cache_seconds"]
        with self._lock:
            entries = list(self._entries.items())
        for icao, entry in entries:
            now = self._clock()
            wanted = now - entry.asked < REMEMBERED_SECONDS
            if wanted and now - entry.fetched > keeps - LOOK_EVERY_SECONDS:
                self._fetch(icao, entry)

    def _fetch(self, icao: str, entry: Entry, must: bool = False) -> None:
        """One at a time for an aerodrome. A source that is down gets a pause, unless there is nothing else to give."""
        before = self._clock()
        with entry.lock:
            if entry.fetched > before or (not must and before - entry.tried < LOOK_EVERY_SECONDS):
                return
            entry.tried = before
            source = self._aerodromes.now()["source"]
            try:
                entry.report = metar.latest(download(source, icao), icao)
                entry.fetched, entry.problem = self._clock(), None
            except (SourceDown, metar.Unreadable) as problem:
                entry.problem = str(problem)
                log(f"{icao}: {problem}")


def download(source: dict, icao: str) -> str:
    url = source["url"].replace("{icao}", icao)
    request = urllib.request.Request(url, headers={"User-Agent": source["user_agent"], "Accept": "text/plain"})
    try:
        with urllib.request.urlopen(request, timeout=source["timeout_seconds"]) as answer:
            body = answer.read(MOST_BYTES)
    except urllib.error.HTTPError as error:
        hint = ": it wants a `user_agent` that says who you are" if error.code == 403 else ""
        raise SourceDown(f"the weather source answered {error.code}{hint}") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", error)
        raise SourceDown(f"the weather source cannot be reached: {why}") from None
    return body.decode("utf-8", "replace")


def log(text: str) -> None:
    print(f"atis: {text}", file=sys.stderr, flush=True)
