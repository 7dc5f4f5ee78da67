// A fake realtime provider: it opens sessions, acknowledges updates, and sends nothing else.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const SESSION = { id: "sess_1", object: "realtime.session", type: "realtime", model: "voice" };

export class Voice {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<Voice> {
    const server = createServer();
    server.on("upgrade", (request, socket: Duplex) => {
      const key = `${request.headers["sec-websocket-key"]}${GUID}`;
      const accept = createHash("sha1").update(key).digest("base64");
      const head = [
        "HTTP/1.1 101 Switching Protocols",
        "upgrade: websocket",
        "connection: upgrade",
      ];
      socket.write(`${head.join("\r\n")}\r\nsec-websocket-accept: ${accept}\r\n\r\n`);
      socket.on("error", () => socket.destroy());
      say(socket, { type: "session.created", event_id: "e1", session: SESSION });
      listen(socket);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Voice(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

function listen(socket: Duplex) {
  let rest = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (let frame = next(rest); frame; frame = next(rest)) {
      rest = rest.subarray(frame.end);
      if (frame.code === 8) socket.end();
      if (frame.code !== 1) continue;
      const { type, session } = JSON.parse(frame.text);
      const updated = { ...SESSION, ...session };
      if (type === "session.update") say(socket, { type: "session.updated", session: updated });
    }
  });
}

/** Decodes the first complete frame; client frames are masked. */
function next(bytes: Buffer): { code: number; text: string; end: number } | undefined {
  if (bytes.length < 2) return undefined;
  const code = (bytes[0] ?? 0) & 15;
  const short = (bytes[1] ?? 0) & 127;
  const wide = short === 126 ? 2 : short === 127 ? 8 : 0;
  if (bytes.length < 2 + wide + 4) return undefined;
  const length = wide === 2 ? bytes.readUInt16BE(2) : wide === 8 ? bytes.readUInt32BE(6) : short;
  const mask = bytes.subarray(2 + wide, 6 + wide);
  const end = 6 + wide + length;
  if (bytes.length < end) return undefined;
  const said = Buffer.from(
    bytes.subarray(6 + wide, end).map((byte, at) => byte ^ (mask[at % 4] ?? 0)),
  );
  return { code, text: said.toString(), end };
}

function say(socket: Duplex, event: object) {
  const text = Buffer.from(JSON.stringify(event));
  const head = Buffer.from([0x81, 126, text.length >> 8, text.length & 255]);
  socket.write(Buffer.concat([head, text]));
}
