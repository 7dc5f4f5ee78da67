// The one way to the gateway: same origin, by the cookie of the login.

/** Why the gateway refused: its problem details, or what kept us from reaching it. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    /** Whatever else it said, such as `errors` of a config or `yaml` to paste. */
    readonly more: Record<string, unknown> = {},
  ) {
    super(detail);
  }

  static of(error: unknown): Problem {
    if (error instanceof Problem) return error;
    return new Problem(0, "unreachable", error instanceof Error ? error.message : String(error));
  }
}

export interface Asked {
  body?: unknown;
  /** A body that is text already. */
  text?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Refusals are thrown, unless somebody wants to see them as they are. */
  refusals?: "returned";
}

let csrf: string | undefined;

/** What proves that a write comes from this page. */
export function proveWith(token: string | undefined) {
  csrf = token;
}

/** Relative, so that the page can live below a path of a proxy. */
export function address(path: string): string {
  return new URL(path.replace(/^\//, ""), document.baseURI).href;
}

/** Asks once more where another tab has logged in meanwhile: the cookie is another one then. */
export async function send(method: string, path: string, asked: Asked = {}): Promise<Response> {
  try {
    return await sendOnce(method, path, asked);
  } catch (error) {
    if (Problem.of(error).code !== "no_csrf") throw error;
    const login = await (await sendOnce("GET", "/api/login")).json();
    proveWith(login.csrf ?? undefined);
    return sendOnce(method, path, asked);
  }
}

async function sendOnce(method: string, path: string, asked: Asked = {}): Promise<Response> {
  const headers = new Headers(asked.headers);
  if (method !== "GET" && csrf) headers.set("x-tollgate-csrf", csrf);
  let body = asked.text;
  if (asked.body !== undefined) {
    headers.set("content-type", "application/json");
    body = JSON.stringify(asked.body);
  }
  let response: Response;
  try {
    response = await fetch(address(path), { method, headers, body, signal: asked.signal });
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    throw new Problem(0, "unreachable", "the gateway does not answer; is it running?");
  }
  if (response.ok || asked.refusals) return response;
  throw await problem(response);
}

export async function call<T>(method: string, path: string, asked: Asked = {}): Promise<T> {
  const response = await send(method, path, asked);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

export const get = <T>(path: string, signal?: AbortSignal) => call<T>("GET", path, { signal });
export const post = <T>(path: string, body: unknown = {}) => call<T>("POST", path, { body });

/** `/api` answers with RFC 9457, `/v1` in the shape of the API that was called. */
async function problem(response: Response): Promise<Problem> {
  const text = await response.text();
  try {
    const { title, detail, code, error, ...more } = JSON.parse(text);
    const said = detail ?? error?.message ?? error ?? title;
    return new Problem(response.status, code ?? error?.code ?? "", String(said), more);
  } catch {
    return new Problem(response.status, "", text || `the gateway answered ${response.status}`);
  }
}

/** A path whose parts may hold anything. */
export function path(...parts: string[]): string {
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

export function query(values: Record<string, string | number | boolean | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return search.size > 0 ? `?${search}` : "";
}
