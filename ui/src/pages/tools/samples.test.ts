import { describe, expect, it } from "vitest";
import { chartData, lowest } from "./samples";

const ceilings = { fast_ms: 500, standard_ms: 1500, deep_ms: 4000 };

describe("samples on a logarithmic scale", () => {
  it("separate failed calls and never fall below the scale", () => {
    const samples = [
      { took_ms: 0, ok: true },
      { took_ms: 900, ok: false },
    ];
    expect(chartData(samples, ceilings)).toEqual([
      [1, 2],
      [0.01, null],
      [null, 900],
      [500, 500],
      [1500, 1500],
      [4000, 4000],
    ]);
    expect(lowest(samples, ceilings)).toBe(0.01);
  });

  it("have ceiling lines even for one call or none", () => {
    expect(chartData([{ took_ms: 5, ok: true }], ceilings)[1]).toEqual([5, null]);
    expect(chartData([], ceilings)[3]).toEqual([500, 500]);
    expect(lowest([], ceilings)).toBe(500);
  });
});
