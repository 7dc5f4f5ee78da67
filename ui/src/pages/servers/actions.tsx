// Actions on a server. Changes of the config are reviewed first.
import { useEffect, useMemo, useState } from "react";
import { ApiError, path, post } from "../../api/client";
import { invalidate, useRead } from "../../api/queries";
import type { ServerDetail } from "../../api/types";
import { Failure } from "../../kit/basics";
import { CopyButton } from "../../kit/code";
import { Dialog } from "../../kit/dialog";
import { count, ms } from "../../kit/format";
import { type ConfigChange, ReviewChange } from "../../kit/review-change";
import { showError, showToast } from "../../kit/toast";
import { isSafeUrl } from "../../kit/untrusted";
import { navigate, to } from "../../route";

interface TestResult {
  ok: boolean;
  message: string;
  protocol: string | null;
  tools: number;
  took_ms: number;
}

type OpenDialog = "switch" | "remove" | "login";

export function Actions(props: { of: ServerDetail; edit: () => void }) {
  const { of } = props;
  const [open, setOpen] = useState<OpenDialog>();
  const [busy, setBusy] = useState<string>();
  const [result, setResult] = useState<TestResult>();
  const builtIn = of.transport === "in-process";
  const runBusy = (what: string, work: () => Promise<void>) => {
    setBusy(what);
    void work()
      .catch(showError)
      .finally(() => setBusy(undefined));
  };
  const test = async () => {
    setResult(undefined);
    setResult(await post<TestResult>(path("mcp", "test", of.id)));
  };
  const restart = async () => {
    const { restarted } = await post<{ restarted: boolean }>(
      `${path("api", "servers", of.id)}/restart`,
    );
    showToast(restarted ? `Restarting ${of.id}` : `${of.id} is disabled`);
    invalidate("api/servers");
  };
  return (
    <>
      {result && <TestNote of={result} />}
      <div className="bar">
        {of.needs_login && (
          <button type="button" className="primary" onClick={() => setOpen("login")}>
            Log in…
          </button>
        )}
        <button type="button" disabled={!!busy} onClick={() => runBusy("test", test)}>
          {busy === "test" ? "Testing…" : "Test"}
        </button>
        {!builtIn && (
          <>
            <button
              type="button"
              disabled={!!busy || !of.enabled}
              onClick={() => runBusy("restart", restart)}
            >
              {busy === "restart" ? "Restarting…" : "Restart"}
            </button>
            <button type="button" onClick={props.edit} disabled={!of.config}>
              Edit…
            </button>
            <button type="button" onClick={() => setOpen("switch")}>
              {of.enabled ? "Disable…" : "Enable…"}
            </button>
            <button type="button" className="danger" onClick={() => setOpen("remove")}>
              Remove…
            </button>
          </>
        )}
      </div>
      {open === "switch" && <ToggleEnabled of={of} close={() => setOpen(undefined)} />}
      {open === "remove" && <Remove of={of} close={() => setOpen(undefined)} />}
      {open === "login" && <LogIn of={of} close={() => setOpen(undefined)} />}
    </>
  );
}

function TestNote(props: { of: TestResult }) {
  const { ok, message, tools, took_ms, protocol } = props.of;
  return (
    <div className={`note ${ok ? "good" : "bad"}`} role="status">
      {ok ? "Test passed" : "Test failed"}: {message} ({count(tools, "tool")}, {ms(took_ms)}
      {protocol && `, protocol ${protocol}`})
    </div>
  );
}

function ToggleEnabled(props: { of: ServerDetail; close: () => void }) {
  const { id, enabled } = props.of;
  const word = enabled ? "disable" : "enable";
  const change = useMemo<ConfigChange>(
    () => ({ method: "POST", path: `${path("api", "servers", id)}/${word}` }),
    [id, word],
  );
  return (
    <ReviewChange
      title={enabled ? `Disable ${id}` : `Enable ${id}`}
      action={enabled ? "Disable" : "Enable"}
      change={change}
      close={props.close}
    />
  );
}

function Remove(props: { of: ServerDetail; close: () => void }) {
  const { id } = props.of;
  const change = useMemo<ConfigChange>(
    () => ({ method: "DELETE", path: path("api", "servers", id) }),
    [id],
  );
  return (
    <ReviewChange
      title={`Remove ${id}`}
      action="Remove"
      change={change}
      close={props.close}
      onSaved={() => navigate(to("servers"))}
    />
  );
}

/** The user authorizes on the server's page; the gateway detects it by itself. */
function LogIn(props: { of: ServerDetail; close: () => void }) {
  const { id } = props.of;
  const [url, setUrl] = useState<string>();
  const [problem, setProblem] = useState<ApiError>();
  const now = useRead<ServerDetail>(path("api", "servers", id), 2000).data;
  const done = now !== undefined && !now.needs_login;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it opens
  useEffect(() => {
    post<{ url: string }>(`${path("api", "servers", id)}/login`).then(
      (login) => setUrl(login.url),
      (error) => setProblem(ApiError.from(error)),
    );
  }, []);
  return (
    <Dialog title={`Log in to ${id}`} close={props.close}>
      {problem && <Failure error={problem} />}
      {url && !done && (
        <>
          <p>Open the server's login page and grant access.</p>
          {isSafeUrl(url) ? (
            <p className="bar">
              <a className="button primary" href={url} target="_blank" rel="noopener noreferrer">
                Open login page
              </a>
              <CopyButton text={url} label="Copy link" />
            </p>
          ) : (
            <div className="note bad" role="alert">
              The server returned a login URL that is not https: <code>{url}</code>. It was blocked.
            </div>
          )}
          <p className="quiet" role="status">
            Waiting for authorization…
          </p>
        </>
      )}
      {done && (
        <div className="note good" role="status">
          Logged in: {now.state}, {now.reason}.
        </div>
      )}
    </Dialog>
  );
}
