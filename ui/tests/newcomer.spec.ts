// The whole journey of a new user, from the printed link to a connected client. Recorded as a trace.
import { resolve } from "node:path";
import { expect, Gateway, test } from "./gateway";

test.use({ trace: "on" });

const EVERYTHING = `${process.execPath} ${resolve("../interop/node_modules/@modelcontextprotocol/server-everything/dist/index.js")}`;

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start();
});
test.afterAll(() => gateway.stop());

/** A request of a client with its generated config. */
async function asks(
  at: { url: string; headers: Record<string, string> },
  method: string,
  params: object,
) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(at.url.replace(new URL(at.url).origin, gateway.url), {
    method: "POST",
    headers: {
      ...at.headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...("name" in params ? { "mcp-name": String(params.name) } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
  });
  return response.text();
}

test("a newcomer adds a server, tries a tool, sees its tier, connects a client and approves its call", async ({
  page,
}) => {
  test.setTimeout(180_000);
  await gateway.open(page);
  await expect(page.getByText("All clear")).toBeVisible();

  // Add a server by pasting its command.
  await page.getByRole("link", { name: "Servers", exact: true }).click();
  await page.getByRole("link", { name: "Add server" }).first().click();
  await page.getByLabel("Command, URL or MCP client config").fill(EVERYTHING);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("demo");
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await expect(page.getByText(/Test passed: \d+ tools/)).toBeVisible({ timeout: 30_000 });
  await expect(page.getByRole("checkbox", { name: "assistant" })).toBeChecked();
  await page.getByRole("button", { name: "Review changes…" }).click();
  await expect(page.getByRole("region", { name: "changes" })).toContainText("demo_*");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.locator(".server-status")).toContainText("ready", { timeout: 30_000 });

  // Run one of its tools.
  await page.getByRole("link", { name: "Try its tools" }).click();
  await page.getByRole("link", { name: "demo_echo" }).click();
  const form = page.getByRole("group", { name: "Arguments" });
  await form.getByLabel("message", { exact: true }).fill("good morning");
  const outcome = page.getByRole("region", { name: "Outcome" });
  for (let calls = 1; calls <= 6; calls += 1) {
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await expect(outcome.getByText("ok", { exact: true })).toBeVisible();
    await expect
      .poll(async () => (await measured()).calls, { message: "each run is measured" })
      .toBeGreaterThanOrEqual(calls);
  }
  await expect(outcome).toContainText("good morning");
  await page.getByRole("tab", { name: "Latency and tier" }).click();
  await expect(page.getByRole("img", { name: /latency|calls|took/i }).first()).toBeVisible();
  await expect(page.locator("main")).toContainText("measured", { timeout: 20_000 });

  // Require approval for it.
  await page.getByRole("link", { name: "Servers", exact: true }).click();
  await page.getByRole("link", { name: "demo", exact: true }).click();
  await page.getByRole("button", { name: "Edit…" }).click();
  const edit = page.getByRole("dialog", { name: "Edit demo" });
  await edit.getByRole("tab", { name: "JSON" }).click();
  const json = edit.getByRole("textbox", { name: "Server config as JSON" });
  const keys = { ...JSON.parse(await json.inputValue()), tools: { echo: { approval: "always" } } };
  await json.fill(JSON.stringify(keys, null, 2));
  await edit.getByRole("button", { name: "Review changes…" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);

  // Connect a client with its own key.
  await page.getByRole("link", { name: "Connect", exact: true }).click();
  await page.getByRole("button", { name: "Cursor", exact: true }).click();
  await page.getByRole("button", { name: "Create key for this client" }).click();
  const text = page.getByRole("region", { name: "config for Cursor" });
  await expect(text).toContainText("tg_");
  const { mcpServers } = JSON.parse((await text.textContent()) ?? "{}");
  const listed = await asks(mcpServers.tollgate, "tools/list", {});
  expect(listed).toContain("demo_echo");
  await expect(page.getByText(/Connected: last request from Cursor/)).toBeVisible({
    timeout: 20_000,
  });

  // Approve its call.
  const call = { name: "demo_echo", arguments: { message: "from the client" } };
  const answer = asks(mcpServers.tollgate, "tools/call", call);
  await page.getByRole("link", { name: /^Approvals/ }).click();
  const card = page.getByRole("article", { name: "demo_echo" });
  await expect(card).toContainText("from the client");
  await card.getByRole("button", { name: "Approve" }).click();
  expect(await answer).toContain("Echo: from the client");
});

async function measured(): Promise<{ calls: number }> {
  const tool = await gateway.ask<{ measured: { calls: number } | null }>(
    "GET",
    "/api/tools/demo/echo",
  );
  return tool.measured ?? { calls: 0 };
}
