// How long calls took, with the ceilings of the tiers drawn in; and why the tool is in its tier.
import { useMemo } from "react";
import type uPlot from "uplot";
import { TIERS, type Tier, type ToolDetail } from "../../api/types";
import { Empty, Panel, TierBadge } from "../../kit/basics";
import { axis, Chart, type Colours } from "../../kit/chart";
import { visible } from "../../kit/foreign";
import { Table } from "../../kit/table";
import { count, ms, percent } from "../../kit/words";
import { to } from "../../route";
import { chartData, lowest } from "./samples";

export function LatencyTab(props: { tool: ToolDetail }) {
  const { tool } = props;
  return (
    <>
      <Panel title="Calls that count, the latest on the right">
        <Samples tool={tool} />
      </Panel>
      <div className="columns">
        <Panel title="Why this tier">
          <Why tool={tool} />
        </Panel>
        <Panel title="Declared and measured">
          <Compared tool={tool} />
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
    return (
      <Empty>
        No call of it was measured yet. Try it, or calibrate it: what it takes then shows here.
      </Empty>
    );
  }
  return (
    <>
      <Chart
        label={`${count(samples.length, "call")} by how long they took, ${failed} failed; ceilings: fast ${ms(ceilings.fast_ms)}, standard ${ms(ceilings.standard_ms)}, deep ${ms(ceilings.deep_ms)}`}
        data={data}
        height={300}
        options={options}
      />
      <p className="help">
        {count(samples.length, "call")}, {failed} failed. The scale is logarithmic; lines are the
        ceilings of the tiers.
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
    label: `${tier} ends`,
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
        // Between powers of ten there is no room for words.
        values: (_, splits) => splits.map((it) => (it !== null && isPower(it) ? ms(it) : "")),
      }),
    ],
    series: [
      { label: "call", value: (_, value) => value ?? "–" },
      points("answered", colours.accent, 7),
      points("failed", colours.bad, 10),
      ...TIERS.map(ceiling),
    ],
  };
}

function isPower(value: number): boolean {
  const power = Math.log10(value);
  return Math.abs(power - Math.round(power)) < 1e-9;
}

function Why(props: { tool: ToolDetail }) {
  const { tier, tier_reason, bimodal, measured, ceilings, health } = props.tool;
  const ceiling = ceilings[`${tier}_ms`];
  return (
    <>
      <p>
        <TierBadge tier={tier} /> {visible(tier_reason)}
      </p>
      <p className="quiet">
        A tool is in the lowest tier whose ceiling fits: {ms(ceilings.fast_ms)} for fast,{" "}
        {ms(ceilings.standard_ms)} for standard, {ms(ceilings.deep_ms)} for deep.
      </p>
      {bimodal && (
        <div className="note warn">
          It has two speeds: p95 is {ms(measured?.p95_ms)}, over the {ms(ceiling)} of its tier.
          <code>budget.percentile: 95</code> puts such tools where their slow calls belong.
        </div>
      )}
      {health !== "healthy" && (
        <div className="note bad">
          It is {health}: one tier higher until it is better. <a href={to("calls")}>See calls</a>
        </div>
      )}
    </>
  );
}

function Compared(props: { tool: ToolDetail }) {
  const { declared, measured } = props.tool;
  const rows: { what: string; said: string; seen: string }[] = [
    { what: "usual", said: ms(declared?.estimated_duration_ms), seen: ms(measured?.p50_ms) },
    { what: "p95", said: "–", seen: ms(measured?.p95_ms) },
    { what: "p99", said: "–", seen: ms(measured?.p99_ms) },
    { what: "at most", said: ms(declared?.max_duration_ms), seen: "–" },
    { what: "calls", said: "–", seen: measured ? String(measured.calls) : "0" },
    { what: "failed", said: "–", seen: measured ? percent(measured.error_rate) : "–" },
  ];
  return (
    <Table
      label="Declared and measured"
      rows={rows}
      id={(row) => row.what}
      columns={[
        { id: "what", title: "A call", cell: (row) => row.what },
        { id: "said", title: "Declared", className: "number", cell: (row) => row.said },
        { id: "seen", title: "Measured", className: "number", cell: (row) => row.seen },
      ]}
    />
  );
}
