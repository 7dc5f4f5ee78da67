// The HTTP client for the gateway: same origin, authenticated by the login cookie.

/** An error response (RFC 9457 problem details), or the reason the gateway was unreachable. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    /** Further members, such as `errors` of a config or `yaml` to copy. */
    readonly more: Record<string, unknown> = {},
  ) {
    super(detail);
  }

  static from(error: unknown): ApiError {
    if (error instanceof ApiError) return error;
    return new ApiError(0, "unreachable", error instanceof Error ? error.message : String(error));
  }
}

export interface RequestOptions {
  body?: unknown;
  /** A body that is already serialized. */
  text?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Error responses are thrown unless the caller wants them returned. */
  errorResponses?: "returned";
}

let csrf: string | undefined;

/** The token that every write has to carry. */
export function setCsrfToken(token: string | undefined) {
  csrf = token;
}

/** Relative to the page, which may live below a path of a proxy. */
export function absoluteUrl(path: string): string {
  return new URL(path.replace(/^\//, ""), document.baseURI).href;
}

/** Retries once with a new CSRF token: another tab may have logged in and replaced the cookie. */
export async function send(
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<Response> {
  try {
    return await sendOnce(method, path, options);
  } catch (error) {
    if (ApiError.from(error).code !== "no_csrf") throw error;
    const login = await (await sendOnce("GET", "/api/login")).json();
    setCsrfToken(login.csrf ?? undefined);
    return sendOnce(method, path, options);
  }
}

async function sendOnce(
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<Response> {
  const headers = new Headers(options.headers);
  if (method !== "GET" && csrf) headers.set("x-tollgate-csrf", csrf);
  let body = options.text;
  if (options.body !== undefined) {
    headers.set("content-type", "application/json");
    body = JSON.stringify(options.body);
  }
  let response: Response;
  try {
    response = await fetch(absoluteUrl(path), { method, headers, body, signal: options.signal });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The gateway is unreachable. Check that it is running.");
  }
  if (response.ok || options.errorResponses) return response;
  throw await readError(response);
}

export async function call<T>(
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<T> {
  const response = await send(method, path, options);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

export const get = <T>(path: string, signal?: AbortSignal) => call<T>("GET", path, { signal });
export const post = <T>(path: string, body: unknown = {}) => call<T>("POST", path, { body });

/** `/api` returns RFC 9457 problems, `/v1` the error format of the API that was called. */
async function readError(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const { title, detail, code, error, ...more } = JSON.parse(text);
    const message = detail ?? error?.message ?? error ?? title;
    return new ApiError(response.status, code ?? error?.code ?? "", String(message), more);
  } catch {
    return new ApiError(response.status, "", text || `The gateway returned ${response.status}.`);
  }
}

/** A path from segments, escaped. */
export function path(...parts: string[]): string {
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

export function query(values: Record<string, string | number | boolean | undefined>): string {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(entries.map(([name, value]) => [name, String(value)]));
  return search.size > 0 ? `?${search}` : "";
}
