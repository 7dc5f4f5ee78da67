// The script of steps, for both generations of the TypeScript SDK. See README.md for the steps.
// What differs between them (connecting, watching, argument shapes) is in the `peer` that ts1.mjs and ts2.mjs make.

import { parseArgs } from 'node:util';

export function readOptions() {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      command: { type: 'string' },
      era: { type: 'string', default: 'auto' },
      steps: { type: 'string' },
    },
  });
  return {
    ...values,
    command: values.command && JSON.parse(values.command),
    steps: JSON.parse(values.steps),
  };
}

// Something that happens now and then, and that a step can wait for.
class Signal {
  #happened = false;
  #waiting = [];

  fire() {
    this.#happened = true;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  forget() {
    this.#happened = false;
  }

  async wait(ms) {
    if (!this.#happened) await within(ms, new Promise((resolve) => this.#waiting.push(resolve)));
    this.#happened = false;
    return { heard: true };
  }
}

// Filled by callbacks while steps run.
export class Heard {
  questions = [];
  answer = undefined;
  toolsChanged = new Signal();
  resourceUpdated = new Signal();

  reply(message) {
    this.questions.push(message);
    return this.answer ?? { action: 'decline' };
  }
}

function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function everyPage(fetch, key) {
  const items = [];
  let cursor;
  do {
    const page = await fetch(cursor === undefined ? {} : { cursor });
    items.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}

async function call({ client, callTool }, heard, step) {
  const progress = [];
  const stop = new AbortController();
  heard.questions.length = 0;
  heard.answer = step.answer;
  const running = callTool(
    client,
    { name: step.name, arguments: step.arguments ?? {} },
    { signal: stop.signal, onprogress: (report) => progress.push([report.progress, report.total]) },
  );
  if (step.cancel_after_ms !== undefined) {
    const ended = running.catch(() => {});
    // As soon as it surely runs: it has told how far it is.
    const latest = Date.now() + step.cancel_after_ms;
    while (progress.length === 0 && Date.now() < latest) await new Promise((resolve) => setTimeout(resolve, 20));
    stop.abort();
    await ended;
    return { cancelled: stop.signal.aborted, progress };
  }
  const result = await running;
  return { result, progress, questions: [...heard.questions] };
}

// Runs the inner step and waits until the number that a tool tells has become larger.
async function countRises(peer, heard, step) {
  const number = async () => Number((await peer.callTool(peer.client, { name: step.name })).content[0].text);
  const before = await number();
  const during = await runStep(peer, heard, step.during);
  while ((await number()) <= before) await new Promise((resolve) => setTimeout(resolve, 50));
  return { rose: true, during };
}

async function runStep(peer, heard, step) {
  const { client } = peer;
  switch (step.do) {
    case 'list_tools':
      return { tools: await everyPage((page) => client.listTools(page), 'tools') };
    case 'call':
      return call(peer, heard, step);
    case 'list_resources':
      return { resources: await everyPage((page) => client.listResources(page), 'resources') };
    case 'list_templates':
      return { templates: await everyPage((page) => client.listResourceTemplates(page), 'resourceTemplates') };
    case 'read':
      return { contents: (await client.readResource({ uri: step.uri })).contents };
    case 'list_prompts':
      return { prompts: await everyPage((page) => client.listPrompts(page), 'prompts') };
    case 'prompt':
      return { messages: (await client.getPrompt({ name: step.name, arguments: step.arguments })).messages };
    case 'complete': {
      const ref = { type: 'ref/prompt', name: step.prompt };
      return { values: (await client.complete({ ref, argument: step.argument })).completion.values };
    }
    case 'count_rises':
      return countRises(peer, heard, step);
    case 'watch_tools':
      heard.toolsChanged.forget();
      await peer.watchTools();
      return {};
    case 'watch_resource':
      await peer.watchResource(step.uri);
      return {};
    case 'wait_tools_changed':
      return heard.toolsChanged.wait(step.timeout_ms ?? 5000);
    case 'wait_resource_updated':
      return heard.resourceUpdated.wait(step.timeout_ms ?? 5000);
    default:
      throw new Error(`unknown step ${step.do}`);
  }
}

// Runs the steps in turn; a failing one is recorded and the next one still runs.
export async function runSteps(peer, heard, steps) {
  const seen = [];
  for (const step of steps) {
    try {
      seen.push(await within(step.limit_ms ?? 10_000, runStep(peer, heard, step)));
    } catch (error) {
      seen.push({ error: { code: error.code ?? null, message: String(error.message), type: error.constructor.name } });
    }
  }
  console.log(JSON.stringify({ protocol: peer.protocol, steps: seen }));
}
