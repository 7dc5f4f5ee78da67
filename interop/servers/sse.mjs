// Upstream on the transport of 2024-11-05: GET /sse opens the stream, POST /messages talks back.

import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { serveHttp } from './shared.mjs';
import { createMcpServer } from './ts1-tools.mjs';

const transports = new Map();

async function handle(req, res) {
  const url = new URL(req.url, 'http://local');
  if (req.method === 'GET' && url.pathname === '/sse') {
    const transport = new SSEServerTransport('/messages', res);
    transports.set(transport.sessionId, transport);
    res.on('close', () => transports.delete(transport.sessionId));
    return createMcpServer().connect(transport);
  }
  const transport = transports.get(url.searchParams.get('sessionId'));
  if (req.method === 'POST' && url.pathname === '/messages' && transport) return transport.handlePostMessage(req, res);
  return res.writeHead(url.pathname === '/sse' ? 405 : 404).end();
}

serveHttp(handle, '/sse');
