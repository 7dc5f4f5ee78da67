// One tool: try it, latency and tier, definition, trust and visibility.
import { useState } from "react";
import { path } from "../../api/client";
import { useRead } from "../../api/queries";
import type { ToolDetail } from "../../api/types";
import { Figure, Page, Shown, StateBadge, Tabs, TierBadge } from "../../kit/basics";
import { AsCommand, quoted } from "../../kit/code";
import { Foreign, visible } from "../../kit/foreign";
import { count, ms, percent } from "../../kit/words";
import { narrow, to, useRoute } from "../../route";
import { Calibrate } from "./calibrate";
import { DefinitionTab } from "./definition";
import { LatencyTab } from "./latency";
import { callsOf } from "./links";
import { SeenTab } from "./seen";
import { stateOf } from "./state";
import { TrustTab } from "./trust";
import { TryTab } from "./try";

type TabId = "try" | "latency" | "definition" | "trust" | "seen";

const TABS: { id: TabId; title: string }[] = [
  { id: "try", title: "Try it" },
  { id: "latency", title: "Latency and tier" },
  { id: "definition", title: "Definition" },
  { id: "trust", title: "Trust" },
  { id: "seen", title: "Visibility" },
];

export function ToolPage(props: { server: string; tool: string }) {
  const address = `/api/tools${path(props.server, props.tool)}`;
  const read = useRead<ToolDetail>(address, 10_000);
  const { query } = useRoute();
  const chosen = TABS.find((tab) => tab.id === query.get("tab"))?.id ?? "try";
  const name = read.data?.name ?? props.tool;
  // Keep the input and the result while another tab is shown.
  const [tried, setTried] = useState(false);
  if (chosen === "try" && !tried) setTried(true);
  return (
    <Page
      title={visible(name)}
      lead={read.data && <Lead of={read.data} />}
      actions={
        <>
          {read.data && <Calibrate tool={read.data} />}
          <AsCommand cli={`tollgate tools diff ${quoted(name)}`} path={address} />
        </>
      }
    >
      <p className="crumbs">
        <a href={to("tools")}>Tools</a> ›{" "}
        <a href={`${to("tools")}?server=${encodeURIComponent(props.server)}`}>
          {visible(props.server)}
        </a>{" "}
        › {visible(props.tool)}
      </p>
      <Shown of={read}>
        {(tool) => (
          <>
            <Doubts of={tool} />
            <Figures of={tool} />
            <Tabs
              label="About this tool"
              tabs={TABS}
              chosen={chosen}
              choose={(tab) => narrow({ tab: tab === "try" ? "" : tab })}
            />
            {tried && (
              <div hidden={chosen !== "try"}>
                <TryTab tool={tool} />
              </div>
            )}
            {chosen === "latency" && <LatencyTab tool={tool} />}
            {chosen === "definition" && <DefinitionTab tool={tool} />}
            {chosen === "trust" && <TrustTab tool={tool} />}
            {chosen === "seen" && <SeenTab tool={tool} />}
          </>
        )}
      </Shown>
    </Page>
  );
}

function Lead(props: { of: ToolDetail }) {
  const { offered, description } = props.of;
  const text = offered?.description ?? description;
  return text ? <Foreign text={text} clip={260} /> : <>No description.</>;
}

/** Warnings that need attention first. */
function Doubts(props: { of: ToolDetail }) {
  const { verdict, why, online, server } = props.of;
  if (verdict === "withheld" || verdict === "flagged") {
    return (
      <div className={`note ${verdict === "withheld" ? "bad" : "warn"}`} role="status">
        <span>
          {verdict === "withheld" ? "Not served" : "Served with warnings"}: {visible(why ?? "")}
        </span>
        <button type="button" onClick={() => narrow({ tab: "trust" })}>
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
      <Figure label="Tier" value={<TierBadge tier={tier} />} note={visible(tier_reason)} />
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
