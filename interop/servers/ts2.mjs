// Upstream on TypeScript SDK 2.x, the stateless revision only: Streamable HTTP or stdio.

import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  completable,
  createMcpHandler,
  inputRequired,
  inputResponse,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import {
  answerText,
  citiesLike,
  options,
  question,
  serveHttp,
  state,
  structured,
  text,
  workSlowly,
} from './shared.mjs';

let announce = () => {};

// The SDK wants a fresh server per request, so all state lives outside of it.
function createMcpServer() {
  const capabilities = { tools: { listChanged: true } };
  const server = new McpServer({ name: options.name, version: '1.0.0' }, { capabilities });
  registerTools(server);
  registerRest(server);
  for (let n = 1; n <= state.grown; n += 1) registerGrown(server, n);
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
    { description: 'Says what it hears', inputSchema: z.object({ text: z.string() }) },
    ({ text: heard }) => text(heard),
  );
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => structured({ sum: a + b }),
  );
  server.registerTool(
    'slow',
    { description: 'Takes its time', inputSchema: z.object({ ms: z.number() }) },
    ({ ms }, { mcpReq }) =>
      workSlowly(ms, mcpReq.signal, async (progress, total) => {
        const progressToken = mcpReq._meta?.progressToken;
        if (progressToken === undefined) return;
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total } });
      }),
  );
  server.registerTool('cancelled_count', { description: 'How many slow calls were cancelled' }, () =>
    text(String(state.cancelled)),
  );
  server.registerTool('pid', { description: 'The number of this process' }, () => text(String(process.pid)));
  server.registerTool(
    'ask',
    { description: 'Asks the user', inputSchema: z.object({ question: z.string() }) },
    ({ question: message }, { mcpReq }) => {
      const reply = inputResponse(mcpReq.inputResponses, 'answer');
      if (reply.kind === 'elicit') return answerText(reply);
      return inputRequired({
        inputRequests: { answer: inputRequired.elicit({ message, requestedSchema: question }) },
      });
    },
  );
  server.registerTool('grow', { description: 'Adds a tool' }, () => {
    state.grown += 1;
    announce(server);
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
    { description: 'Plans a visit', argsSchema: z.object({ city: completable(z.string(), citiesLike) }) },
    ({ city }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Plan a visit to ${city}` } }] }),
  );
}

if (options.stdio) {
  // On stdio one server lives as long as the process.
  announce = (server) => registerGrown(server, state.grown);
  serveStdio(createMcpServer, { legacy: 'reject' });
} else {
  const handler = createMcpHandler(createMcpServer, { legacy: 'reject' });
  announce = () => handler.notify.toolsChanged();
  serveHttp(toNodeHandler(handler));
}
