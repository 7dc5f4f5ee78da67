// A gateway with a server of unusual tools, and two agents with different visibility.
import { resolve } from "node:path";

const command = (file: string, ...more: string[]) =>
  JSON.stringify([process.execPath, resolve("tests/servers", file), ...more]);

export const ODD = `servers:
  odd:
    command: ${command("kinds.mjs")}
    trusted: true
    category: oddities
    calibrate: false
    tools:
      every_kind: { approval: never }
      slow: { approval: never, estimated_duration_ms: 700 }
      long: { approval: never, estimated_duration_ms: 5 }
      picture: { approval: never, estimated_duration_ms: 5 }
      fail: { approval: never }
      wipe: { approval: never }
      turncoat: { approval: never }
      turn: { approval: never }
agents:
  clerk:
    description: Does what it is told
    tools: ["*"]
    prompt: "You help {caller_name}, who speaks {language}."
    greeting: "Hello {caller_name}!"
    variables: { language: Latin }
  hasty:
    description: Has no time
    tools: ["odd_*", "roll"]
    budget_tier: fast
default_agent: clerk
`;

export const many = (count: number) => `servers:
  many:
    command: ${command("many.mjs", String(count))}
    calibrate: false
`;

export const HOSTILE = `servers:
  hostile:
    command: ${command("hostile.mjs")}
    calibrate: false
    trusted: true
    trust: { on_finding: flag }
`;
