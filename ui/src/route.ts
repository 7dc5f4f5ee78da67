// Where we are: `#/tools/fs/read?agent=x`. Behind the `#` nothing reaches a server, and the page
// can live below any path.
import { useSyncExternalStore } from "react";

export interface Route {
  /** Without the page itself, each part decoded. */
  parts: string[];
  page: string;
  query: URLSearchParams;
}

function read(): Route {
  return parse(location.hash);
}

export function parse(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", ...parts] = path.split("/").map(decoded);
  return { page, parts: parts.filter(Boolean), query: new URLSearchParams(search) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

let known = { hash: location.hash, route: read() };

function current(): Route {
  if (known.hash !== location.hash) known = { hash: location.hash, route: read() };
  return known.route;
}

function subscribe(changed: () => void) {
  addEventListener("hashchange", changed);
  return () => removeEventListener("hashchange", changed);
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, current);
}

/** The address of a page; parts may hold anything. */
export function to(page: string, ...parts: string[]): string {
  return `#/${[page, ...parts].map(encodeURIComponent).join("/")}`;
}

export function go(href: string) {
  location.hash = href;
}

/** The same page with another query; it makes no new entry in the history. */
export function narrow(values: Record<string, string | undefined>) {
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
