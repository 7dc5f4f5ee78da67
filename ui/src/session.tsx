// The login. The key is exchanged for an HttpOnly cookie and is not stored.
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { call, get, Problem, proveWith } from "./api/client";
import { queries } from "./api/queries";
import type { Login } from "./api/types";
import { Door, DoorAgain } from "./door";
import { Loading } from "./kit/basics";

const Visitor = createContext<Login | undefined>(undefined);

export function useLogin(): Login {
  const login = useContext(Visitor);
  if (!login) throw new Error("useLogin outside of <Session>");
  return login;
}

export function useMay(right: string): boolean {
  return useLogin().rights.includes(right);
}

/** `tollgate serve` prints a link with the token in the hash. Remove it from the address bar at once. */
function tokenOfLink(): string | undefined {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (token) history.replaceState(null, "", "#/");
  return token && decodeURIComponent(token);
}

interface State {
  /** The last login; it may have expired. */
  login?: Login;
  ended?: boolean;
  problem?: Problem;
  ready: boolean;
}

export function Session(props: { children: ReactNode }) {
  const [state, setState] = useState<State>({ ready: false });
  const begun = useRef(false);
  const known = useRef<string>(undefined);

  const enter = async (key?: string) => {
    try {
      const login = key
        ? await call<Login>("POST", "/api/login", { body: { key } })
        : await get<Login>("/api/login");
      proveWith(login.csrf ?? undefined);
      // The same user keeps cached data and unsaved input; another user sees none of it.
      if (known.current === login.principal) void queries.invalidateQueries();
      else queries.clear();
      known.current = login.principal;
      setState({ login, ready: true });
    } catch (error) {
      const problem = Problem.of(error);
      // A 401 without a key is the normal state before login.
      const said = key || problem.status !== 401 ? problem : undefined;
      setState(({ login }) => ({ login, ended: true, problem: said, ready: true }));
    }
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => {
    // The token can be read once, and React may run this effect twice.
    if (!begun.current) void enter(tokenOfLink());
    begun.current = true;
    const followed = () => {
      const token = tokenOfLink();
      if (token) void enter(token);
    };
    addEventListener("hashchange", followed);
    // An expired or revoked login shows as a 401 in the next response.
    const lost = queries.getQueryCache().subscribe((event) => {
      // Old errors stay in the cache; only a new one counts.
      if (event.type !== "updated" || event.action.type !== "error") return;
      if (Problem.of(event.action.error).status !== 401) return;
      setState((before) => (before.ended ? before : { ...before, ended: true }));
    });
    return () => {
      removeEventListener("hashchange", followed);
      lost();
    };
  }, []);

  if (!state.ready) return <Loading />;
  const { login, problem } = state;
  if (!login) return <Door problem={problem} enter={enter} />;
  return (
    <>
      <Visitor key={login.principal} value={login}>
        {props.children}
      </Visitor>
      {state.ended && <DoorAgain problem={problem} enter={enter} />}
    </>
  );
}

export async function leave() {
  await call("DELETE", "/api/login");
  location.hash = "#/";
  location.reload();
}
