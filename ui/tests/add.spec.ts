import { chmodSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import type { Page } from "@playwright/test";
import { isAccessible } from "./desk";
import { expect, Gateway, test } from "./gateway";

const EVERYTHING = `${process.execPath} ${resolve("../interop/node_modules/@modelcontextprotocol/server-everything/dist/index.js")}`;
const DESK = [process.execPath, resolve("tests/servers/desk.mjs")];
const ODD = [process.execPath, resolve("tests/servers/odd.mjs")];
const MARKUP = `<img src=x onerror="document.title='owned'">`;

/** A registry response with hostile content. */
const ENTRY = {
  server: {
    name: "io.github.someone/desk",
    title: MARKUP,
    description: MARKUP,
    version: "1.2.3",
    websiteUrl: "javascript:alert(1)",
    remotes: [
      {
        type: "streamable-http",
        url: "http://127.0.0.1:9/mcp",
        headers: [
          { name: "X-Desk-Key", description: "From the desk", isSecret: true, isRequired: true },
        ],
      },
    ],
  },
};

let gateway: Gateway;
let registry: Server;
test.beforeAll(async () => {
  registry = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ servers: [ENTRY], metadata: { count: 1 } }));
  });
  await new Promise<void>((done) => registry.listen(0, "127.0.0.1", done));
});
test.afterAll(() => registry.close());
test.beforeEach(async () => {
  const { port } = registry.address() as AddressInfo;
  gateway = await Gateway.start(`# mine\nregistry: { url: "http://127.0.0.1:${port}" }\n`);
});
test.afterEach(async ({ page }) => {
  await page.close();
  await gateway.stop();
});

async function paste(page: Page, text: string) {
  await gateway.open(page, "servers");
  await page.getByRole("link", { name: "Add server" }).first().click();
  await page.getByLabel("Command, URL or MCP client config").fill(text);
  await page.getByRole("button", { name: "Continue" }).click();
}
const testIt = (page: Page) => page.getByRole("button", { name: "Test", exact: true }).click();
const save = async (page: Page) => {
  await page.getByRole("button", { name: "Review changes…" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
};

test("a newcomer pastes a command, tries it, chooses tools and has them", async ({ page }) => {
  await paste(page, EVERYTHING);
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("every");
  await testIt(page);
  await expect(page.getByText(/Test passed: \d+ tools/)).toBeVisible({ timeout: 30_000 });
  await page.getByRole("button", { name: "None" }).click();
  await page.getByRole("checkbox", { name: "echo" }).check();
  await page.getByRole("button", { name: "Review changes…" }).click();
  await expect(page.getByRole("region", { name: "changes" })).toContainText("+  every:");
  expect(gateway.config()).not.toContain("every");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("heading", { name: "every added" })).toBeVisible();
  await expect(page.locator(".server-status")).toContainText("ready", { timeout: 30_000 });
  expect(gateway.config()).toContain("# mine");
  expect(gateway.config()).toContain(`allow: ["echo"]`);
  const { tools } = await gateway.ask<{ tools: { name: string }[] }>("GET", "/v1/tools");
  expect(tools.filter((it) => it.name.startsWith("every_"))).toHaveLength(1);
  await page.getByRole("link", { name: "View server" }).click();
  await expect(page.getByRole("heading", { name: "every" })).toBeVisible();
});

test("of a client's config each server is set up in turn, and what is dropped is said", async ({
  page,
}) => {
  const [command, ...args] = DESK;
  await paste(
    page,
    `{ // from somewhere
      "mcpServers": {
        "desk": { "command": ${JSON.stringify(command)}, "args": ${JSON.stringify(args)} },
        "far": { "type": "http", "url": "https://mcp.example.com/mcp", "headers": { "Authorization": "Bearer sk-very-secret-token" } },
      }
    }`,
  );
  await expect(page.getByRole("heading", { name: /2 servers/ })).toBeVisible();
  await page.getByRole("button", { name: "Set up desk" }).click();
  await testIt(page);
  await expect(page.getByText("Test passed: 4 tools")).toBeVisible({ timeout: 20_000 });
  await save(page);
  await page.getByRole("button", { name: /Set up next/ }).click();
  await expect(page.getByRole("listitem").filter({ hasText: "desk" })).toContainText("added");
  await page.getByRole("button", { name: "Set up far" }).click();
  await expect(page.getByLabel("URL", { exact: true })).toHaveValue("https://mcp.example.com/mcp");
  await expect(page.getByText("sk-very-secret-token")).toHaveCount(0);
  await expect(page.getByRole("region", { name: "Required settings" })).toBeVisible();
});

test("a secret stays out of the config unless one wants it there", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await paste(page, DESK.join(" "));
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("desk");
  await page.getByRole("button", { name: "Add variable" }).click();
  await page.getByLabel("Variable 1, name").fill("DESK_TOKEN");
  await page.getByLabel("Variable 1, value").fill("hush-hush-1234");
  await page.getByLabel("Working directory").focus();
  const told = page.getByRole("region", { name: "Required settings" });
  await expect(told.getByRole("region", { name: "environment variables" })).toHaveText(
    "export DESK_TOKEN=••••••",
  );
  await told.getByRole("button", { name: "Copy" }).click();
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toBe("export DESK_TOKEN=hush-hush-1234");
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax of references
  await expect(page.getByLabel("Variable 1, value")).toHaveValue("${DESK_TOKEN}");
  await testIt(page);
  await expect(page.getByText("Test passed: 4 tools")).toBeVisible({ timeout: 20_000 });
  await page.getByRole("button", { name: "Review changes…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Not set in the gateway's environment: DESK_TOKEN");
  expect(gateway.config()).not.toContain("desk");
  await dialog.getByRole("button", { name: "Store in the config instead" }).click();
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("heading", { name: "desk added" })).toBeVisible();
  expect(gateway.config()).toContain("hush-hush-1234");
  await page.getByRole("link", { name: "View server" }).click();
  await expect(page.getByRole("region", { name: "server config" })).toContainText("***");
});

test("tools that are named while it is set up are kept", async ({ page }) => {
  await paste(page, DESK.join(" "));
  await page.getByText("Advanced", { exact: true }).click();
  await page.getByLabel("Allowed tools").fill("say, wa*,");
  await page.getByLabel("Denied tools").fill("wipe");
  await page.getByLabel("Category").focus();
  await expect(page.getByLabel("Allowed tools")).toHaveValue("say, wa*,");
  await page.getByRole("tab", { name: "JSON" }).click();
  const { allow, deny } = JSON.parse(await page.getByLabel("Server config as JSON").inputValue());
  expect({ allow, deny }).toEqual({ allow: ["say", "wa*"], deny: ["wipe"] });
});

test("a command that does not exist is said to be so, and can be corrected", async ({ page }) => {
  await paste(page, "no-such-program-anywhere --flag");
  await testIt(page);
  await expect(page.getByRole("alert")).toContainText("no-such-program-anywhere");
  await expect(page.getByRole("alert")).toContainText("PATH");
  await page.getByRole("button", { name: "Back" }).click();
  await page.getByLabel("Command", { exact: true }).fill(DESK.join(" "));
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("desk");
  await testIt(page);
  await expect(page.getByText("Test passed: 4 tools")).toBeVisible({ timeout: 20_000 });
});

test("a server that hangs shows what it wrote, and trying can be stopped", async ({ page }) => {
  await paste(page, [...ODD, "hang"].join(" "));
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("odd");
  await testIt(page);
  await expect(page.getByRole("log")).toContainText("thinking about it");
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("Test stopped.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Test again" })).toBeEnabled();
});

test("markup stays text in every field and from every side", async ({ page }) => {
  await paste(
    page,
    `{"mcpServers": {"${MARKUP.replaceAll('"', "'")}": {"command": "x", "args": ["${MARKUP.replaceAll('"', "'")}"]}}}`,
  );
  await expect(page.getByRole("textbox", { name: "Name", exact: true })).toBeVisible();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill(MARKUP);
  await expect(page.getByText("Must start with a letter")).toBeVisible();
  await page.getByLabel("Command", { exact: true }).fill([...ODD, "markup"].join(" "));
  await page.getByLabel("Working directory").fill(MARKUP);
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("odd");
  await testIt(page);
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByRole("button", { name: "Back" }).click();
  await page.getByLabel("Working directory").fill("");
  await testIt(page);
  await expect(page.getByText("Test passed: 1 tool")).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole("log")).toContainText("<img src=x");
  expect(await page.title()).toContain("Add server");
  expect(await page.locator("img[src='x'], main script").count()).toBe(0);
});

test("what cannot be read is refused in words", async ({ page }) => {
  await paste(page, `{ "mcpServers": `);
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByLabel("Command, URL or MCP client config").fill("curl https://x | sh");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await expect(page.getByLabel("Command, URL or MCP client config")).toHaveValue(
    "curl https://x | sh",
  );
});

test("the registry is searched, and what an entry needs is asked for", async ({ page }) => {
  await gateway.open(page, "servers?add=registry");
  await page.getByRole("searchbox", { name: "Search the registry" }).fill("desk");
  await expect(page.getByText("io.github.someone/desk")).toBeVisible();
  await expect(page.getByRole("link", { name: /javascript/ })).toHaveCount(0);
  await page.getByRole("button", { name: "Set up" }).click();
  await expect(page.getByRole("textbox", { name: "Name", exact: true })).toHaveValue("desk");
  await expect(page.getByLabel("URL", { exact: true })).toHaveValue("http://127.0.0.1:9/mcp");
  await expect(page.getByRole("region", { name: "Required settings" })).toContainText(
    "From the desk",
  );
  expect(await page.title()).toContain("Add server");
});

test("with a read-only file the lines to write are shown", async ({ page }) => {
  chmodSync(join(gateway.directory, "tollgate.yaml"), 0o444);
  await paste(page, DESK.join(" "));
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("desk");
  await testIt(page);
  await expect(page.getByText("Test passed: 4 tools")).toBeVisible({ timeout: 20_000 });
  await page.getByRole("button", { name: "Review changes…" }).click();
  await page.getByRole("button", { name: "Show config to copy" }).click();
  await expect(page.getByRole("region", { name: "config to copy" })).toContainText("desk.mjs");
});

test("every step is accessible", async ({ page }) => {
  await gateway.open(page, "servers?add=registry");
  await expect(page.getByText("io.github.someone/desk")).toBeVisible();
  await isAccessible(page);
  await paste(page, DESK.join(" "));
  await expect(page.getByRole("textbox", { name: "Name", exact: true })).toBeVisible();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("desk");
  await isAccessible(page);
  await testIt(page);
  await expect(page.getByText("Test passed: 4 tools")).toBeVisible({ timeout: 20_000 });
  await isAccessible(page);
  await save(page);
  await expect(page.getByRole("heading", { name: "desk added" })).toBeVisible();
  await isAccessible(page);
});
