// A fake provider of calls over WebRTC, as strict as OpenAI about requests. A second page of the browser is its end
// of the media, so that the connection and its data channel are real.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { accept, listen, say } from "./voice";

const KEY = "sk-of-the-provider";

export interface Event {
  type: string;
  [key: string]: unknown;
}

export class CallProvider {
  /** Requests that were accepted, and the status of others. */
  readonly requests: string[] = [];
  /** Of the session with which the call was created. */
  readonly sessions: Record<string, unknown>[] = [];
  readonly received: Event[] = [];
  private sideband?: Duplex;
  private readonly calls = new Map<string, Record<string, unknown>>();

  private constructor(
    private readonly server: Server,
    private readonly answer: (offer: string) => Promise<string>,
    readonly key = KEY,
  ) {}

  /** `answer` makes the SDP answer. */
  static async start(answer: (offer: string) => Promise<string>): Promise<CallProvider> {
    const server = createServer();
    const provider = new CallProvider(server, answer);
    server.on("request", (request, response) => void provider.handle(request, response));
    server.on("upgrade", (request, socket: Duplex) => provider.attach(request, socket));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  /** Sends an event on the sideband. */
  say(event: Event) {
    if (!this.sideband) throw new Error("there is no sideband");
    say(this.sideband, event);
  }

  /** As at the end of a call. */
  endSideband() {
    this.sideband?.write(Buffer.from([0x88, 2, 0x03, 0xe8]));
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async handle(request: IncomingMessage, response: ServerResponse) {
    const path = request.url ?? "";
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const refuse = (status: number, code: string) => {
      this.requests.push(`${path} ${status} ${code}`);
      response.writeHead(status, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ error: { type: "invalid_request_error", code, message: code } }),
      );
    };
    if (request.headers.authorization !== `Bearer ${KEY}`) return refuse(401, "invalid_api_key");
    const [, id, verb] = /^\/v1\/realtime\/calls\/([^/]+)\/(\w+)$/.exec(path) ?? [];
    if (id !== undefined && verb === "hangup") {
      if (!this.calls.delete(id)) return refuse(404, "call_id_not_found");
      this.requests.push(path);
      return response.writeHead(200).end();
    }
    if (path !== "/v1/realtime/calls") return refuse(404, "not_found");
    const type = request.headers["content-type"] ?? "";
    if (!type.startsWith("multipart/form-data")) return refuse(400, "invalid_form");
    const form = await new Response(body, { headers: { "content-type": type } }).formData();
    if ([...form.keys()].sort().join() !== "sdp,session") return refuse(400, "invalid_form");
    const session = JSON.parse(String(form.get("session")));
    if (session.type !== "realtime" || !session.model) return refuse(400, "missing_parameter");
    const call = `rtc_u0_${this.calls.size + 1}`;
    this.calls.set(call, session);
    this.sessions.push(session);
    this.requests.push(path);
    const sdp = await this.answer(String(form.get("sdp")));
    const location = `/v1/realtime/calls/${call}`;
    response.writeHead(201, { "content-type": "application/sdp", location }).end(sdp);
  }

  private attach(request: IncomingMessage, socket: Duplex) {
    const call = new URL(request.url ?? "", "http://x").searchParams.get("call_id") ?? "";
    const session = this.calls.get(call);
    if (!session || request.headers.authorization !== `Bearer ${KEY}`) {
      socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    accept(request, socket);
    this.sideband = socket;
    this.say({ type: "session.created", event_id: "event_1", session });
    listen(socket, (event) => {
      this.received.push(event);
      if (event.type !== "session.update") return;
      this.say({ type: "session.updated", session: { ...session, ...(event.session as object) } });
    });
  }
}
