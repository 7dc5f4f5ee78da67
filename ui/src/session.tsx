// The login. The key is exchanged for an HttpOnly cookie and is not stored.
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { ApiError, call, get, setCsrfToken } from "./api/client";
import { queries } from "./api/queries";
import type { Login } from "./api/types";
import { Loading } from "./kit/basics";
import { LoginDialog, LoginPage } from "./login";

const LoginContext = createContext<Login | undefined>(undefined);

export function useLogin(): Login {
  const login = useContext(LoginContext);
  if (!login) throw new Error("useLogin outside of <Session>");
  return login;
}

export function useHasRight(right: string): boolean {
  return useLogin().rights.includes(right);
}

/** `tollgate serve` prints a link with the token in the hash. Remove it from the address bar at once. */
function takeTokenFromUrl(): string | undefined {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (token) history.replaceState(null, "", "#/");
  return token && decodeURIComponent(token);
}

interface SessionState {
  /** The last login; it may have expired. */
  login?: Login;
  expired?: boolean;
  problem?: ApiError;
  ready: boolean;
}

export function Session(props: { children: ReactNode }) {
  const [state, setState] = useState<SessionState>({ ready: false });
  const started = useRef(false);
  const lastPrincipal = useRef<string>(undefined);

  const logIn = async (key?: string) => {
    try {
      const login = key
        ? await call<Login>("POST", "/api/login", { body: { key } })
        : await get<Login>("/api/login");
      setCsrfToken(login.csrf ?? undefined);
      // The same user keeps cached data and unsaved input; another user sees none of it.
      if (lastPrincipal.current === login.principal) void queries.invalidateQueries();
      else queries.clear();
      lastPrincipal.current = login.principal;
      setState({ login, ready: true });
    } catch (error) {
      const problem = ApiError.from(error);
      // A 401 without a key is the normal state before login.
      const shownError = key || problem.status !== 401 ? problem : undefined;
      setState(({ login }) => ({ login, expired: true, problem: shownError, ready: true }));
    }
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => {
    // The token can be read once, and React may run this effect twice.
    if (!started.current) void logIn(takeTokenFromUrl());
    started.current = true;
    const handleHashChange = () => {
      const token = takeTokenFromUrl();
      if (token) void logIn(token);
    };
    addEventListener("hashchange", handleHashChange);
    // An expired or revoked login shows as a 401 in the next response.
    const unsubscribe = queries.getQueryCache().subscribe((event) => {
      // Old errors stay in the cache; only a new one counts.
      if (event.type !== "updated" || event.action.type !== "error") return;
      if (ApiError.from(event.action.error).status !== 401) return;
      setState((before) => (before.expired ? before : { ...before, expired: true }));
    });
    return () => {
      removeEventListener("hashchange", handleHashChange);
      unsubscribe();
    };
  }, []);

  if (!state.ready) return <Loading />;
  const { login, problem } = state;
  if (!login) return <LoginPage problem={problem} logIn={logIn} />;
  return (
    <>
      <LoginContext key={login.principal} value={login}>
        {props.children}
      </LoginContext>
      {state.expired && <LoginDialog problem={problem} logIn={logIn} />}
    </>
  );
}

export async function logOut() {
  await call("DELETE", "/api/login");
  location.hash = "#/";
  location.reload();
}
