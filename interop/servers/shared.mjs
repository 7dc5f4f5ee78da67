// What the TypeScript servers have in common: arguments, state, and the slow tool.

import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

export const { values: options } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    name: { type: 'string', default: 'server' },
    stdio: { type: 'boolean', default: false },
  },
});

export const CITIES = ['paris', 'parma', 'prague', 'rome'];
export const citiesLike = (start) => CITIES.filter((city) => city.startsWith(start));

// One process is one server, however many sessions or requests it has.
export const state = { cancelled: 0, grown: 0 };

export const text = (value) => ({ content: [{ type: 'text', text: value }] });
export const structured = (value) => ({ ...text(JSON.stringify(value)), structuredContent: value });
export const question = {
  type: 'object',
  properties: { answer: { type: 'string', description: 'Your answer' } },
  required: ['answer'],
};
export const answerText = (reply) =>
  text(reply.action === 'accept' ? `You said: ${reply.content?.answer}` : `No answer: ${reply.action}`);

// Works in ten steps, reports each, and counts the calls that were cancelled on the way.
export async function workSlowly(ms, signal, report) {
  const onAbort = () => (state.cancelled += 1);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (let step = 1; step <= 10 && !signal.aborted; step += 1) {
      await new Promise((resolve) => setTimeout(resolve, ms / 10));
      if (!signal.aborted) await report(step, 10);
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  return text(`Worked for ${ms} ms`);
}

export function serveHttp(handle, path = '/mcp') {
  const server = createServer((req, res) => {
    Promise.resolve(handle(req, res)).catch((error) => {
      console.error(error);
      if (!res.headersSent) res.writeHead(500);
      res.end();
    });
  });
  server.listen(Number(options.port), '127.0.0.1', () => {
    console.log(`${options.name} is ready on http://127.0.0.1:${server.address().port}${path}`);
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));
}
