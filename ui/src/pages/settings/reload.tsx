// The last reload of the config file, and facts about the gateway.
import { useState } from "react";
import { ApiError, call } from "../../api/client";
import { invalidate, useRead } from "../../api/queries";
import type { Overview, ReloadAttempt } from "../../api/types";
import { Ago, Failure, Panel, QueryView, StateBadge } from "../../kit/basics";
import { ShowAsCli } from "../../kit/code";
import { Fact, Facts } from "../../kit/facts";
import { Diagnostics } from "../../kit/review-change";
import { showToast } from "../../kit/toast";

export function Reload() {
  const last = useRead<{ last: ReloadAttempt | null; applied: number; refused: number }>(
    "/api/reload",
    10_000,
  );
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiError>();
  const reload = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      const attempt = await call<ReloadAttempt>("POST", "/api/reload");
      showToast(
        attempt.outcome === "refused" ? "The config file has errors" : `Config ${attempt.outcome}`,
      );
      invalidate("api", "v1");
    } catch (error) {
      setProblem(ApiError.from(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Panel
      title="Reload"
      actions={
        <>
          <ShowAsCli cli="tollgate reload" method="POST" path="/api/reload" />
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
      <QueryView of={last}>
        {(data) => (
          <>
            {data.last ? <LastReload of={data.last} /> : <p>Not reloaded since startup.</p>}
            <p className="quiet">
              Since startup: {data.applied} applied, {data.refused} refused.
            </p>
          </>
        )}
      </QueryView>
    </Panel>
  );
}

function LastReload(props: { of: ReloadAttempt }) {
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
      <Diagnostics of={of.report.diagnostics} />
    </>
  );
}

export function About() {
  const overview = useRead<Overview>("/api/overview");
  const secure = location.protocol === "https:";
  return (
    <Panel title="This gateway">
      <QueryView of={overview}>
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
      </QueryView>
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
