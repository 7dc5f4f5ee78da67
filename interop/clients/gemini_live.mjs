// Gemini Live with @google/genai: says what its one argument lists, and prints what it heard.
// The argument is {url, key, model, config, answers: {function: response}, steps: [{say | audio, turns}]}.
import { GoogleGenAI } from "@google/genai";

const asked = JSON.parse(process.argv[2]);
const client = new GoogleGenAI({ apiKey: asked.key, httpOptions: { baseUrl: asked.url } });
const heard = { turns: [], calls: [], cancelled: [], kinds: [], closed: null };
let turn = { text: "", transcript: "", input: "", interrupted: false };
let wake = () => {};
let session = null;

function end() {
  console.log(JSON.stringify(heard));
  process.exit(0);
}

function onmessage(message) {
  heard.kinds.push(...Object.keys(message).filter((key) => message[key] !== undefined));
  const content = message.serverContent;
  if (content) {
    for (const part of content.modelTurn?.parts ?? []) {
      turn.text += Buffer.from(part.inlineData?.data ?? "", "base64").toString();
    }
    turn.transcript += content.outputTranscription?.text ?? "";
    turn.input += content.inputTranscription?.text ?? "";
    turn.interrupted ||= content.interrupted ?? false;
    if (content.turnComplete) {
      heard.turns.push(turn);
      turn = { text: "", transcript: "", input: "", interrupted: false };
    }
  }
  for (const call of message.toolCall?.functionCalls ?? []) {
    heard.calls.push({ name: call.name, args: call.args });
    const response = asked.answers[call.name];
    if (response) {
      session.sendToolResponse({ functionResponses: [{ id: call.id, name: call.name, response }] });
    }
  }
  heard.cancelled.push(...(message.toolCallCancellation?.ids ?? []));
  wake();
}

session = await client.live.connect({
  model: asked.model,
  config: asked.config,
  callbacks: {
    onmessage,
    onerror: () => {},
    onclose: (event) => {
      heard.closed ??= [event.code, event.reason];
      // The package waits for ever for a session that is refused.
      if (session === null) end();
      wake();
    },
  },
});
for (const step of asked.steps) {
  const wanted = heard.turns.length + (step.turns ?? 1);
  if (step.say !== undefined) {
    session.sendRealtimeInput({ text: step.say });
  } else if (step.audio !== undefined) {
    const data = Buffer.from(step.audio).toString("base64");
    session.sendRealtimeInput({ audio: { data, mimeType: "audio/pcm;rate=16000" } });
    session.sendRealtimeInput({ audioStreamEnd: true });
  } else if (step.encoded !== undefined) {
    session.sendRealtimeInput({ audio: { data: step.encoded, mimeType: "audio/pcm;rate=16000" } });
  }
  while (heard.turns.length < wanted && heard.closed === null) {
    await new Promise((resolve) => (wake = resolve));
  }
}
end();
