// Latency samples as chart data. A logarithmic scale has no zero.
import type uPlot from "uplot";
import type { ToolDetail } from "../../api/types";

/** Milliseconds; faster calls are drawn at this value. */
const LEAST = 0.01;

type Ceilings = ToolDetail["ceilings"];
type Samples = ToolDetail["samples"];

/** Series by call number: succeeded, failed, and the three ceilings. */
export function chartData(samples: Samples, ceilings: Ceilings): uPlot.AlignedData {
  // A line needs two points, even for a single call.
  const places = samples.length > 1 ? samples.map((_, at) => at + 1) : [1, 2];
  const took = (at: number, ok: boolean) => {
    const sample = samples[at];
    return sample && sample.ok === ok ? Math.max(sample.took_ms, LEAST) : null;
  };
  return [
    places,
    places.map((_, at) => took(at, true)),
    places.map((_, at) => took(at, false)),
    places.map(() => ceilings.fast_ms),
    places.map(() => ceilings.standard_ms),
    places.map(() => ceilings.deep_ms),
  ];
}

export function lowest(samples: Samples, ceilings: Ceilings): number {
  const all = samples.map((it) => Math.max(it.took_ms, LEAST));
  return Math.min(ceilings.fast_ms, ...all);
}
