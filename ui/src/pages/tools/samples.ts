// Latency samples as chart data. A logarithmic scale has no zero.
import type uPlot from "uplot";
import type { ToolDetail } from "../../api/types";

/** Milliseconds; faster calls are drawn at this value. */
const MIN_MS = 0.01;

type Ceilings = ToolDetail["ceilings"];
type Samples = ToolDetail["samples"];

/** Series by call number: succeeded, failed, and the three ceilings. */
export function chartData(samples: Samples, ceilings: Ceilings): uPlot.AlignedData {
  // A line needs two points, even for a single call.
  const positions = samples.length > 1 ? samples.map((_, at) => at + 1) : [1, 2];
  const took = (at: number, ok: boolean) => {
    const sample = samples[at];
    return sample && sample.ok === ok ? Math.max(sample.took_ms, MIN_MS) : null;
  };
  return [
    positions,
    positions.map((_, at) => took(at, true)),
    positions.map((_, at) => took(at, false)),
    positions.map(() => ceilings.fast_ms),
    positions.map(() => ceilings.standard_ms),
    positions.map(() => ceilings.deep_ms),
  ];
}

export function lowest(samples: Samples, ceilings: Ceilings): number {
  const all = samples.map((it) => Math.max(it.took_ms, MIN_MS));
  return Math.min(ceilings.fast_ms, ...all);
}
