// Health at a glance: attention items, key figures, latency.
import { useMemo } from "react";
import type uPlot from "uplot";
import { useRead } from "../api/queries";
import type { Overview } from "../api/types";
import { Empty, Figure, Page, Panel, QueryView, TierBadge } from "../kit/basics";
import { axis, Chart, type Colours } from "../kit/chart";
import { ShowAsCli } from "../kit/code";
import { duration, ms, percent } from "../kit/format";
import { Table } from "../kit/table";
import { to } from "../route";

export default function OverviewPage() {
  const overview = useRead<Overview>("/api/overview", 5000);
  return (
    <Page
      title="Overview"
      lead={overview.data && lead(overview.data)}
      actions={<ShowAsCli cli="tollgate doctor" path="/api/overview" />}
    >
      <QueryView of={overview}>
        {(data) => (
          <>
            <Attention of={data} />
            <Figures of={data} />
            <Panel title="Calls, last hour">
              <Minutes of={data} />
            </Panel>
            <div className="columns">
              <Panel title="Calls by tier, last hour">
                <Tiers of={data} />
              </Panel>
              <Panel title="Slowest tools">
                <Slowest of={data} />
              </Panel>
            </div>
          </>
        )}
      </QueryView>
    </Page>
  );
}

function lead(of: Overview): string {
  const file = of.config.file ?? "built-in defaults";
  const readOnly = of.config.file && !of.config.writable ? " (read-only)" : "";
  return `Up for ${duration(of.uptime_s)} on ${of.listen}. Environment: ${of.environment}. Config: ${file}${readOnly}.`;
}

function Attention(props: { of: Overview }) {
  const { attention } = props.of;
  if (attention.length === 0) {
    return <div className="note good">All clear</div>;
  }
  return (
    <Panel title="Needs attention">
      <ul className="attention">
        {attention.map((it) => (
          <li key={it.kind + it.text}>
            <span className="badge">{it.kind}</span>
            <a href={`#/${it.link}`}>{it.text}</a>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Figures(props: { of: Overview }) {
  const { servers, tools, calls, approvals, sessions } = props.of;
  const all = Object.values(servers).reduce((sum, it) => sum + it, 0) - servers.disabled;
  const up = servers.ready + servers.degraded;
  const lastMinutes = calls.minutes.slice(-5);
  const recent = lastMinutes.reduce((sum, it) => sum + it.calls, 0);
  const errors = lastMinutes.reduce((sum, it) => sum + it.errors, 0);
  const misses = calls.tiers.reduce((sum, it) => sum + it.misses, 0);
  const hidden = tools.withheld > 0 ? `${tools.withheld} withheld` : undefined;
  return (
    <div className="figures">
      <Figure
        label="Servers up"
        value={`${up} / ${all}`}
        href={to("servers")}
        tone={up < all ? "warn" : ""}
        note={servers.disabled > 0 ? `${servers.disabled} disabled` : undefined}
      />
      <Figure
        label="Tools served"
        value={tools.served.toLocaleString("en")}
        href={to("tools")}
        note={hidden}
      />
      <Figure
        label="Calls per minute"
        value={(recent / Math.max(lastMinutes.length, 1)).toFixed(1)}
        href={to("calls")}
      />
      <Figure
        label="Failed, last 5 min"
        value={recent > 0 ? percent(errors / recent) : "–"}
        href={`${to("calls")}?outcome=error`}
        tone={errors > 0 ? "warn" : ""}
      />
      <Figure
        label="Timed out, last hour"
        value={misses}
        href={to("calls")}
        tone={misses > 0 ? "warn" : ""}
      />
      <Figure
        label="Awaiting approval"
        value={approvals}
        href={to("approvals")}
        tone={approvals > 0 ? "warn" : ""}
      />
      <Figure label="Live sessions" value={sessions} href={`${to("calls")}?tab=sessions`} />
    </div>
  );
}

/** uPlot uses Unix seconds. */
const clock = (at: number) => new Date(at * 1000).toLocaleTimeString("en-GB");

function minutes(colours: Colours): Omit<uPlot.Options, "width" | "height"> {
  return {
    legend: { show: true, live: true },
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(most * 1.1, 5)] } },
    axes: [
      axis(colours, { values: (_, times) => times.map((at) => clock(at).slice(0, 5)) }),
      axis(colours, { size: 48 }),
    ],
    series: [
      { value: (_, at) => (at ? clock(at) : "–") },
      {
        label: "Calls",
        stroke: colours.accent,
        width: 2,
        fill: `${colours.accent}22`,
        points: { show: false },
      },
      { label: "Failed", stroke: colours.bad, width: 2, points: { show: false } },
      { label: "Timed out", stroke: colours.warn, width: 2, points: { show: false } },
    ],
  };
}

function Minutes(props: { of: Overview }) {
  const data = useMemo<uPlot.AlignedData>(() => {
    const all = props.of.calls.minutes;
    return [
      all.map((it) => Date.parse(it.at) / 1000),
      all.map((it) => it.calls),
      all.map((it) => it.errors),
      all.map((it) => it.misses),
    ];
  }, [props.of]);
  return (
    <Chart
      label="Calls, failed calls and timed-out calls per minute"
      data={data}
      height={180}
      options={minutes}
    />
  );
}

function Tiers(props: { of: Overview }) {
  return (
    <Table
      label="Calls by tier"
      rows={props.of.calls.tiers}
      id={(row) => row.tier}
      columns={[
        { id: "tier", title: "Tier", cell: (row) => <TierBadge tier={row.tier} /> },
        {
          id: "calls",
          title: "Calls",
          className: "number",
          cell: (row) => row.calls.toLocaleString("en"),
        },
        { id: "errors", title: "Failed", className: "number", cell: (row) => row.errors },
        { id: "misses", title: "Timed out", className: "number", cell: (row) => row.misses },
        { id: "p50", title: "p50", className: "number", cell: (row) => ms(row.p50_ms) },
        { id: "p99", title: "p99", className: "number", cell: (row) => ms(row.p99_ms) },
      ]}
    />
  );
}

function Slowest(props: { of: Overview }) {
  if (props.of.slowest.length === 0) {
    return (
      <Empty>
        No measurements yet. <a href={to("tools")}>Try a tool</a> or run{" "}
        <code>tollgate calibrate</code>.
      </Empty>
    );
  }
  return (
    <Table
      label="Slowest tools"
      rows={props.of.slowest}
      id={(row) => row.name}
      columns={[
        {
          id: "name",
          title: "Tool",
          cell: (row) => <a href={to("tools", row.server, row.tool)}>{row.name}</a>,
        },
        { id: "tier", title: "Tier", cell: (row) => <TierBadge tier={row.tier} /> },
        { id: "p99", title: "p99", className: "number", cell: (row) => ms(row.p99_ms) },
      ]}
    />
  );
}
