// Filters of the tool list; their values are in the URL.
import { useMemo } from "react";
import { TIERS, type Tool } from "../../api/types";
import { visible } from "../../kit/foreign";
import { narrow } from "../../route";
import { isNarrowed, type Wanted } from "./rows";

export function Filters(props: { tools: Tool[]; wanted: Wanted }) {
  const { wanted } = props;
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
        value={wanted.q}
        onChange={(event) => narrow({ q: event.target.value })}
      />
      <Select label="Server" name="server" wanted={wanted} options={servers} />
      <Select label="Tier" name="tier" wanted={wanted} options={TIERS} />
      <Select
        label="Health"
        name="health"
        wanted={wanted}
        options={["healthy", "failing", "overrunning"]}
      />
      <Select
        label="Verdict"
        name="verdict"
        wanted={wanted}
        options={["served", "flagged", "withheld", "away"]}
      />
      <Select
        label="Online"
        name="online"
        wanted={wanted}
        options={["true", "false"]}
        words={{ true: "online", false: "offline" }}
      />
      {isNarrowed(wanted) && (
        <button
          type="button"
          className="plain"
          onClick={() =>
            narrow({ q: "", server: "", tier: "", health: "", verdict: "", online: "" })
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
  name: keyof Wanted;
  wanted: Wanted;
  options: readonly string[];
  words?: Record<string, string>;
}) {
  return (
    <select
      aria-label={props.label}
      value={props.wanted[props.name]}
      className={props.wanted[props.name] ? "chosen" : undefined}
      onChange={(event) => narrow({ [props.name]: event.target.value })}
    >
      <option value="">{props.label}: any</option>
      {props.options.map((option) => (
        <option key={option} value={option}>
          {visible(props.words?.[option] ?? option)}
        </option>
      ))}
    </select>
  );
}
