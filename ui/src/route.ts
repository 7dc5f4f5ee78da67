// Hash routes such as `#/tools/fs/read?agent=x`. The hash never reaches a server, and the page works
// below any base path.
import { useSyncExternalStore } from "react";

export interface Route {
  /** Path segments after the page, decoded. */
  parts: string[];
  page: string;
  query: URLSearchParams;
}

function readRoute(): Route {
  return parse(location.hash);
}

export function parse(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", ...parts] = path.split("/").map(decodePart);
  return { page, parts: parts.filter(Boolean), query: new URLSearchParams(search) };
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

let cached = { hash: location.hash, route: readRoute() };

function current(): Route {
  if (cached.hash !== location.hash) cached = { hash: location.hash, route: readRoute() };
  return cached.route;
}

function subscribe(listener: () => void) {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, current);
}

/** The link to a page; parts are escaped. */
export function to(page: string, ...parts: string[]): string {
  return `#/${[page, ...parts].map(encodeURIComponent).join("/")}`;
}

export function navigate(href: string) {
  location.hash = href;
}

/** Changes the query of the current page without a new history entry. */
export function setQuery(values: Record<string, string | undefined>) {
  const route = current();
  const query = new URLSearchParams(route.query);
  for (const [name, value] of Object.entries(values)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const search = query.size > 0 ? `?${query}` : "";
  history.replaceState(null, "", to(route.page, ...route.parts) + search);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
