// Upstream on TypeScript SDK 1.x: Streamable HTTP with sessions, or stdio. Handshake revisions only.

import { randomUUID } from 'node:crypto';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { options, serveHttp } from './shared.mjs';
import { createMcpServer } from './ts1-tools.mjs';

const transports = new Map();

async function openSession() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => transports.set(id, transport),
    onsessionclosed: (id) => transports.delete(id),
  });
  await createMcpServer().connect(transport);
  return transport;
}

async function handle(req, res) {
  const id = req.headers['mcp-session-id'];
  if (id !== undefined && !transports.has(id)) return res.writeHead(404).end();
  // Without an id this is an initialize, or the transport refuses it.
  const transport = transports.get(id) ?? (await openSession());
  return transport.handleRequest(req, res);
}

if (options.stdio) await createMcpServer().connect(new StdioServerTransport());
else serveHttp(handle);
