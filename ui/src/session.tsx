// Who looks at the page. A key is exchanged for a cookie that scripts cannot read; the key itself is
// not kept.
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { call, get, Problem, proveWith } from "./api/client";
import { queries } from "./api/queries";
import type { Login } from "./api/types";
import { Failure, Loading } from "./kit/basics";

const Visitor = createContext<Login | undefined>(undefined);

export function useLogin(): Login {
  const login = useContext(Visitor);
  if (!login) throw new Error("outside of a session");
  return login;
}

export function useMay(right: string): boolean {
  return useLogin().rights.includes(right);
}

/** The link that `serve` prints has the token behind `#`; it does not stay in the address. */
function tokenOfLink(): string | undefined {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (token) history.replaceState(null, "", "#/");
  return token && decodeURIComponent(token);
}

type State = { login?: Login; problem?: Problem; ready: boolean };

export function Session(props: { children: ReactNode }) {
  const [state, setState] = useState<State>({ ready: false });
  const begun = useRef(false);

  const enter = async (key?: string) => {
    try {
      const login = key
        ? await call<Login>("POST", "/api/login", { body: { key } })
        : await get<Login>("/api/login");
      proveWith(login.csrf ?? undefined);
      queries.clear();
      setState({ login, ready: true });
    } catch (error) {
      const problem = Problem.of(error);
      // Nobody is expected to be known before they said who they are.
      setState({ problem: key || problem.status !== 401 ? problem : undefined, ready: true });
    }
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => {
    // The token of the link is there once, and React may run this twice.
    if (!begun.current) void enter(tokenOfLink());
    begun.current = true;
    const followed = () => {
      const token = tokenOfLink();
      if (token) void enter(token);
    };
    addEventListener("hashchange", followed);
    // A login that is over, or taken away, shows in the first answer after it.
    const lost = queries.getQueryCache().subscribe((event) => {
      const error = event.query.state.error;
      if (error && Problem.of(error).status === 401) setState({ ready: true });
    });
    return () => {
      removeEventListener("hashchange", followed);
      lost();
    };
  }, []);

  if (!state.ready) return <Loading />;
  if (state.login) return <Visitor value={state.login}>{props.children}</Visitor>;
  return <Door problem={state.problem} enter={enter} />;
}

export async function leave() {
  await call("DELETE", "/api/login");
  location.hash = "#/";
  location.reload();
}

function Door(props: { problem?: Problem; enter: (key: string) => Promise<void> }) {
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  return (
    <main className="door">
      <form
        className="panel"
        onSubmit={(event) => {
          event.preventDefault();
          setBusy(true);
          void props.enter(key.trim()).finally(() => setBusy(false));
        }}
      >
        <h1>Tollgate</h1>
        {props.problem && <Failure error={props.problem} />}
        <div className="field">
          <label htmlFor="key">Key</label>
          <input
            id="key"
            type="password"
            autoComplete="current-password"
            value={key}
            required
            // biome-ignore lint/a11y/noAutofocus: there is nothing else to do here
            autoFocus
            onChange={(event) => setKey(event.target.value)}
          />
          <p className="help">
            An admin's key (<code>tollgate keys create NAME --role admin</code>), or what stands in{" "}
            <code>admin.token</code> of the data directory; <code>tollgate serve</code> prints a
            link with it.
          </p>
        </div>
        <button type="submit" className="primary" disabled={busy || !key.trim()}>
          Log in
        </button>
      </form>
    </main>
  );
}
