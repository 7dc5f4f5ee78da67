// openai/realtime/ws: holds the talk that the argument describes, and says on a line what it heard.
import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";

const talk = JSON.parse(process.argv[2]);
const heard = { said: [], calls: [], errors: [], kinds: [], tools: [], audio: [], raw: "", closed: null };
const client = new OpenAI({ apiKey: talk.key, baseURL: `${talk.url}/v1` });
const realtime = new OpenAIRealtimeWS({ model: talk.model }, client);

let done = false;
function finish() {
  if (done) return;
  done = true;
  process.stdout.write(`${JSON.stringify(heard)}\n`, () => process.exit(0));
}

let next = 0;
let before = { said: 0, kinds: 0 };
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

function begin() {
  const step = talk.steps[next];
  if (!step) return;
  if (step.say) {
    const content = [{ type: "input_text", text: step.say }];
    realtime.send({ type: "conversation.item.create", item: { type: "message", role: "user", content } });
    realtime.send({ type: "response.create" });
  }
  if (step.audio) {
    realtime.send({ type: "input_audio_buffer.append", audio: Buffer.from(step.audio).toString("base64") });
  }
  if (step.encoded) realtime.send({ type: "input_audio_buffer.append", audio: step.encoded });
  if (step.send) realtime.send(step.send);
}

realtime.socket.on("open", () => {
  const session = { type: "realtime", tools: [talk.lights], audio: { input: { transcription: { model: "whisper-1" } } } };
  if (talk.instructions) session.instructions = talk.instructions;
  realtime.send({ type: "session.update", session });
  begin();
});
realtime.socket.on("close", (code, reason) => {
  heard.closed = [code, String(reason)];
  finish();
});
realtime.on("error", (error) => heard.errors.push(error.error?.code ?? String(error)));
realtime.on("event", (event) => {
  heard.kinds.push(event.type);
  if (!event.delta || event.delta.length < 1000) heard.raw += JSON.stringify(event);
  if (event.type === "session.updated") heard.tools = event.session.tools.map((tool) => tool.name);
  if (event.type === "response.output_audio.delta" && event.delta.length < 1000) {
    const text = Buffer.from(event.delta, "base64").toString();
    heard.audio.push({ at: performance.now() / 1000, response: event.response_id, text });
  }
  if (event.type === "response.output_audio_transcript.done") heard.said.push(event.transcript);
  if (event.type === "response.done" && event.response.status === "completed") {
    const calls = event.response.output.filter((item) => item.type === "function_call");
    for (const { name, call_id } of calls) {
      heard.calls.push(name);
      realtime.send({ type: "conversation.item.create", item: { type: "function_call_output", call_id, output: talk.on } });
    }
    if (calls.length > 0) realtime.send({ type: "response.create" });
  }
  go();
});
