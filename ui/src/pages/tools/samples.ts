// Samples of calls as the chart takes them. A logarithmic scale has no zero.
import type uPlot from "uplot";
import type { ToolDetail } from "../../api/types";

/** Milliseconds; what is quicker is drawn here. */
const LEAST = 0.01;

type Ceilings = ToolDetail["ceilings"];
type Samples = ToolDetail["samples"];

/** By number of the call: those that were answered, those that failed, and the three ceilings. */
export function chartData(samples: Samples, ceilings: Ceilings): uPlot.AlignedData {
  // A line needs two ends, also where there is one call.
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
