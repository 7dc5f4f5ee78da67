// openai for JavaScript: a request on each line of standard input, what became of it on a line of standard output.
// A request is {url, key, headers, api: "chat" | "responses", model, history, tools, stream, more}.
import { createInterface } from "node:readline";
import OpenAI from "openai";

function tools(asked) {
  return asked.tools.length > 0 ? { tools: asked.tools } : {};
}

async function chat(client, asked) {
  const body = { model: asked.model, messages: asked.history, ...tools(asked), ...asked.more };
  let told = null;
  let done;
  if (asked.stream) {
    const events = client.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
    events.on("chunk", (chunk) => (told = chunk.tollgate ?? told));
    done = await events.finalChatCompletion();
  } else {
    done = await client.chat.completions.create(body);
    told = done.tollgate ?? null;
  }
  const { message, finish_reason } = done.choices[0];
  const native = { role: "assistant", content: message.content };
  if (message.tool_calls?.length) {
    native.tool_calls = message.tool_calls.map(({ id, type, function: { name, arguments: given } }) => ({
      id,
      type,
      function: { name, arguments: given },
    }));
  }
  return {
    text: message.refusal ?? message.content ?? "",
    calls: (native.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function })),
    finish: message.refusal ? "refusal" : finish_reason,
    usage: [done.usage.prompt_tokens, done.usage.completion_tokens],
    told,
    native: [native],
  };
}

async function responses(client, asked) {
  const body = { model: asked.model, input: asked.history, store: false, ...tools(asked), ...asked.more };
  const done = asked.stream
    ? await client.responses.stream(body).finalResponse()
    : await client.responses.create(body);
  const calls = done.output.filter((item) => item.type === "function_call");
  const refusal = done.output.flatMap((item) => item.content ?? []).find((part) => part.type === "refusal");
  return {
    text: refusal?.refusal ?? done.output_text,
    calls: calls.map((call) => ({ id: call.call_id, name: call.name, arguments: call.arguments })),
    finish: refusal ? "refusal" : done.status === "incomplete" ? "length" : calls.length > 0 ? "calls" : "stop",
    usage: [done.usage.input_tokens, done.usage.output_tokens],
    told: done.tollgate ?? null,
    native: done.output.map(({ parsed_arguments, ...item }) => item),
  };
}

async function answer(asked) {
  let headers = {};
  const client = new OpenAI({
    baseURL: asked.url,
    apiKey: asked.key,
    defaultHeaders: asked.headers,
    maxRetries: 0,
    fetch: async (...request) => {
      const got = await fetch(...request);
      headers = Object.fromEntries(got.headers);
      return got;
    },
  });
  try {
    const said = await { chat, responses }[asked.api](client, asked);
    return { ...said, headers };
  } catch (error) {
    const { status = null, code = null, message } = error;
    return { error: { class: error.constructor.name, status, code, message, headers } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
