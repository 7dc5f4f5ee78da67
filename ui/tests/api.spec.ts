import type { Page, Request } from "@playwright/test";
import { isAccessible, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";
import { ODD } from "./kinds";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(ODD);
  await isUp(gateway, "odd");
});
test.afterAll(() => gateway.stop());

const operations = (page: Page) => page.getByRole("navigation", { name: "Operations" });
const tried = (page: Page) => page.getByRole("region", { name: "Try it" });

async function choose(page: Page, method: string, path: string) {
  await page.getByLabel("Search operations").fill(`${method} ${path}`);
  const link = operations(page)
    .getByRole("link")
    .filter({ has: page.getByText(path, { exact: true }) });
  await link.filter({ has: page.getByText(method, { exact: true }) }).click();
}

test("every operation can be opened", async ({ page }) => {
  const { paths } = await gateway.ask<{
    paths: Record<string, Record<string, { operationId: string }>>;
  }>("GET", "/api/openapi.json");
  const ids = Object.values(paths).flatMap((item) =>
    ["get", "put", "post", "delete", "patch"].flatMap((method) => item[method]?.operationId ?? []),
  );
  expect(ids.length).toBeGreaterThan(40);
  await gateway.open(page, "api");
  await expect(operations(page).getByRole("link")).toHaveCount(ids.length);
  for (const id of ids) {
    await page.evaluate((id) => {
      location.hash = `#/api/${encodeURIComponent(id)}`;
    }, id);
    await expect(page.locator(".api-one .panel-head code.quiet")).toHaveText(id);
  }
});

test("a read is tried at once, with its parameters", async ({ page }) => {
  await gateway.open(page, "api");
  await choose(page, "GET", "/api/tools/{server}/{tool}");
  const send = tried(page).getByRole("button", { name: "Send", exact: true });
  await expect(send).toBeDisabled();
  await tried(page).getByLabel("server", { exact: true }).fill("odd");
  await tried(page).getByLabel("tool", { exact: true }).fill("slow");
  await expect(tried(page).getByRole("region", { name: "curl" })).toContainText(
    "/api/tools/odd/slow",
  );
  await send.click();
  await expect(tried(page).getByText("200", { exact: true })).toBeVisible();
  await expect(tried(page).getByRole("region", { name: "response" })).toContainText(
    '"name": "odd_slow"',
  );
  await tried(page).getByLabel("tool", { exact: true }).fill("a/b?c");
  await send.click();
  await expect(tried(page).getByText("404", { exact: true })).toBeVisible();
  await expect(tried(page).getByRole("region", { name: "response" })).toContainText("detail");
});

test("a write is asked about first, and its body is a form", async ({ page }) => {
  await gateway.open(page, "api");
  await choose(page, "POST", "/v1/tier");
  await tried(page).getByLabel("text", { exact: true }).fill("tell me everything");
  await tried(page).getByRole("button", { name: "Send", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("tell me everything");
  await page.keyboard.press("Escape");
  await expect(tried(page).getByRole("region", { name: "response" })).toHaveCount(0);
  await tried(page).getByRole("button", { name: "Send", exact: true }).click();
  await dialog.getByRole("button", { name: "Send", exact: true }).click();
  await expect(tried(page).getByRole("region", { name: "response" })).toContainText(
    '"tier": "deep"',
  );
});

test("a stream is shown as it comes, until it is stopped", async ({ page }) => {
  await gateway.open(page, "api");
  await choose(page, "GET", "/api/events");
  await tried(page).getByRole("button", { name: "Send", exact: true }).click();
  await expect(tried(page).getByRole("button", { name: "Stop" })).toBeVisible();
  await expect(async () => {
    await gateway.ask("POST", "/api/reload", {});
    const answer = tried(page).getByRole("region", { name: "response" });
    await expect(answer).toContainText("reloaded", { timeout: 2000 });
  }).toPass();
  await expect(tried(page).getByText("streaming")).toBeVisible();
  await tried(page).getByRole("button", { name: "Stop" }).click();
  const send = tried(page).getByRole("button", { name: "Send", exact: true });
  await expect(send).toBeEnabled();
  await send.click();
  await expect(tried(page).getByText("streaming")).toBeVisible();
  const isStream = (it: Request) =>
    it.resourceType() === "fetch" && it.url().includes("/api/events");
  const closed = page.waitForEvent("requestfailed", isStream);
  await page.getByRole("link", { name: "Approvals" }).click();
  await closed;
});

test("the API can be used by everybody", async ({ page }) => {
  await gateway.open(page, "api");
  await isAccessible(page);
  await choose(page, "POST", "/v1/tools/execute");
  await expect(tried(page)).toBeVisible();
  await isAccessible(page);
});
