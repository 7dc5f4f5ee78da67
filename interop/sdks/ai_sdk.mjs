// Vercel's AI SDK: `ai` with @ai-sdk/openai (both APIs), @ai-sdk/openai-compatible, @ai-sdk/anthropic and @ai-sdk/google.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { COUNT, MAX_ROUNDS, RAIN, run } from "./story.mjs";

const Count = z.object({ total: z.number().int() });

function library(model, providerOptions = {}) {
  return {
    async turns(name, questions, stream, asked) {
      const get_weather = tool({
        description: "The weather of a city",
        inputSchema: z.object({ city: z.string() }),
        execute: ({ city }) => {
          asked.push(city);
          return RAIN;
        },
      });
      const messages = [];
      const said = [];
      for (const question of questions) {
        messages.push({ role: "user", content: question });
        const given = { model: model(name), messages, tools: { get_weather }, stopWhen: isStepCount(MAX_ROUNDS) };
        const more = { maxRetries: 0, providerOptions };
        const done = stream ? await streamed({ ...given, ...more }) : await generateText({ ...given, ...more });
        said.push(await done.text);
        messages.push(...(await done.responseMessages));
      }
      return said;
    },
    async structured(name) {
      const output = Output.object({ schema: Count });
      return (await generateText({ model: model(name), prompt: COUNT, output, maxRetries: 0, providerOptions })).output;
    },
  };
}

async function streamed(given) {
  let failure;
  const done = streamText({ ...given, onError: ({ error }) => (failure = error) });
  await done.consumeStream();
  if (failure) throw failure;
  return done;
}

await run({
  responses: (url, apiKey) => {
    const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey });
    return library((name) => openai.responses(name), { openai: { store: false } });
  },
  chat: (url, apiKey) => {
    const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey });
    return library((name) => openai.chat(name));
  },
  "chat, compatible": (url, apiKey) => {
    const names = { name: "tollgate", supportsStructuredOutputs: true, includeUsage: true };
    return library(createOpenAICompatible({ ...names, baseURL: `${url}/v1`, apiKey }));
  },
  anthropic: (url, apiKey) => library(createAnthropic({ baseURL: `${url}/v1`, apiKey })),
  gemini: (url, apiKey) => library(createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey })),
});
