// The last reload of the config file, and facts about the gateway.
import { useState } from "react";
import { call, Problem } from "../../api/client";
import { stale, useRead } from "../../api/queries";
import type { Attempt, Overview } from "../../api/types";
import { Ago, Failure, Panel, Shown, StateBadge } from "../../kit/basics";
import { Mistakes } from "../../kit/change";
import { AsCommand } from "../../kit/code";
import { Fact, Facts } from "../../kit/facts";
import { say } from "../../kit/toast";

export function Reload() {
  const last = useRead<{ last: Attempt | null; applied: number; refused: number }>(
    "/api/reload",
    10_000,
  );
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const reload = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      const attempt = await call<Attempt>("POST", "/api/reload");
      say(
        attempt.outcome === "refused" ? "The config file has errors" : `Config ${attempt.outcome}`,
      );
      stale("api", "v1");
    } catch (error) {
      setProblem(Problem.of(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Panel
      title="Reload"
      actions={
        <>
          <AsCommand cli="tollgate reload" method="POST" path="/api/reload" />
          <button type="button" disabled={busy} onClick={() => void reload()}>
            Reload config
          </button>
        </>
      }
    >
      <p className="help">
        The file is reloaded automatically when it is saved. A manual reload also re-reads the files
        referenced by <code>$&#123;file:…&#125;</code>.
      </p>
      {problem && <Failure error={problem} />}
      <Shown of={last}>
        {(data) => (
          <>
            {data.last ? <LastReload of={data.last} /> : <p>Not reloaded since startup.</p>}
            <p className="quiet">
              Since startup: {data.applied} applied, {data.refused} refused.
            </p>
          </>
        )}
      </Shown>
    </Panel>
  );
}

function LastReload(props: { of: Attempt }) {
  const { of } = props;
  return (
    <>
      <p>
        <StateBadge state={of.outcome} /> <Ago time={of.at} />, by {of.by}
        {of.servers && of.servers.restarted.length > 0 && (
          <>; restarted: {of.servers.restarted.join(", ")}</>
        )}
      </p>
      {of.error && <div className="note bad">{of.error}. The previous config stays active.</div>}
      {of.needs_restart && of.needs_restart.length > 0 && (
        <div className="note warn">
          Takes effect after a gateway restart: {of.needs_restart.join(", ")}
        </div>
      )}
      <Mistakes of={of.report.diagnostics} />
    </>
  );
}

export function About() {
  const overview = useRead<Overview>("/api/overview");
  const secure = location.protocol === "https:";
  return (
    <Panel title="This gateway">
      <Shown of={overview}>
        {(data) => (
          <Facts>
            <Fact name="Version">{data.version}</Fact>
            <Fact name="Listens on">{data.listen}</Fact>
            <Fact name="Environment">{data.environment}</Fact>
            <Fact name="Config">
              {data.config.file ?? "built-in defaults"}
              {data.config.good ? "" : ", invalid: the previous config is active"}
            </Fact>
          </Facts>
        )}
      </Shown>
      <p className="help">
        {secure ? (
          <>
            Served over TLS. Clients have to trust the gateway's certificate: with{" "}
            <code>tollgate serve --tls</code> it is <code>tls/ca.pem</code> in the data directory.
          </>
        ) : (
          <>
            Served over plain HTTP, which is fine on this machine. For remote access use{" "}
            <code>tollgate serve --tls</code> or <code>tls:</code> in the config.
          </>
        )}
      </p>
    </Panel>
  );
}
