import { desk, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(desk());
  await isUp(gateway);
});
test.afterAll(() => gateway.stop());

test("what was typed and what came stays while one looks elsewhere and while the server is away", async ({
  page,
}) => {
  let away = false;
  await page.route("**/api/tools/desk/say", async (route) => {
    const response = await route.fetch();
    const tool = await response.json();
    await route.fulfill({ json: away ? { ...tool, offered: null, online: false } : tool });
  });
  await gateway.open(page, "tools/desk/say");
  const text = page.getByLabel("text", { exact: true });
  const run = page.getByRole("button", { name: "Run", exact: true });
  const came = page.getByRole("region", { name: "Outcome" }).getByText("kept words").first();
  await text.fill("kept words");
  await run.click();
  await expect(came).toBeVisible();

  await page.getByRole("tab", { name: "Trust" }).click();
  await expect(text).toBeHidden();
  await page.getByRole("tab", { name: "Try it" }).click();
  await expect(text).toHaveValue("kept words");
  await expect(came).toBeVisible();

  away = true;
  await gateway.ask("POST", "/api/reload", {});
  await expect(page.getByText("Server unavailable. This tool cannot be called.")).toBeVisible({
    timeout: 15_000,
  });
  await expect(run).toBeDisabled();
  await expect(text).toHaveValue("kept words");
  away = false;
  await gateway.ask("POST", "/api/reload", {});
  await expect(run).toBeEnabled({ timeout: 15_000 });
  await expect(text).toHaveValue("kept words");
  await expect(came).toBeVisible();
  // The page keeps polling.
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("two quick clicks are one call", async ({ page }) => {
  let asked = 0;
  page.on("request", (it) => (asked += it.url().endsWith("/v1/tools/execute") ? 1 : 0));
  await gateway.open(page, "tools/desk/wait");
  await page.getByLabel("ms", { exact: true }).fill("300");
  await page.getByRole("button", { name: "Run", exact: true }).dblclick();
  await expect(page.getByRole("region", { name: "Outcome" })).toContainText("waited");
  expect(asked).toBe(1);
});

test("a call that is tried ends when its page is left", async ({ page }) => {
  await gateway.open(page, "tools/desk/wait");
  await page.getByLabel("ms", { exact: true }).fill("30000");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const running = async () =>
    (await gateway.ask<{ running: unknown[] }>("GET", "/api/calls?probes=false")).running.length;
  await expect.poll(running).toBe(1);
  await page.getByRole("link", { name: "Approvals" }).click();
  // Earlier than its own duration.
  await expect.poll(running, { timeout: 5000 }).toBe(0);
});
