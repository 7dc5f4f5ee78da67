// Actions on a server. Changes of the config are reviewed first.
import { useEffect, useMemo, useState } from "react";
import { Problem, path, post } from "../../api/client";
import { stale, useRead } from "../../api/queries";
import type { ServerDetail } from "../../api/types";
import { Failure } from "../../kit/basics";
import { Review, type Wish } from "../../kit/change";
import { CopyButton } from "../../kit/code";
import { Dialog } from "../../kit/dialog";
import { isSafe } from "../../kit/foreign";
import { complain, say } from "../../kit/toast";
import { count, ms } from "../../kit/words";
import { go, to } from "../../route";

interface Tested {
  ok: boolean;
  message: string;
  protocol: string | null;
  tools: number;
  took_ms: number;
}

type Open = "switch" | "remove" | "login";

export function Actions(props: { of: ServerDetail; edit: () => void }) {
  const { of } = props;
  const [open, setOpen] = useState<Open>();
  const [busy, setBusy] = useState<string>();
  const [tested, setTested] = useState<Tested>();
  const built = of.transport === "in-process";
  const during = (what: string, work: () => Promise<void>) => {
    setBusy(what);
    void work()
      .catch(complain)
      .finally(() => setBusy(undefined));
  };
  const test = async () => {
    setTested(undefined);
    setTested(await post<Tested>(path("mcp", "test", of.id)));
  };
  const restart = async () => {
    const { restarted } = await post<{ restarted: boolean }>(
      `${path("api", "servers", of.id)}/restart`,
    );
    say(restarted ? `Restarting ${of.id}` : `${of.id} is disabled`);
    stale("api/servers");
  };
  return (
    <>
      {tested && <TestNote of={tested} />}
      <div className="bar">
        {of.needs_login && (
          <button type="button" className="primary" onClick={() => setOpen("login")}>
            Log in…
          </button>
        )}
        <button type="button" disabled={!!busy} onClick={() => during("test", test)}>
          {busy === "test" ? "Testing…" : "Test"}
        </button>
        {!built && (
          <>
            <button
              type="button"
              disabled={!!busy || !of.enabled}
              onClick={() => during("restart", restart)}
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
      {open === "switch" && <SwitchOver of={of} close={() => setOpen(undefined)} />}
      {open === "remove" && <Remove of={of} close={() => setOpen(undefined)} />}
      {open === "login" && <LogIn of={of} close={() => setOpen(undefined)} />}
    </>
  );
}

function TestNote(props: { of: Tested }) {
  const { ok, message, tools, took_ms, protocol } = props.of;
  return (
    <div className={`note ${ok ? "good" : "bad"}`} role="status">
      {ok ? "Test passed" : "Test failed"}: {message} ({count(tools, "tool")}, {ms(took_ms)}
      {protocol && `, protocol ${protocol}`})
    </div>
  );
}

function SwitchOver(props: { of: ServerDetail; close: () => void }) {
  const { id, enabled } = props.of;
  const word = enabled ? "disable" : "enable";
  const wish = useMemo<Wish>(
    () => ({ method: "POST", path: `${path("api", "servers", id)}/${word}` }),
    [id, word],
  );
  return (
    <Review
      title={enabled ? `Disable ${id}` : `Enable ${id}`}
      action={enabled ? "Disable" : "Enable"}
      wish={wish}
      close={props.close}
    />
  );
}

function Remove(props: { of: ServerDetail; close: () => void }) {
  const { id } = props.of;
  const wish = useMemo<Wish>(() => ({ method: "DELETE", path: path("api", "servers", id) }), [id]);
  return (
    <Review
      title={`Remove ${id}`}
      action="Remove"
      wish={wish}
      close={props.close}
      done={() => go(to("servers"))}
    />
  );
}

/** The user authorizes on the server's page; the gateway detects it by itself. */
function LogIn(props: { of: ServerDetail; close: () => void }) {
  const { id } = props.of;
  const [url, setUrl] = useState<string>();
  const [problem, setProblem] = useState<Problem>();
  const now = useRead<ServerDetail>(path("api", "servers", id), 2000).data;
  const done = now !== undefined && !now.needs_login;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it opens
  useEffect(() => {
    post<{ url: string }>(`${path("api", "servers", id)}/login`).then(
      (begun) => setUrl(begun.url),
      (error) => setProblem(Problem.of(error)),
    );
  }, []);
  return (
    <Dialog title={`Log in to ${id}`} close={props.close}>
      {problem && <Failure error={problem} />}
      {url && !done && (
        <>
          <p>Open the server's login page and grant access.</p>
          {isSafe(url) ? (
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
