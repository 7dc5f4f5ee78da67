// A gateway with one test server whose tools wait and fail on request.
import { resolve } from "node:path";
import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, type Gateway } from "./gateway";

const SERVER = JSON.stringify([process.execPath, resolve("tests/servers/desk.mjs")]);

/** `more` is YAML appended to the config. */
export function desk(more = ""): string {
  return `servers:
  desk:
    command: ${SERVER}
    calibrate: false
    tools:
      say: { approval: never, effect: read_only, estimated_duration_ms: 50 }
      wait: { approval: never, effect: read_only, estimated_duration_ms: 50 }
      wipe: { approval: always }
providers:
  demo: { kind: offline }
models:
  offline: { provider: demo, context_window: 32000 }
agents:
  clerk:
    description: Keeps a desk
    models: [offline]
    tools: ["desk_*", roll]
    auto_execute: [desk_say, desk_wait, roll]
  brisk:
    models: [offline]
    tools: ["desk_*", roll]
    auto_execute: [desk_say, desk_wait, roll]
    budget_tier: fast
default_agent: clerk
${more}`;
}

export async function isUp(gateway: Gateway, server = "desk") {
  await expect
    .poll(async () => {
      const { servers } = await gateway.ask<{ servers: { id: string; state: string }[] }>(
        "GET",
        "/api/servers",
      );
      return servers.find((it) => it.id === server)?.state;
    })
    .toBe("ready");
}

/** Calls a tool over HTTP. */
export function execute(gateway: Gateway, name: string, given: unknown, more: object = {}) {
  return gateway.ask<{ status: string; message: string }>("POST", "/v1/tools/execute", {
    name,
    arguments: given,
    ...more,
  });
}

/** Checks the page with axe. In the dark theme only the contrast is checked. */
export async function isAccessible(page: Page) {
  await expect(page.locator("main h1")).toBeVisible();
  await page.emulateMedia({ colorScheme: "light" });
  await expect(broken(new AxeBuilder({ page }))).resolves.toEqual([]);
  await page.emulateMedia({ colorScheme: "dark" });
  const colours = new AxeBuilder({ page }).withRules("color-contrast");
  await expect(broken(colours), "dark").resolves.toEqual([]);
}

async function broken(rules: AxeBuilder): Promise<string[]> {
  const { violations } = await rules.analyze();
  return violations.map((it) => `${it.id}: ${it.nodes[0]?.target} ${it.help}`);
}
