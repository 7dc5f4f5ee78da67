// Sample calls for tests.
import type { Call } from "../../api/types";

let count = 0;

export function sampleCall(more: Partial<Call> = {}): Call {
  count += 1;
  return {
    id: `call-${count}`,
    turn: "turn",
    within: null,
    at: "2026-11-15T10:00:00.100Z",
    principal: "key:phone",
    agent: "sage",
    probe: false,
    method: "tools/call",
    name: "desk_say",
    server: "desk",
    tool: "say",
    tier: "fast",
    outcome: "ok",
    detail: null,
    cached: false,
    duration_ms: 50,
    result_bytes: 10,
    turn_began: "2026-11-15T10:00:00.000Z",
    deadline_ms: 500,
    steps: [],
    ...more,
  };
}
