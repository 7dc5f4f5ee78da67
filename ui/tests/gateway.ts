// Starts the gateway binary for a test file, and fails tests with errors in the browser console.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test as base, expect, type Page } from "@playwright/test";
import { createServer, preview } from "vite";

export { expect };

const BINARY = resolve(process.env.TOLLGATE_BIN ?? "../target/debug/tollgate");

export class Gateway {
  private constructor(
    readonly url: string,
    /** The URL of the page. */
    readonly page: string,
    readonly token: string,
    readonly directory: string,
    private readonly child: ChildProcess,
    private readonly said: string[],
  ) {}

  /** On a free port, in a new directory; without `config` with the built-in defaults. */
  static async start(config?: string, env: Record<string, string> = {}): Promise<Gateway> {
    const directory = mkdtempSync(join(tmpdir(), "tollgate-page-"));
    const words = ["serve", "--listen", "127.0.0.1:0"];
    if (config !== undefined) writeFileSync(join(directory, "tollgate.yaml"), config);
    const child = spawn(BINARY, words, { cwd: directory, env: { ...process.env, ...env } });
    // A failed test may never call `stop`.
    process.once("exit", () => child.kill("SIGKILL"));
    const said: string[] = [];
    const url = await new Promise<string>((found, failed) => {
      child.stderr.on("data", (chunk: Buffer) => {
        said.push(chunk.toString());
        const ready = /tollgate is ready on (\S+)/.exec(said.join(""));
        if (ready?.[1]) found(ready[1]);
      });
      child.on("error", failed);
      child.on("exit", (code) =>
        failed(new Error(`tollgate ended with ${code}: ${said.join("")}`)),
      );
      setTimeout(() => failed(new Error(`tollgate is not ready: ${said.join("")}`)), 30_000);
    });
    const token = readFileSync(join(directory, ".tollgate/admin.token"), "utf8").trim();
    const page = process.env.UI_DEV ? await fromSources(url) : url;
    return new Gateway(url, page, token, directory, child, said);
  }

  log(): string {
    return this.said.join("");
  }

  /** The current config file. */
  config(): string {
    return readFileSync(join(this.directory, "tollgate.yaml"), "utf8");
  }

  /** Sends a request to the API as admin. */
  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.token}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    const response = await fetch(this.url + path, { method, headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** Opens a page, logged in by the link that `tollgate serve` prints. */
  async open(page: Page, route = ""): Promise<void> {
    await page.goto(`${this.page}/#token=${this.token}`);
    await expect(page.getByRole("navigation", { name: "Pages" })).toBeVisible();
    if (route) await page.goto(`${this.page}/#/${route}`);
  }

  async stop(): Promise<void> {
    const gone = new Promise((done) => this.child.once("exit", done));
    this.child.kill("SIGTERM");
    await Promise.race([gone, new Promise((done) => setTimeout(done, 10_000))]);
    this.child.kill("SIGKILL");
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** With UI_DEV=1 the page is served from the sources instead of the binary, with UI_DEV=dist from the
 * last `vite build`, which is faster. API requests are proxied to the gateway. */
async function fromSources(gateway: string): Promise<string> {
  const proxied = { target: gateway, changeOrigin: true };
  const proxy = { "/api": proxied, "/v1": proxied, "/mcp": proxied, "/metrics": proxied };
  if (process.env.UI_DEV === "dist") {
    const built = await preview({ preview: { port: 0, host: "127.0.0.1", proxy } });
    return built.resolvedUrls?.local[0]?.replace(/\/$/, "") ?? gateway;
  }
  const server = await createServer({ server: { port: 0, host: "127.0.0.1", hmr: false, proxy } });
  await server.listen();
  return server.resolvedUrls?.local[0]?.replace(/\/$/, "") ?? gateway;
}

/** Fails on console errors, blocked scripts and requests to other hosts. */
export const test = base.extend<{ quiet: string[] }>({
  quiet: [
    async ({ page }, use) => {
      const heard: string[] = [];
      page.on("console", (message) => {
        // Chromium logs expected 4xx responses as errors, too.
        const refused = /Failed to load resource: the server responded with a status of 4/;
        if (message.type() === "error" && !refused.test(message.text())) heard.push(message.text());
      });
      page.on("pageerror", (error) => heard.push(String(error)));
      page.on("request", (request) => {
        const { hostname, protocol } = new URL(request.url());
        if (protocol.startsWith("http") && hostname !== "127.0.0.1") heard.push(request.url());
      });
      await use(heard);
      expect(heard).toEqual([]);
    },
    { auto: true },
  ],
});
