import { isAccessible } from "./desk";
import { expect, Gateway, test } from "./gateway";

const CONFIG = `
agents:
  default: { tools: ["*"] }
  dicer: { description: Only dice, tools: ["roll*"] }
`;

let gateway: Gateway;
test.beforeEach(async () => {
  gateway = await Gateway.start(CONFIG);
});
test.afterEach(async ({ page }) => {
  await page.close();
  await gateway.stop();
});

test("a client gets a text with a key of its own, and is seen when it comes", async ({ page }) => {
  await gateway.open(page, "connect?client=cursor");
  await expect(page.getByText("No key is needed on this machine.")).toBeVisible();
  await page.getByRole("combobox", { name: "Agent" }).selectOption("dicer");
  const text = page.getByRole("region", { name: "config for Cursor" });
  await expect(text).toContainText("dicer");
  await page.getByRole("button", { name: "Create key for this client" }).click();
  const key = (await page.getByRole("region", { name: "secret" }).textContent()) ?? "";
  expect(key).toMatch(/^tg_/);
  await expect(text).toContainText(key);
  await expect(page.getByText(/Waiting for the first request from Cursor/)).toBeVisible();
  const link = await page.getByRole("link", { name: "Install in Cursor" }).getAttribute("href");
  const config = new URL(link ?? "").searchParams.get("config") ?? "";
  expect(atob(config)).toContain(key);

  const { mcpServers } = JSON.parse((await text.textContent()) ?? "{}");
  const { url, headers } = mcpServers.tollgate as { url: string; headers: Record<string, string> };
  const response = await fetch(url.replace(new URL(url).origin, gateway.url), {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "test", version: "1" },
      },
    }),
  });
  expect(response.status).toBe(200);
  await expect(page.getByText(/Connected: last request from Cursor/)).toBeVisible({
    timeout: 20_000,
  });
  await expect(page.getByRole("link", { name: "View calls" })).toHaveAttribute(
    "href",
    "#/calls?principal=key%3Acursor",
  );

  await page.getByRole("button", { name: "Claude Code" }).click();
  await expect(page.getByText(key)).toHaveCount(0);
  await expect(page.getByText("This gateway requires a key.")).toBeVisible();
});

test("a name that is taken or no name is refused in words", async ({ page }) => {
  await gateway.ask("POST", "/api/keys", { name: "cursor" });
  await gateway.open(page, "connect?client=cursor");
  const name = page.getByRole("textbox", { name: "Key name" });
  await expect(name).toHaveValue("cursor2");
  await name.fill("cursor");
  await page.getByRole("button", { name: "Create key for this client" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await name.fill(`<img src=x onerror="document.title='owned'">`);
  await page.getByRole("button", { name: "Create key for this client" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  expect(await page.title()).toContain("Connect");
});

test("the page is accessible", async ({ page }) => {
  await gateway.open(page, "connect");
  await expect(page.getByText(/Waiting for the first request/)).toBeVisible();
  await isAccessible(page);
});
