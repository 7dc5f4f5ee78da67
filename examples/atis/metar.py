"""Reads METAR reports, and says them in words. Knows nothing of where they come from."""

import re
from datetime import datetime, timedelta, timezone

LETTERS = (
    "Alfa Bravo Charlie Delta Echo Foxtrot Golf Hotel India Juliett Kilo Lima Mike November Oscar Papa Quebec Romeo "
    "Sierra Tango Uniform Victor Whiskey X-ray Yankee Zulu"
).split()
DIGITS = "zero one two three four five six seven eight niner".split()
SIDES = {"L": "left", "C": "center", "R": "right"}

WEATHER = {
    "DZ": "drizzle", "RA": "rain", "SN": "snow", "SG": "snow grains", "IC": "ice crystals", "PL": "ice pellets",
    "GR": "hail", "GS": "small hail", "UP": "unknown precipitation", "BR": "mist", "FG": "fog", "FU": "smoke",
    "VA": "volcanic ash", "DU": "dust", "SA": "sand", "HZ": "haze", "PO": "dust whirls", "SQ": "squalls",
    "FC": "funnel cloud", "SS": "sandstorm", "DS": "dust storm",
}  # fmt: skip
MANNERS = {
    "MI": "shallow", "PR": "partial", "BC": "patches of", "DR": "drifting", "BL": "blowing", "FZ": "freezing",
}  # fmt: skip
AMOUNTS = {"FEW": "few", "SCT": "scattered", "BKN": "broken", "OVC": "overcast"}
TOWERS = {"CB": " cumulonimbus", "TCU": " towering cumulus"}

WIND = re.compile(r"(\d{3}|VRB|///)(\d{2,3}|//)(?:G(\d{2,3}))?(KT|MPS|KMH)\Z")
CLOUD = re.compile(r"(FEW|SCT|BKN|OVC)(\d{3}|///)(CB|TCU|///)?\Z")
PHENOMENA = re.compile(
    rf"(-|\+|VC)?(MI|PR|BC|DR|BL|FZ|SH|TS)?((?:{'|'.join(WEATHER)})*)\Z",
)
TO_KNOTS = {"KT": 1, "MPS": 1.943844, "KMH": 0.539957}


class Unreadable(Exception):
    """What was given is no METAR."""


def latest(text: str, icao: str) -> str:
    """The newest report of an aerodrome in a text of many: they stand in order, each ends with `=`."""
    reports = [" ".join(report.split()) for report in re.split(r"=|\n(?=[A-Z]{4} |METAR |SPECI )", text)]
    mine = [bare for bare in map(bare_report, reports) if bare.startswith(f"{icao} ")]
    if not mine:
        raise Unreadable(f"the source has no report of {icao}")
    return mine[-1]


def bare_report(report: str) -> str:
    return re.sub(r"^((METAR|SPECI|COR|AUTO) )+", "", report)


def decode(report: str, now: datetime) -> dict:
    """The parts of a report that an ATIS tells; what is not understood is left out."""
    words = report.split()
    if len(words) < 3 or not re.match(r"\d{6}Z\Z", words[1]):
        raise Unreadable(f"the report `{report[:80]}` is no METAR")
    found = {"icao": words[0], "observed": observed(words[1], now), "weather": [], "clouds": []}
    whole = None
    for word in words[2:]:
        if word in ("NOSIG", "TEMPO", "BECMG", "RMK"):
            break
        whole = take(word, found, whole)
    return found


def take(word: str, found: dict, whole: str) -> str:
    """Puts one word of a report where it belongs. Gives the whole miles that a fraction may follow."""
    if word == "CAVOK":
        found["cavok"] = True
    elif word in ("NSC", "NCD", "SKC", "CLR"):
        found["sky_clear"] = True
    elif match := WIND.match(word):
        found.setdefault("wind", wind(match))
    elif match := re.match(r"(\d{3})V(\d{3})\Z", word):
        found.setdefault("wind", {})["from_to_degrees"] = [int(match[1]), int(match[2])]
    elif re.match(r"\d{4}(NDV)?\Z", word):
        found.setdefault("visibility_m", int(word[:4]))
    elif match := re.match(r"[PM]?(\d+)(?:/(\d+))?SM\Z", word):
        miles = int(match[1]) / int(match[2] or 1) + int(whole or 0)
        found.setdefault("visibility_m", min(round(miles * 1609.344), 9999))
    elif re.match(r"\d\Z", word):
        return word
    elif match := CLOUD.match(word):
        feet = None if match[2] == "///" else int(match[2]) * 100
        found["clouds"].append({"amount": AMOUNTS[match[1]], "feet": feet, "type": TOWERS.get(match[3], "").strip()})
    elif match := re.match(r"VV(\d{3})\Z", word):
        found["vertical_visibility_feet"] = int(match[1]) * 100
    elif match := re.match(r"(M?\d{2})/(M?\d{2})?(?://)?\Z", word):
        found["temperature_c"] = degrees(match[1])
        if match[2]:
            found["dew_point_c"] = degrees(match[2])
    elif match := re.match(r"Q(\d{4})\Z", word):
        found["qnh_hpa"] = int(match[1])
    elif match := re.match(r"A(\d{4})\Z", word):
        found["altimeter_inhg"] = int(match[1]) / 100
        found.setdefault("qnh_hpa", int(int(match[1]) * 0.338639))
    elif (match := PHENOMENA.match(word)) and (match[2] or match[3]):
        found["weather"].append(phenomenon(match))
    return None


def observed(stamp: str, now: datetime) -> str:
    """The day of the month is all that a report says; it is the last such day."""
    day, hour, minute = int(stamp[:2]), int(stamp[2:4]), int(stamp[4:6])
    for back in range(32):
        date = now - timedelta(days=back)
        if date.day == day and hour < 24 and minute < 60:
            at = date.replace(hour=hour, minute=minute, second=0, microsecond=0)
            if at <= now + timedelta(hours=1):
                return at.strftime("%Y-%m-%dT%H:%MZ")
    raise Unreadable(f"`{stamp}` is no time of a report")


def wind(match: re.Match) -> dict:
    knots = lambda text: round(int(text) * TO_KNOTS[match[4]])  # noqa: E731
    found = {}
    if match[1].isdigit():
        found["degrees"] = int(match[1])
    if match[1] == "VRB":
        found["variable"] = True
    if match[2].isdigit():
        found["knots"] = knots(match[2])
    if match[3]:
        found["gust_knots"] = knots(match[3])
    return found


def degrees(text: str) -> int:
    return -int(text[1:]) if text.startswith("M") else int(text)


def phenomenon(match: re.Match) -> str:
    strength, manner, kinds = match[1], match[2], re.findall("..", match[3])
    named = " and ".join(WEATHER[kind] for kind in kinds)
    if manner == "SH":
        named = f"{named or 'rain'} showers"
    elif manner == "TS":
        named = f"thunderstorm with {named}" if named else "thunderstorm"
    elif manner:
        named = f"{MANNERS[manner]} {named}"
    if strength == "VC":
        return f"{named} in the vicinity"
    return {"-": "light ", "+": "heavy "}.get(strength, "") + named


def letter(report: dict) -> str:
    """The letter of the information: another one every half hour, the same for all who ask."""
    at = datetime.strptime(report["observed"], "%Y-%m-%dT%H:%MZ").replace(tzinfo=timezone.utc)
    return LETTERS[int(at.timestamp() // 1800) % len(LETTERS)]


def runway_in_use(report: dict, runways: list) -> str:
    """The one with most wind from ahead; the first that is listed if the wind does not say."""
    degrees_from = report.get("wind", {}).get("degrees")
    if not runways or degrees_from is None or not report["wind"].get("knots"):
        return runways[0] if runways else None
    off = lambda runway: abs((int(runway[:2]) * 10 - degrees_from + 180) % 360 - 180)  # noqa: E731
    return min(runways, key=off)


def spell(text) -> str:
    """Digit by digit, as on the radio."""
    return " ".join(DIGITS[int(digit)] for digit in str(text))


def spoken(report: dict, aerodrome: dict) -> str:
    """The broadcast, word by word."""
    name, information = aerodrome["name"], letter(report)
    sentences = [f"{name} information {information}, time {spell(report['observed'][11:16].replace(':', ''))}"]
    runway = runway_in_use(report, aerodrome["runways"])
    if runway:
        side = SIDES.get(runway[2:])
        sentences.append(f"Runway in use {spell(runway[:2])}" + (f" {side}" if side else ""))
    sentences += [spoken_wind(report.get("wind")), *spoken_sky(report)]
    if "temperature_c" in report:
        dew = report.get("dew_point_c")
        dew_point = "" if dew is None else f", dew point {signed(dew)}"
        sentences.append(f"Temperature {signed(report['temperature_c'])}{dew_point}")
    if "altimeter_inhg" in report:
        sentences.append(f"Altimeter {spell(round(report['altimeter_inhg'] * 100))}")
    elif "qnh_hpa" in report:
        sentences.append(f"Q N H {spell(report['qnh_hpa'])}")
    if aerodrome["remarks"]:
        sentences.append(aerodrome["remarks"].rstrip("."))
    sentences.append(f"Advise on first contact that you have information {information}")
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def spoken_wind(wind: dict) -> str:
    if not wind or "knots" not in wind:
        return "Wind not available"
    if wind["knots"] == 0:
        return "Wind calm"
    text = "Wind variable" if "degrees" not in wind else f"Wind {spell(format(wind['degrees'], '03d'))} degrees"
    text += f", {spell(wind['knots'])} knots"
    if "gust_knots" in wind:
        text += f", gusting {spell(wind['gust_knots'])}"
    if "from_to_degrees" in wind:
        least, most = (spell(format(end, "03d")) for end in wind["from_to_degrees"])
        text += f", varying between {least} and {most} degrees"
    return text


def spoken_sky(report: dict) -> list:
    if report.get("cavok"):
        return ["Ceiling and visibility okay"]
    sentences = []
    visibility = report.get("visibility_m")
    if visibility is not None:
        if visibility >= 9999:
            sentences.append("Visibility ten kilometers or more")
        elif visibility >= 5000:
            sentences.append(f"Visibility {visibility // 1000} kilometers")
        else:
            sentences.append(f"Visibility {visibility} meters")
    if report["weather"]:
        sentences.append(", ".join(report["weather"]).capitalize())
    if report["clouds"]:
        sentences.append(f"Clouds {', '.join(map(layer, report['clouds']))}")
    elif "vertical_visibility_feet" in report:
        sentences.append(f"Sky obscured, vertical visibility {report['vertical_visibility_feet']} feet")
    elif report.get("sky_clear"):
        sentences.append("No significant clouds")
    return sentences


def layer(cloud: dict) -> str:
    height = "" if cloud["feet"] is None else f" at {cloud['feet']} feet"
    return f"{cloud['amount']} {cloud['type']}".strip() + height


def signed(number: int) -> str:
    return f"minus {-number}" if number < 0 else str(number)
