// Client on TypeScript SDK 2.x: the stateless revision, the handshake, or whichever the server speaks.

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Heard, readOptions, runSteps } from './steps.mjs';

const MODERN = '2026-07-28';
const target = readOptions();
const heard = new Heard();
const mode = { legacy: 'legacy', modern: { pin: MODERN }, auto: 'auto' }[target.era];

function transport() {
  if (target.command) {
    const [command, ...args] = target.command;
    return new StdioClientTransport({ command, args });
  }
  const url = new URL(target.url);
  return url.pathname.endsWith('/sse') ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}

const client = new Client(
  { name: 'interop-ts2', version: '1.0.0' },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode } },
);
client.setRequestHandler('elicitation/create', (request) => heard.reply(request.params.message));
client.setNotificationHandler('notifications/tools/list_changed', () => heard.toolsChanged.fire());
client.setNotificationHandler('notifications/resources/updated', () => heard.resourceUpdated.fire());

await client.connect(transport());
const protocol = client.getNegotiatedProtocolVersion() ?? '';
const modern = protocol >= MODERN;
const peer = {
  client,
  protocol,
  callTool: (each, params, options) => each.callTool(params, options),
  async watchTools() {
    // On the handshake revisions changes come unasked.
    if (modern) await client.listen({ toolsListChanged: true });
  },
  watchResource: (uri) =>
    modern ? client.listen({ resourceSubscriptions: [uri] }) : client.subscribeResource({ uri }),
};
await runSteps(peer, heard, target.steps);
await client.close();
