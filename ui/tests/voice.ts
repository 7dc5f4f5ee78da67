// A fake realtime provider: it opens sessions, acknowledges updates, and says a word when it is asked.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
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
      accept(request, socket);
      say(socket, { type: "session.created", event_id: "e1", session: SESSION });
      listen(socket, ({ type, session }) => {
        const updated = { ...SESSION, ...(session as object) };
        if (type === "session.update") say(socket, { type: "session.updated", session: updated });
        if (type === "response.create") answer(socket);
      });
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

/** Completes the opening handshake. */
export function accept(request: IncomingMessage, socket: Duplex) {
  const key = `${request.headers["sec-websocket-key"]}${GUID}`;
  const proof = createHash("sha1").update(key).digest("base64");
  const head = ["HTTP/1.1 101 Switching Protocols", "upgrade: websocket", "connection: upgrade"];
  socket.write(`${head.join("\r\n")}\r\nsec-websocket-accept: ${proof}\r\n\r\n`);
  socket.on("error", () => socket.destroy());
}

/** Calls `heard` with every text message, which is JSON. */
export function listen(
  socket: Duplex,
  heard: (event: { type: string; session?: unknown }) => void,
) {
  let rest = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (let frame = next(rest); frame; frame = next(rest)) {
      rest = rest.subarray(frame.end);
      if (frame.code === 8) socket.end();
      if (frame.code === 1) heard(JSON.parse(frame.text));
    }
  });
}

/** A tenth of a second of audio, counted as OpenAI does. */
function answer(socket: Duplex) {
  const response = { id: "resp_1", object: "realtime.response", conversation_id: "conv_1" };
  const running = { ...response, status: "in_progress", output: [], usage: null };
  say(socket, { type: "response.created", event_id: "e2", response: running });
  const place = { response_id: "resp_1", item_id: "item_1", output_index: 0, content_index: 0 };
  const delta = Buffer.alloc(4800, 7).toString("base64");
  say(socket, { type: "response.output_audio.delta", event_id: "e3", ...place, delta });
  const usage = {
    total_tokens: 100,
    input_tokens: 70,
    output_tokens: 30,
    input_token_details: { text_tokens: 30, audio_tokens: 40, cached_tokens: 0 },
    output_token_details: { text_tokens: 10, audio_tokens: 20 },
  };
  const done = { ...response, status: "completed", output: [], usage };
  say(socket, { type: "response.done", event_id: "e4", response: done });
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

export function say(socket: Duplex, event: object) {
  const text = Buffer.from(JSON.stringify(event));
  const head = Buffer.from([0x81, 126, text.length >> 8, text.length & 255]);
  socket.write(Buffer.concat([head, text]));
}
