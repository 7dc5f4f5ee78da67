// The HTTP client for the gateway: same origin, authenticated by the login cookie.

/** An error response (RFC 9457 problem details), or the reason the gateway was unreachable. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    /** Further members, such as `errors` of a config or `yaml` to copy. */
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
  /** A body that is already serialized. */
  text?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Error responses are thrown unless the caller wants them returned. */
  refusals?: "returned";
}

let csrf: string | undefined;

/** The token that every write has to carry. */
export function proveWith(token: string | undefined) {
  csrf = token;
}

/** Relative to the page, which may live below a path of a proxy. */
export function address(path: string): string {
  return new URL(path.replace(/^\//, ""), document.baseURI).href;
}

/** Retries once with a new CSRF token: another tab may have logged in and replaced the cookie. */
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
    throw new Problem(0, "unreachable", "The gateway is unreachable. Check that it is running.");
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

/** `/api` returns RFC 9457 problems, `/v1` the error format of the API that was called. */
async function problem(response: Response): Promise<Problem> {
  const text = await response.text();
  try {
    const { title, detail, code, error, ...more } = JSON.parse(text);
    const said = detail ?? error?.message ?? error ?? title;
    return new Problem(response.status, code ?? error?.code ?? "", String(said), more);
  } catch {
    return new Problem(response.status, "", text || `The gateway returned ${response.status}.`);
  }
}

/** A path from segments, escaped. */
export function path(...parts: string[]): string {
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

export function query(values: Record<string, string | number | boolean | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return search.size > 0 ? `?${search}` : "";
}
