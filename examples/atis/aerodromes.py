"""The config: aerodromes, and where their weather comes from. It is read again when the file changes."""

import configparser
import re
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

ICAO = re.compile(r"[A-Z]{4}\Z")
RUNWAY = re.compile(r"(0[1-9]|[12][0-9]|3[0-6])[LCR]?\Z")
FREQUENCY = re.compile(r"(.{1,40}) (1[0-9]{2}\.[0-9]{1,3})\Z")
LARGEST_BYTES = 256 * 1024

SOURCE_KEYS = {"url", "user_agent", "cache_seconds", "timeout_seconds"}
AERODROME_KEYS = {"name", "runways", "frequencies", "remarks"}


class BadConfig(Exception):
    """Says what is wrong with the file, and on which line."""


class Aerodromes:
    """The file as it is now. One that is bad changes nothing: the last good one goes on."""

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.Lock()
        self._seen = None
        self._config = None
        self._problem = "it was not read yet"

    def now(self) -> dict:
        """`{"source": {...}, "aerodromes": {"ENGM": {...}}}`"""
        with self._lock:
            stamp = self._stamp()
            if stamp != self._seen:
                self._seen = stamp
                self._read()
            if self._config is None:
                raise BadConfig(self._problem)
            return self._config

    def _stamp(self):
        try:
            found = self.path.stat()
        except OSError as error:
            return str(error)
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> None:
        try:
            self._config = read(self.path)
        except BadConfig as problem:
            self._problem = str(problem)
            goes_on = "" if self._config is None else "; the last good config goes on"
            print(f"atis: {problem}{goes_on}", file=sys.stderr, flush=True)


def read(path: Path) -> dict:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise BadConfig(f"{path.name}: it is larger than {LARGEST_BYTES} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path.name} cannot be read: {error}") from None
    parser = configparser.ConfigParser(interpolation=None, default_section="\0", inline_comment_prefixes=None)
    try:
        parser.read_string(text)
    except configparser.MissingSectionHeaderError as error:
        raise BadConfig(f"{path.name}, line {error.lineno}: a line like `[ENGM]` must come first") from None
    except configparser.ParsingError as error:
        line, _ = error.errors[0]
        raise BadConfig(f"{path.name}, line {line}: this is neither `[ENGM]` nor `key = value`") from None
    except (configparser.DuplicateSectionError, configparser.DuplicateOptionError) as error:
        raise BadConfig(f"{path.name}, line {error.lineno}: this is here twice") from None
    return Reader(path.name, text, parser).config()


class Reader:
    """Checks what was parsed; every complaint names its line."""

    def __init__(self, name: str, text: str, parser: configparser.ConfigParser):
        self.name, self.lines, self.parser = name, text.splitlines(), parser

    def config(self) -> dict:
        if not self.parser.has_section("source"):
            raise BadConfig(f"{self.name}: the section `[source]` with its `url` is missing")
        source = self.source()
        aerodromes = {name: self.aerodrome(name) for name in self.parser.sections() if name != "source"}
        if not aerodromes:
            raise BadConfig(f"{self.name}: there is no aerodrome in it; a section like `[ENGM]` adds one")
        return {"source": source, "aerodromes": aerodromes}

    def source(self) -> dict:
        fields = self.fields("source", SOURCE_KEYS, "url")
        url = fields["url"]
        if urlsplit(url).scheme not in ("http", "https") or "{icao}" not in url:
            raise self.bad("source", "url", "`url` must begin with http:// or https:// and have {icao} in it")
        return {
            "url": url,
            "user_agent": fields.get("user_agent", "tollgate-atis-example/1.0"),
            "cache_seconds": self.seconds(fields, "cache_seconds", 300),
            "timeout_seconds": self.seconds(fields, "timeout_seconds", 3),
        }

    def aerodrome(self, icao: str) -> dict:
        if not ICAO.match(icao):
            raise self.bad(icao, None, f"`{icao}` is no ICAO code: four capital letters")
        fields = self.fields(icao, AERODROME_KEYS, "name")
        runways = [runway.strip() for runway in fields.get("runways", "").split(",") if runway.strip()]
        for runway in runways:
            if not RUNWAY.match(runway):
                raise self.bad(icao, "runways", f"`{runway}` is no runway: 01 to 36, with L, C or R if need be")
        frequencies = []
        for entry in (part.strip() for part in fields.get("frequencies", "").split(",")):
            found = FREQUENCY.match(entry)
            if found:
                frequencies.append({"service": found[1], "mhz": found[2]})
            elif entry:
                raise self.bad(icao, "frequencies", f"`{entry}` is no frequency: write it like `Tower 118.300`")
        remarks = " ".join(fields.get("remarks", "").split())
        return {"name": fields["name"], "runways": runways, "frequencies": frequencies, "remarks": remarks}

    def fields(self, section: str, known: set, needed: str) -> dict:
        fields = dict(self.parser.items(section))
        for key in fields:
            if key not in known:
                raise self.bad(section, key, f"there is no key `{key}` here: {', '.join(sorted(known))}")
        if not fields.get(needed, "").strip():
            raise self.bad(section, None, f"`[{section}]` has no `{needed}`")
        return fields

    def seconds(self, fields: dict, key: str, usual: int) -> float:
        try:
            value = float(fields.get(key, usual))
        except ValueError:
            value = 0
        if not 0 < value <= 86400:
            raise self.bad("source", key, f"`{key}` must be a number of seconds above 0")
        return value

    def bad(self, section: str, key: str, problem: str) -> BadConfig:
        """With the line of the key, or of the section."""
        inside, line = False, None
        for number, text in enumerate(self.lines, 1):
            if text.strip().startswith("["):
                inside = text.strip() == f"[{section}]"
                line = number if inside else line
            elif inside and key and re.match(rf"\s*{re.escape(key)}\s*[=:]", text, re.IGNORECASE):
                line = number
                break
        return BadConfig(f"{self.name}, line {line}: {problem}")
