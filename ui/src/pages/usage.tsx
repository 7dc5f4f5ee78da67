// What models were used for: requests, tokens and cost by key, agent or model, and by day.
import { useMemo } from "react";
import type uPlot from "uplot";
import { absoluteUrl, query as search } from "../api/client";
import { useRead } from "../api/queries";
import { Empty, Page, Panel, QueryView } from "../kit/basics";
import { axis, Chart, type Colours } from "../kit/chart";
import { ShowAsCli } from "../kit/code";
import { duration } from "../kit/format";
import { Table } from "../kit/table";
import { escapeHidden } from "../kit/untrusted";
import { setQuery, useRoute } from "../route";
import { costText, type DayUsage, dailySums, type NamedUsage } from "./usage/sums";

interface Usage {
  by: string;
  from: string;
  to: string;
  days: DayUsage[];
  totals: NamedUsage[];
}

const GROUPINGS = ["key", "agent", "model"];
const EVERY_30_S = 30_000;

export default function UsagePage() {
  const { query } = useRoute();
  const named = query.get("by") ?? "key";
  const by = GROUPINGS.includes(named) ? named : "key";
  const address = `/api/usage${search({ by })}`;
  const usage = useRead<Usage>(address, EVERY_30_S);
  return (
    <Page
      title="Usage"
      lead="Requests, tokens and cost of models over the last 30 days (UTC). Limits are in the config: model_limits."
      actions={<ShowAsCli cli={`tollgate usage --by ${by}`} path={address} />}
    >
      <div className="bar">
        <select
          aria-label="Group by"
          value={by}
          onChange={(event) => setQuery({ by: event.target.value })}
        >
          <option value="key">By key</option>
          <option value="agent">By agent</option>
          <option value="model">By model</option>
        </select>
        <a
          className="button"
          href={absoluteUrl(`/api/usage${search({ by, format: "csv" })}`)}
          download="usage.csv"
        >
          Export CSV
        </a>
      </div>
      <QueryView of={usage}>
        {(data) =>
          data.totals.length === 0 ? (
            <Empty>No model was asked in these days.</Empty>
          ) : (
            <>
              <Panel title="Tokens by day">
                <Days of={data} />
              </Panel>
              <Panel title="Sums">
                <Totals of={data} by={by} />
              </Panel>
            </>
          )
        }
      </QueryView>
    </Page>
  );
}

const day = (at: number) => new Date(at * 1000).toISOString().slice(0, 10);

function options(colours: Colours): Omit<uPlot.Options, "width" | "height"> {
  return {
    legend: { show: true, live: true },
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(most * 1.1, 5)] } },
    axes: [
      axis(colours, { values: (_, times) => times.map((at) => day(at).slice(5)) }),
      axis(colours, { size: 64 }),
    ],
    series: [
      { value: (_, at) => (at ? day(at) : "–") },
      {
        label: "Input tokens",
        stroke: colours.accent,
        width: 2,
        fill: `${colours.accent}22`,
        points: { show: false },
      },
      { label: "Output tokens", stroke: colours.good, width: 2, points: { show: false } },
      { label: "Requests", stroke: colours.warn, width: 2, points: { show: false } },
    ],
  };
}

function Days(props: { of: Usage }) {
  const { from, to, days } = props.of;
  const data = useMemo<uPlot.AlignedData>(() => {
    const sums = dailySums(from, to, days);
    return [
      sums.map((it) => it.at),
      sums.map((it) => it.input),
      sums.map((it) => it.output),
      sums.map((it) => it.requests),
    ];
  }, [from, to, days]);
  return <Chart label="Tokens and requests by day" data={data} height={180} options={options} />;
}

const seconds = (title: string, of: (row: NamedUsage) => number) => ({
  id: title,
  title,
  className: "number",
  sortValue: of,
  cell: (row: NamedUsage) => duration(of(row)),
});

/** Of live sessions. */
const SPEECH = [
  seconds("Live", (row) => row.live_seconds),
  seconds("Heard", (row) => row.audio_input_seconds),
  seconds("Spoken", (row) => row.audio_output_seconds),
];

const TITLES: Record<string, string> = { key: "Key", agent: "Agent", model: "Model" };

function Totals(props: { of: Usage; by: string }) {
  const number = (title: string, of: (row: NamedUsage) => number) => ({
    id: title,
    title,
    className: "number",
    sortValue: of,
    cell: (row: NamedUsage) => of(row).toLocaleString("en"),
  });
  return (
    <Table
      label="Usage"
      rows={props.of.totals}
      id={(row) => row.name}
      columns={[
        {
          id: "name",
          title: TITLES[props.by],
          sortValue: (row) => row.name,
          cell: (row) => (row.name === "" ? <i>no agent</i> : escapeHidden(row.name)),
        },
        number("Requests", (row) => row.requests),
        number("Input", (row) => row.input_tokens),
        number("Cached", (row) => row.cached_input_tokens),
        number("Output", (row) => row.output_tokens),
        ...(props.of.totals.some((row) => row.live_seconds > 0) ? SPEECH : []),
        {
          id: "cost",
          title: "Cost",
          className: "number",
          sortValue: (row) => row.cost_usd,
          cell: costText,
        },
      ]}
    />
  );
}
