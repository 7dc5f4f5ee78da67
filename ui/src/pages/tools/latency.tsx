// Call durations against the tier ceilings, and the reason for the tool's tier.
import { useMemo } from "react";
import type uPlot from "uplot";
import { TIERS, type Tier, type ToolDetail } from "../../api/types";
import { Empty, Panel, TierBadge } from "../../kit/basics";
import { axis, Chart, type Colours } from "../../kit/chart";
import { count, ms, percent } from "../../kit/format";
import { Table } from "../../kit/table";
import { escapeHidden } from "../../kit/untrusted";
import { to } from "../../route";
import { chartData, lowest } from "./samples";

export function LatencyTab(props: { tool: ToolDetail }) {
  const { tool } = props;
  return (
    <>
      <Panel title="Measured calls, latest on the right">
        <Samples tool={tool} />
      </Panel>
      <div className="columns">
        <Panel title="Why this tier">
          <TierReason tool={tool} />
        </Panel>
        <Panel title="Declared vs. measured">
          <DeclaredVsMeasured tool={tool} />
        </Panel>
      </div>
    </>
  );
}

function Samples(props: { tool: ToolDetail }) {
  const { samples, ceilings } = props.tool;
  const data = useMemo(() => chartData(samples, ceilings), [samples, ceilings]);
  const options = useMemo(() => {
    const low = lowest(samples, ceilings);
    return (colours: Colours) => optionsOf(colours, low, ceilings.deep_ms);
  }, [samples, ceilings]);
  const failed = samples.filter((it) => !it.ok).length;
  if (samples.length === 0) {
    return <Empty>No measured calls yet. Try or calibrate the tool.</Empty>;
  }
  return (
    <>
      <Chart
        label={`${count(samples.length, "call")} by duration, ${failed} failed; ceilings: fast ${ms(ceilings.fast_ms)}, standard ${ms(ceilings.standard_ms)}, deep ${ms(ceilings.deep_ms)}`}
        data={data}
        height={300}
        options={options}
      />
      <p className="help">
        {count(samples.length, "call")}, {failed} failed. Logarithmic scale; dashed lines are the
        tier ceilings.
      </p>
    </>
  );
}

function optionsOf(
  colours: Colours,
  low: number,
  high: number,
): Omit<uPlot.Options, "width" | "height"> {
  const style = getComputedStyle(document.documentElement);
  const ceiling = (tier: Tier): uPlot.Series => ({
    label: `${tier} ceiling`,
    stroke: style.getPropertyValue(`--${tier}`).trim(),
    width: 1.5,
    dash: [6, 4],
    points: { show: false },
    value: (_, value) => ms(value),
  });
  const points = (label: string, colour: string, size: number): uPlot.Series => ({
    label,
    stroke: colour,
    paths: () => null,
    points: { show: true, size, fill: colour, stroke: colour },
    value: (_, value) => ms(value),
  });
  return {
    legend: { show: true, live: true },
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: { time: false },
      y: {
        distr: 3,
        range: (_, least, most) => [
          Math.min(least ?? low, low) * 0.8,
          Math.max(most ?? high, high) * 1.4,
        ],
      },
    },
    axes: [
      axis(colours, { incrs: [1, 2, 5, 10, 20, 50] }),
      axis(colours, {
        size: 64,
        // Label only powers of ten.
        values: (_, splits) => splits.map((it) => (it !== null && isPower(it) ? ms(it) : "")),
      }),
    ],
    series: [
      { label: "Call", value: (_, value) => value ?? "–" },
      points("Succeeded", colours.accent, 7),
      points("Failed", colours.bad, 10),
      ...TIERS.map(ceiling),
    ],
  };
}

function isPower(value: number): boolean {
  const power = Math.log10(value);
  return Math.abs(power - Math.round(power)) < 1e-9;
}

function TierReason(props: { tool: ToolDetail }) {
  const { tier, tier_reason, bimodal, measured, ceilings, health } = props.tool;
  const ceiling = ceilings[`${tier}_ms`];
  return (
    <>
      <p>
        <TierBadge tier={tier} /> {escapeHidden(tier_reason)}
      </p>
      <p className="quiet">
        A tool is in the lowest tier whose ceiling it meets: {ms(ceilings.fast_ms)} for fast,{" "}
        {ms(ceilings.standard_ms)} for standard, {ms(ceilings.deep_ms)} for deep.
      </p>
      {bimodal && (
        <div className="note warn">
          Bimodal latency: p95 is {ms(measured?.p95_ms)}, above the {ms(ceiling)} ceiling of its
          tier. Set <code>budget.percentile: 95</code> to assign such tools by their slow calls.
        </div>
      )}
      {health !== "healthy" && (
        <div className="note bad">
          Currently {health}: one tier higher until it recovers.{" "}
          <a href={to("calls")}>View calls</a>
        </div>
      )}
    </>
  );
}

function DeclaredVsMeasured(props: { tool: ToolDetail }) {
  const { declared, measured } = props.tool;
  const rows: { what: string; declaredText: string; measuredText: string }[] = [
    {
      what: "typical",
      declaredText: ms(declared?.estimated_duration_ms),
      measuredText: ms(measured?.p50_ms),
    },
    { what: "p95", declaredText: "–", measuredText: ms(measured?.p95_ms) },
    { what: "p99", declaredText: "–", measuredText: ms(measured?.p99_ms) },
    { what: "max", declaredText: ms(declared?.max_duration_ms), measuredText: "–" },
    { what: "calls", declaredText: "–", measuredText: measured ? String(measured.calls) : "0" },
    {
      what: "failed",
      declaredText: "–",
      measuredText: measured ? percent(measured.error_rate) : "–",
    },
  ];
  return (
    <Table
      label="Declared vs. measured"
      rows={rows}
      id={(row) => row.what}
      columns={[
        { id: "what", title: "Metric", cell: (row) => row.what },
        { id: "declared", title: "Declared", className: "number", cell: (row) => row.declaredText },
        { id: "measured", title: "Measured", className: "number", cell: (row) => row.measuredText },
      ]}
    />
  );
}
