// LangChain for JavaScript: ChatOpenAI of @langchain/openai, with both APIs.
import { AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { COUNT, MAX_ROUNDS, RAIN, run } from "./story.mjs";

const Count = z.object({ total: z.number().int() });

async function answer(bound, history, stream) {
  if (!stream) return bound.invoke(history);
  let whole;
  for await (const chunk of await bound.stream(history)) whole = whole ? whole.concat(chunk) : chunk;
  return whole ?? new AIMessageChunk("");
}

function library(client) {
  return {
    async turns(name, questions, stream, asked) {
      const weather = tool(
        ({ city }) => {
          asked.push(city);
          return RAIN;
        },
        { name: "get_weather", description: "The weather of a city", schema: z.object({ city: z.string() }) },
      );
      const bound = client(name).bindTools([weather]);
      const history = [];
      const said = [];
      for (const question of questions) {
        history.push(new HumanMessage(question));
        for (let round = 0; ; round += 1) {
          if (round === MAX_ROUNDS) throw new Error("it calls for ever");
          const message = await answer(bound, history, stream);
          history.push(message);
          if (!message.tool_calls.length) {
            said.push(message.text);
            break;
          }
          for (const call of message.tool_calls) {
            history.push(new ToolMessage({ content: await weather.invoke(call.args), tool_call_id: call.id }));
          }
        }
      }
      return said;
    },
    structured: (name) => client(name).withStructuredOutput(Count, { name: "count", method: "jsonSchema" }).invoke(COUNT),
  };
}

function openai(url, apiKey, more) {
  return (model) => new ChatOpenAI({ model, apiKey, configuration: { baseURL: `${url}/v1` }, maxRetries: 0, ...more });
}

await run({
  chat: (url, key) => library(openai(url, key, {})),
  responses: (url, key) => library(openai(url, key, { useResponsesApi: true, zdrEnabled: true })),
});
