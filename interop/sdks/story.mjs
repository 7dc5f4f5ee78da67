// What every library is asked to do, as a program (see story.py): `node LIBRARY.mjs '{"url": …, "key": …, "kinds": […]}'`.
// A library is {turns(model, questions, stream, asked), structured(model)}; a step that it does not have is undefined.
const ASK = "How is the weather in Paris?";
const AGAIN = "And now in Paris?";
const ROLL = "Please roll.";
export const COUNT = "How many are there?";
export const RAIN = "It rains.";
export const MAX_ROUNDS = 4;

function steps(kind) {
  const found = {
    "own tool, whole": (library, asked) => library.turns(`weather-${kind}`, [ASK, AGAIN], false, asked),
    "own tool, stream": (library, asked) => library.turns(`weather-${kind}`, [ASK, AGAIN], true, asked),
    "agent, stream": (library, asked) => library.turns(`rolls-${kind}`, [ROLL], true, asked),
    "both, stream": (library, asked) => library.turns(`both-${kind}`, [ASK], true, asked),
  };
  found.structured = (library) => library.structured(`counts-${kind}`);
  return found;
}

function classes(error) {
  const found = [];
  for (let one = Object.getPrototypeOf(error); one && one !== Object.prototype; one = Object.getPrototypeOf(one)) {
    found.push(one.constructor.name);
  }
  return [error.name, ...found];
}

async function outcome(library, step) {
  const asked = [];
  try {
    return { came: await step(library, asked), asked };
  } catch (error) {
    return { error: classes(error), message: String(error.message).slice(0, 500), trace: String(error.stack).slice(0, 1500) };
  }
}

export async function run(apis) {
  const { url, key, kinds } = JSON.parse(process.argv[2]);
  const found = {};
  for (const [api, create] of Object.entries(apis)) {
    const library = create(url, key);
    found[api] = { models: { missing: true } };
    const unknown = (one, asked) => one.turns("no-such-model", [ASK], false, asked);
    found[api]["unknown model"] = await outcome(library, unknown);
    for (const kind of kinds) {
      for (const [name, step] of Object.entries(steps(kind))) {
        found[api][`${name} ${kind}`] = await outcome(library, step);
      }
    }
  }
  process.stdout.write(`${JSON.stringify(found)}\n`, () => process.exit(0));
}
