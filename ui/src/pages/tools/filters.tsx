// Filters of the tool list; their values are in the URL.
import { useMemo } from "react";
import { TIERS, type Tool } from "../../api/types";
import { escapeHidden } from "../../kit/untrusted";
import { setQuery } from "../../route";
import { isFiltered, type ToolFilter } from "./rows";

export function Filters(props: { tools: Tool[]; filter: ToolFilter }) {
  const { filter } = props;
  const servers = useMemo(
    () => [...new Set(props.tools.map((it) => it.server))].sort((a, b) => a.localeCompare(b)),
    [props.tools],
  );
  return (
    <div className="bar">
      <input
        type="search"
        aria-label="Search tools"
        placeholder="Name, server or description"
        value={filter.q}
        onChange={(event) => setQuery({ q: event.target.value })}
      />
      <Select label="Server" name="server" filter={filter} options={servers} />
      <Select label="Tier" name="tier" filter={filter} options={TIERS} />
      <Select
        label="Health"
        name="health"
        filter={filter}
        options={["healthy", "failing", "overrunning"]}
      />
      <Select
        label="Verdict"
        name="verdict"
        filter={filter}
        options={["served", "flagged", "withheld", "away"]}
      />
      <Select
        label="Online"
        name="online"
        filter={filter}
        options={["true", "false"]}
        labels={{ true: "online", false: "offline" }}
      />
      {isFiltered(filter) && (
        <button
          type="button"
          className="plain"
          onClick={() =>
            setQuery({ q: "", server: "", tier: "", health: "", verdict: "", online: "" })
          }
        >
          Clear filters
        </button>
      )}
    </div>
  );
}

function Select(props: {
  label: string;
  name: keyof ToolFilter;
  filter: ToolFilter;
  options: readonly string[];
  labels?: Record<string, string>;
}) {
  return (
    <select
      aria-label={props.label}
      value={props.filter[props.name]}
      className={props.filter[props.name] ? "chosen" : undefined}
      onChange={(event) => setQuery({ [props.name]: event.target.value })}
    >
      <option value="">{props.label}: any</option>
      {props.options.map((option) => (
        <option key={option} value={option}>
          {escapeHidden(props.labels?.[option] ?? option)}
        </option>
      ))}
    </select>
  );
}
