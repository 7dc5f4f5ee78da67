// @openai/agents-realtime: holds the talk that the argument describes, and says on a line what it heard.
import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession, tool } from "@openai/agents-realtime";

const talk = JSON.parse(process.argv[2]);
const heard = { said: [], calls: [], errors: [], kinds: [], tools: [], audio: [], raw: "", closed: null };
const lights = tool({
  name: talk.lights.name,
  description: talk.lights.description,
  parameters: { ...talk.lights.parameters, additionalProperties: false },
  strict: false,
  execute: () => {
    heard.calls.push("lights");
    return talk.on;
  },
});
const agent = new RealtimeAgent({ name: "caller", instructions: talk.instructions ?? "", tools: [lights] });
const url = `${talk.url.replace(/^http/, "ws")}/v1/realtime?model=${talk.model}`;
const transport = new OpenAIRealtimeWebSocket({ url });
const session = new RealtimeSession(agent, { transport, model: talk.model });

let done = false;
function finish() {
  if (done) return;
  done = true;
  process.stdout.write(`${JSON.stringify(heard)}\n`, () => process.exit(0));
}

let next = 0;
let before = { said: 0, kinds: 0 };
function begin() {
  const step = talk.steps[next];
  if (step?.say) session.sendMessage(step.say);
  if (step?.audio) session.sendAudio(new TextEncoder().encode(step.audio).buffer);
  if (step?.encoded) session.sendAudio(new Uint8Array(Buffer.from(step.encoded, "base64")).buffer);
  if (step?.send) transport.sendEvent(step.send);
}
function isMet({ until, seen }) {
  if (until) return heard.said.slice(before.said).some((said) => said.includes(until));
  return !seen || heard.kinds.slice(before.kinds).includes(seen);
}
function go() {
  while (next < talk.steps.length && isMet(talk.steps[next])) {
    before = { said: heard.said.length, kinds: heard.kinds.length };
    next += 1;
    begin();
  }
  if (next >= talk.steps.length) finish();
}

session.on("error", ({ error }) => heard.errors.push(error?.error?.code ?? error?.code ?? String(error?.message ?? error)));
transport.on("connection_change", (status) => {
  if (status === "disconnected") {
    heard.closed = [0, ""];
    finish();
  }
});
transport.on("*", (event) => {
  heard.kinds.push(event.type);
  if (!event.delta || event.delta.length < 1000) heard.raw += JSON.stringify(event);
  if (event.type === "session.updated") heard.tools = event.session.tools.map((found) => found.name);
  if (event.type === "response.output_audio.delta" && event.delta.length < 1000) {
    const text = Buffer.from(event.delta, "base64").toString();
    heard.audio.push({ at: performance.now() / 1000, response: event.response_id, text });
  }
  if (event.type === "response.output_audio_transcript.done") heard.said.push(event.transcript);
  if (next < talk.steps.length) setTimeout(go, 0);
});
await session.connect({ apiKey: talk.key, url });
begin();
