// Client on TypeScript SDK 1.x: always the initialize handshake.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Heard, readOptions, runSteps } from './steps.mjs';

const target = readOptions();
const heard = new Heard();

function transport() {
  if (target.command) {
    const [command, ...args] = target.command;
    return new StdioClientTransport({ command, args });
  }
  const url = new URL(target.url);
  return url.pathname.endsWith('/sse') ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}

const client = new Client({ name: 'interop-ts1', version: '1.0.0' }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, (request) => heard.reply(request.params.message));
client.setNotificationHandler(ToolListChangedNotificationSchema, () => heard.toolsChanged.fire());
client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => heard.resourceUpdated.fire());

const wire = transport();
await client.connect(wire);
const peer = {
  client,
  protocol: wire.protocolVersion ?? client.getNegotiatedProtocolVersion?.() ?? '',
  callTool: (each, params, options) => each.callTool(params, undefined, options),
  watchTools: async () => {}, // Changes come unasked on the stream of the session.
  watchResource: (uri) => client.subscribeResource({ uri }),
};
await runSteps(peer, heard, target.steps);
await wire.terminateSession?.();
await client.close();
