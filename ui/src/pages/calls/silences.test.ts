import { expect, test } from "vitest";
import type { Silence } from "../../api/types";
import { describeSilence } from "./silences";

const silence: Silence = {
  at: "2027-01-31T12:00:00Z",
  turn: 1,
  silence_ms: 1200,
  model_ms: 900,
  tool_ms: 300,
  network_ms: 0,
  gateway_ms: 0,
  hangover_ms: null,
  segments: [],
};

test("a silence is described by the parts that it has", () => {
  expect(describeSilence(silence)).toBe("model 900 ms, tool 300 ms");
  expect(describeSilence({ ...silence, tool_ms: 0, hangover_ms: 480 })).toBe(
    "model 900 ms, end of speech after 480 ms",
  );
});
