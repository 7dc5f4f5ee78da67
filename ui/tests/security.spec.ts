// S-17: the login cookie works for the page only. Tested against the API directly, and from a page
// of another origin.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type BrowserContext, test as base } from "@playwright/test";
import { desk, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(desk());
  await isUp(gateway);
});
test.afterAll(async () => gateway.stop());

interface Entered {
  /** `name=value` */
  cookie: string;
  set: string;
  csrf: string;
}

async function enter(key = gateway.token, at = gateway): Promise<Entered> {
  const response = await fetch(`${at.url}/api/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ key }),
  });
  expect(response.status).toBe(200);
  const set = response.headers.get("set-cookie") ?? "";
  const { csrf } = (await response.json()) as { csrf: string };
  return { cookie: set.split(";")[0] ?? "", set, csrf };
}

async function ask(method: string, path: string, headers: Record<string, string>) {
  const body = method === "GET" || method === "DELETE" ? undefined : "{}";
  const sent = body ? { "content-type": "application/json", ...headers } : headers;
  const response = await fetch(gateway.url + path, { method, headers: sent, body });
  const text = await response.text();
  const code = text.startsWith("{") ? (JSON.parse(text).code ?? "") : "";
  return { status: response.status, code: code as string, text };
}

/** A browser that is logged in. */
async function carry(context: BrowserContext, { cookie }: Entered) {
  const [name = "", value = ""] = cookie.split("=");
  const { hostname: domain } = new URL(gateway.url);
  const [httpOnly, sameSite, path] = [true, "Strict" as const, "/"];
  await context.addCookies([{ name, value, domain, path, httpOnly, sameSite }]);
}

test("the cookie is out of reach of scripts and other sites, and has no domain", async () => {
  const { set } = await enter();
  expect(set).toMatch(/^tollgate-\d+=[\w-]{20,}; /);
  expect(set).toContain("; HttpOnly");
  expect(set).toContain("; SameSite=Strict");
  expect(set).toContain("; Path=/");
  expect(set).not.toMatch(/domain/i);
});

test("what changes something by cookie needs the proof, and another's does not do", async () => {
  const [ours, others] = [await enter(), await enter()];
  for (const [method, path] of [
    ["POST", "/api/reload"],
    ["PUT", "/api/config"],
    ["POST", "/api/servers"],
    ["DELETE", "/api/servers/desk"],
    ["POST", "/api/keys"],
    ["DELETE", "/api/keys/any"],
    ["POST", "/v1/tools/execute"],
    ["POST", "/v1/chat/completions"],
    ["POST", "/mcp/test/desk"],
  ] as const) {
    const proofs: Record<string, string>[] = [
      {},
      { "x-tollgate-csrf": "" },
      { "x-tollgate-csrf": others.csrf },
    ];
    for (const headers of proofs) {
      const asked = await ask(method, path, { cookie: ours.cookie, ...headers });
      expect([asked.status, path], asked.text).toEqual([403, path]);
    }
  }
  const proven = { cookie: ours.cookie, "x-tollgate-csrf": ours.csrf };
  expect((await ask("POST", "/api/reload", proven)).status).toBe(200);
});

test("pages of other origins are refused, whatever they bring", async () => {
  const { cookie, csrf } = await enter();
  const proven = { cookie, "x-tollgate-csrf": csrf };
  for (const origin of ["https://evil.example", "null", "http://127.0.0.1.evil.example"]) {
    for (const [method, path] of [
      ["POST", "/api/reload"],
      ["GET", "/api/servers"],
      ["POST", "/api/login"],
    ] as const) {
      const asked = await ask(method, path, { ...proven, origin });
      expect([asked.status, asked.code], `${origin} ${path}`).toEqual([403, "origin_not_allowed"]);
    }
  }
});

base(
  "somebody else's page in the same browser changes nothing, reads nothing, frames nothing",
  async ({ page, context }) => {
    await carry(context, await enter());
    const before = gateway.config();
    // The same host with another port is the same site for cookies.
    const html = `<!doctype html><title>evil</title><iframe src="${gateway.url}/"></iframe>`;
    const evil = createServer((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end(html);
    }).listen(0, "127.0.0.1");
    await once(evil, "listening");
    const { port } = evil.address() as AddressInfo;
    const framed = page.waitForEvent("console", (said) => /frame/i.test(said.text()));
    await page.goto(`http://127.0.0.1:${port}/`);
    expect((await framed).text()).toMatch(/frame-ancestors|X-Frame-Options/);
    const tried = await page.evaluate(attack, gateway.url);
    expect(tried).toEqual({ read: "refused", proven: "refused", login: "refused" });
    expect(gateway.config()).toBe(before);
    const { servers } = await gateway.ask<{ servers: { id: string; state: string }[] }>(
      "GET",
      "/api/servers",
    );
    expect(servers.find((it) => it.id === "desk")?.state).toBe("ready");
    evil.close();
  },
);

async function attack(url: string) {
  const outcome = (asked: Promise<Response>) =>
    asked.then(
      async (response) => `read ${(await response.text()).slice(0, 80)}`,
      () => "refused",
    );
  const credentials = "include" as const;
  // Simple requests need no preflight; they must have no effect.
  const blind = { method: "POST", mode: "no-cors" as const, credentials, body: "{}" };
  for (const path of ["/api/reload", "/api/servers/desk/disable", "/v1/tools/execute"]) {
    await fetch(url + path, blind).catch(() => undefined);
  }
  const headers = { "x-tollgate-csrf": "guess", "content-type": "application/json" };
  return {
    read: await outcome(fetch(`${url}/api/servers`, { credentials })),
    proven: await outcome(
      fetch(`${url}/api/servers/desk/disable`, {
        method: "POST",
        credentials,
        headers,
        body: "{}",
      }),
    ),
    login: await outcome(fetch(`${url}/api/login`, { credentials })),
  };
}

test("asking changes nothing: every GET leaves all as it was", async () => {
  const { paths } = await gateway.ask<{ paths: Record<string, Record<string, unknown>> }>(
    "GET",
    "/api/openapi.json",
  );
  const { cookie } = await enter();
  const standing = async () => {
    const parts = ["/api/servers", "/api/keys", "/api/agents", "/api/approvals", "/api/sessions"];
    const all = await Promise.all(parts.map((path) => gateway.ask<object>("GET", path)));
    const { last } = await gateway.ask<{ last: number }>("GET", "/api/audit?limit=1");
    const text = JSON.stringify([...all, last]);
    return [gateway.config(), text.replaceAll(/"(last_ok|last_used)":("[^"]*"|null)/g, "")];
  };
  const fill = (path: string) =>
    path
      .replaceAll("{server}", "desk")
      .replaceAll("{tool}", "say")
      .replaceAll(/\{\w+\}/g, "desk");
  // Wait until idle: after startup the gateway still calibrates its tools and writes audit rows.
  let before = await standing();
  await expect(async () => {
    const was = before;
    before = await standing();
    expect(before).toEqual(was);
  }).toPass({ intervals: [1500] });
  expect(Object.keys(paths).length).toBeGreaterThan(30);
  for (const [path, methods] of Object.entries(paths)) {
    const leaving = new AbortController();
    const response = await fetch(gateway.url + fill(path), {
      headers: { cookie },
      signal: leaving.signal,
    });
    leaving.abort();
    // A server may be named `try`, so a GET of that path is a 404 for an unknown server.
    if (methods.get === undefined) expect([404, 405], path).toContain(response.status);
  }
  expect(await standing()).toEqual(before);
});

test("a hundred wrong keys are too many", async () => {
  const guessed = await Gateway.start();
  const tried: number[] = [];
  for (let at = 0; at < 100; at += 1) {
    const response = await fetch(`${guessed.url}/api/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ key: `tg_guess${at}` }),
    });
    tried.push(response.status);
    if (response.status === 429)
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  expect(tried[0]).toBe(401);
  expect(tried.filter((status) => status === 401).length).toBeLessThan(15);
  expect(tried.at(-1)).toBe(429);
  await guessed.stop();
});

test("who logged out is nobody, also with the old cookie", async () => {
  const { cookie, csrf } = await enter();
  expect((await ask("GET", "/api/servers", { cookie })).status).toBe(200);
  const left = await fetch(`${gateway.url}/api/login`, {
    method: "DELETE",
    headers: { cookie, "x-tollgate-csrf": csrf },
  });
  expect(left.status).toBe(204);
  expect(left.headers.get("set-cookie")).toContain("Max-Age=0");
  expect((await ask("GET", "/api/servers", { cookie })).status).toBe(401);
  expect((await ask("GET", "/api/login", { cookie })).status).toBe(401);
});

test("a key that is revoked takes its login and its streams along", async ({ page }) => {
  const { key } = await gateway.ask<{ key: string }>("POST", "/api/keys", {
    name: "visitor",
    role: "admin",
  });
  const { cookie } = await enter(key);
  const stream = await fetch(`${gateway.url}/api/events`, { headers: { cookie } });
  const ended = stream.text();
  await page.goto(`${gateway.page}/#token=${key}`);
  await expect(page.getByRole("navigation", { name: "Pages" })).toBeVisible();
  await gateway.ask("DELETE", "/api/keys/visitor");
  await ended;
  expect((await ask("GET", "/api/login", { cookie })).status).toBe(401);
  await expect(page.getByLabel("Key")).toBeVisible({ timeout: 40_000 });
});
