// The tools, resources and prompts, written against TypeScript SDK 1.x.

import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { answerText, citiesLike, options, question, state, structured, text, workSlowly } from './shared.mjs';

// Every session has its own McpServer; a tool that appears must appear in all of them.
const servers = new Set();

export function createMcpServer() {
  const server = new McpServer({ name: options.name, version: '1.0.0' });
  registerTools(server);
  registerRest(server);
  for (let n = 1; n <= state.grown; n += 1) registerGrown(server, n);
  servers.add(server);
  server.server.onclose = () => servers.delete(server);
  return server;
}

function registerGrown(server, n) {
  server.registerTool(`grown_${n}`, { description: 'A tool that appeared at run time' }, () =>
    text(`I am number ${n}`),
  );
}

function registerTools(server) {
  server.registerTool(
    'echo',
    { description: 'Says what it hears', inputSchema: { text: z.string() } },
    ({ text: heard }) => text(heard),
  );
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers',
      inputSchema: { a: z.number(), b: z.number() },
      outputSchema: { sum: z.number() },
    },
    ({ a, b }) => structured({ sum: a + b }),
  );
  server.registerTool('slow', { description: 'Takes its time', inputSchema: { ms: z.number() } }, ({ ms }, extra) =>
    workSlowly(ms, extra.signal, async (progress, total) => {
      const progressToken = extra._meta?.progressToken;
      if (progressToken === undefined) return;
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total } });
    }),
  );
  server.registerTool('cancelled_count', { description: 'How many slow calls were cancelled' }, () =>
    text(String(state.cancelled)),
  );
  server.registerTool('pid', { description: 'The number of this process' }, () => text(String(process.pid)));
  server.registerTool(
    'ask',
    { description: 'Asks the user', inputSchema: { question: z.string() } },
    async ({ question: message }, extra) => {
      const params = { mode: 'form', message, requestedSchema: question };
      return answerText(await extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema));
    },
  );
  server.registerTool('grow', { description: 'Adds a tool' }, () => {
    state.grown += 1;
    for (const each of servers) registerGrown(each, state.grown);
    return text(`grown_${state.grown}`);
  });
}

function registerRest(server) {
  const { name } = options;
  server.registerResource('welcome', `note://${name}/welcome`, { mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: `Welcome to ${name}` }],
  }));
  server.registerResource(
    'topic',
    new ResourceTemplate(`note://${name}/topics/{topic}`, { list: undefined }),
    { mimeType: 'text/plain' },
    (uri, { topic }) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: `About ${topic}` }] }),
  );
  server.registerPrompt(
    'visit',
    { description: 'Plans a visit', argsSchema: { city: completable(z.string(), citiesLike) } },
    ({ city }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Plan a visit to ${city}` } }] }),
  );
}
