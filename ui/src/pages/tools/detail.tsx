// One tool: try it, latency and tier, definition, trust and visibility.
import { useState } from "react";
import { path } from "../../api/client";
import { useRead } from "../../api/queries";
import type { ToolDetail } from "../../api/types";
import { Figure, Page, QueryView, StateBadge, Tabs, TierBadge } from "../../kit/basics";
import { ShowAsCli, shellQuote } from "../../kit/code";
import { count, ms, percent } from "../../kit/format";
import { escapeHidden, UntrustedText } from "../../kit/untrusted";
import { setQuery, to, useRoute } from "../../route";
import { Calibrate } from "./calibrate";
import { DefinitionTab } from "./definition";
import { LatencyTab } from "./latency";
import { callsOf } from "./links";
import { stateOf } from "./state";
import { TrustTab } from "./trust";
import { TryTab } from "./try";
import { VisibilityTab } from "./visibility";

type TabId = "try" | "latency" | "definition" | "trust" | "visibility";

const TABS: { id: TabId; title: string }[] = [
  { id: "try", title: "Try it" },
  { id: "latency", title: "Latency and tier" },
  { id: "definition", title: "Definition" },
  { id: "trust", title: "Trust" },
  { id: "visibility", title: "Visibility" },
];

export function ToolPage(props: { server: string; tool: string }) {
  const address = `/api/tools${path(props.server, props.tool)}`;
  const read = useRead<ToolDetail>(address, 10_000);
  const { query } = useRoute();
  const chosen = TABS.find((tab) => tab.id === query.get("tab"))?.id ?? "try";
  const name = read.data?.name ?? props.tool;
  // Keep the input and the result while another tab is shown.
  const [tryMounted, setTryMounted] = useState(false);
  if (chosen === "try" && !tryMounted) setTryMounted(true);
  return (
    <Page
      title={escapeHidden(name)}
      lead={read.data && <Lead of={read.data} />}
      actions={
        <>
          {read.data && <Calibrate tool={read.data} />}
          <ShowAsCli cli={`tollgate tools diff ${shellQuote(name)}`} path={address} />
        </>
      }
    >
      <p className="crumbs">
        <a href={to("tools")}>Tools</a> ›{" "}
        <a href={`${to("tools")}?server=${encodeURIComponent(props.server)}`}>
          {escapeHidden(props.server)}
        </a>{" "}
        › {escapeHidden(props.tool)}
      </p>
      <QueryView of={read}>
        {(tool) => (
          <>
            <Warnings of={tool} />
            <Figures of={tool} />
            <Tabs
              label="About this tool"
              tabs={TABS}
              chosen={chosen}
              choose={(tab) => setQuery({ tab: tab === "try" ? "" : tab })}
            />
            {tryMounted && (
              <div hidden={chosen !== "try"}>
                <TryTab tool={tool} />
              </div>
            )}
            {chosen === "latency" && <LatencyTab tool={tool} />}
            {chosen === "definition" && <DefinitionTab tool={tool} />}
            {chosen === "trust" && <TrustTab tool={tool} />}
            {chosen === "visibility" && <VisibilityTab tool={tool} />}
          </>
        )}
      </QueryView>
    </Page>
  );
}

function Lead(props: { of: ToolDetail }) {
  const { offered, description } = props.of;
  const text = offered?.description ?? description;
  return text ? <UntrustedText text={text} clip={260} /> : <>No description.</>;
}

/** Warnings that need attention first. */
function Warnings(props: { of: ToolDetail }) {
  const { verdict, why, online, server } = props.of;
  if (verdict === "withheld" || verdict === "flagged") {
    return (
      <div className={`note ${verdict === "withheld" ? "bad" : "warn"}`} role="status">
        <span>
          {verdict === "withheld" ? "Not served" : "Served with warnings"}:{" "}
          {escapeHidden(why ?? "")}
        </span>
        <button type="button" onClick={() => setQuery({ tab: "trust" })}>
          Review
        </button>
      </div>
    );
  }
  if (online) return null;
  return (
    <div className="note warn" role="status">
      <span>Server unavailable. This tool cannot be called.</span>
      <a href={to("servers", server)}>View server</a>
    </div>
  );
}

function Figures(props: { of: ToolDetail }) {
  const { tier, tier_reason, measured, badge, bimodal } = props.of;
  return (
    <div className="figures">
      <Figure label="Tier" value={<TierBadge tier={tier} />} note={escapeHidden(tier_reason)} />
      <Figure
        label="State"
        value={<StateBadge state={stateOf(props.of)} />}
        note={[badge && `badge: ${badge}`, bimodal && "bimodal"].filter(Boolean).join(", ")}
      />
      <Figure label="p50" value={ms(measured?.p50_ms)} />
      <Figure label="p99" value={ms(measured?.p99_ms)} />
      <Figure
        label="Failed"
        value={measured ? percent(measured.error_rate) : "–"}
        tone={measured && measured.error_rate > 0.2 ? "bad" : ""}
        href={callsOf(props.of, "error")}
      />
      <Figure
        label="Measured calls"
        value={measured ? measured.calls : 0}
        note={measured ? `last ${count(measured.calls, "call")}` : "not measured yet"}
        href={callsOf(props.of)}
      />
    </div>
  );
}
