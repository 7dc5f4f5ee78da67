"""Keeps the bytes of every answer that an official client reads, for checks that the client does not make."""

import json

import httpx2

# Names of events that the gateway adds; comments go by the first.
OURS = (":", "tollgate")


class Tape(httpx2.HTTPTransport):
    def __init__(self):
        super().__init__(verify=False)  # Reading certificates takes longer than a test.
        self.body = bytearray()
        self.headers: dict[str, str] = {}

    def handle_request(self, request):
        response = super().handle_request(request)
        self.body = bytearray()
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=Taped(response.stream, self.body),
            extensions=response.extensions,
        )

    def json(self) -> dict:
        return json.loads(self.body)

    def streamed(self) -> list[tuple[str | None, str]]:
        """Name and data of each event, read by the book; comments as events named `:`."""
        found, name, data = [], None, []
        for line in self.body.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n"):
            if line.startswith(":"):
                found.append((":", line[1:].strip()))
            elif line:
                field, _, value = line.partition(":")
                value = value.removeprefix(" ")
                name = value if field == "event" else name
                data += [value] if field == "data" else []
            else:
                found += [(name, "\n".join(data))] if data else []
                name, data = None, []
        assert not data, "the stream ends in the middle of an event"
        return found

    def events(self) -> list[dict]:
        """The JSON of all events that are the API's own."""
        return [json.loads(data) for name, data in self.streamed() if name not in OURS and data != "[DONE]"]

    def notes(self) -> list[dict]:
        """What the gateway says beside the answer."""
        found = []
        for name, data in self.streamed():
            if name == "tollgate":
                found.append(json.loads(data))
            elif name == ":" and data.startswith("tollgate "):
                found.append(json.loads(data.removeprefix("tollgate ")))
        return found


class Taped(httpx2.SyncByteStream):
    def __init__(self, stream, body: bytearray):
        self.stream, self.body = stream, body

    def __iter__(self):
        for part in self.stream:
            self.body += part
            yield part

    def close(self):
        self.stream.close()
