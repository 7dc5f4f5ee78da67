// S-16: a server whose every text is markup. Nothing of it may run or fetch anything, and all of it
// has to be shown as text.
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";
import { HOSTILE } from "./kinds";

const PAYLOADS = JSON.parse(readFileSync("tests/servers/payloads.json", "utf8")) as string[];

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(HOSTILE);
  await isUp(gateway, "hostile");
});
test.afterAll(() => gateway.stop());

/** Hidden characters are escaped. */
const shown = (text: string) =>
  text.replace(/[\u202e\u2066]/g, (sign) => `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase()}⟩`);

const plain = (text: string) => text.replace(/[\u202e\u2066]/g, "");

/** Asserts that `act` causes no requests to other hosts, no dialogs and no popups. */
async function watched(page: Page, act: () => Promise<void>) {
  const heard: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(gateway.page)) heard.push(request.url());
  });
  page.on("dialog", (dialog) => {
    heard.push(dialog.message());
    void dialog.dismiss();
  });
  page.on("popup", () => heard.push("a window"));
  await act();
  expect(heard).toEqual([]);
}

async function isUnbroken(page: Page) {
  expect(await page.evaluate(() => "broken" in window)).toBe(false);
  expect(
    await page.evaluate(() => document.querySelectorAll("main script, iframe, object").length),
  ).toBe(0);
  expect(
    await page.locator("main img, main [onerror], main [onload], main form[action]").count(),
  ).toBe(0);
  const links = await page
    .locator("main a")
    .evaluateAll((all) => all.map((it) => it.getAttribute("href") ?? ""));
  for (const href of links) {
    if (!href.startsWith(gateway.page)) expect(href).toMatch(/^(#\/|https:\/\/)/);
  }
}

test("names, titles and descriptions in the list are text", async ({ page }) => {
  await watched(page, async () => {
    await gateway.open(page, "tools?view=flat&server=hostile");
    await expect(page.getByRole("link", { name: "hostile_tool_0", exact: true })).toBeVisible();
    const main = page.locator("main");
    for (const payload of PAYLOADS.slice(0, 12)) await expect(main).toContainText(shown(payload));
    await isUnbroken(page);
    await page.locator("#search").fill("<script>");
    await isUnbroken(page);
  });
});

for (const [at, payload] of PAYLOADS.entries()) {
  test(`a tool of ${JSON.stringify(payload)} is shown, tried and does nothing`, async ({
    page,
  }) => {
    await watched(page, async () => {
      await gateway.open(page, `tools/hostile/tool_${at}`);
      const main = page.locator("main");
      await expect(main.locator(".lead")).toContainText(shown(payload));
      const form = page.getByRole("group", { name: "Arguments" });
      await expect(form.getByText(shown(payload)).first()).toBeVisible();
      await form.getByLabel(plain(payload), { exact: true }).fill(payload);
      await page.getByRole("button", { name: "Run", exact: true }).click();
      const outcome = page.getByRole("region", { name: "Outcome" });
      await expect(outcome.getByRole("region", { name: "message" })).toContainText(plain(payload));
      for (const view of ["Spoken text", "Content", "Raw"]) {
        await outcome.getByRole("tab", { name: view }).click();
        await isUnbroken(page);
      }
      await page.getByRole("tab", { name: "Definition" }).click();
      await expect(page.getByRole("region", { name: "Details" })).toContainText(shown(payload));
      await isUnbroken(page);
      await page.getByRole("tab", { name: "Trust" }).click();
      await isUnbroken(page);
    });
  });
}

test("what a server says of itself and writes to its log does nothing on any page", async ({
  page,
}) => {
  await watched(page, async () => {
    for (const [route, title] of [
      ["", "Overview"],
      ["servers", "Servers"],
      ["servers/hostile", "hostile"],
      ["agents", "Agents"],
      ["leaderboard", "Leaderboard"],
      ["tiers", "Tier playground"],
      ["audit", "Audit"],
      ["calls", "Live calls"],
    ] as const) {
      await gateway.open(page, route);
      await expect(page.getByRole("heading", { name: title, level: 1 })).toBeVisible();
      // The loading indicator appears after 300 ms.
      await page.waitForTimeout(400);
      await expect(page.getByText("Loading…")).toHaveCount(0);
      await isUnbroken(page);
    }
  });
});

test("the policy of the page allows no script but its own", async ({ request }) => {
  const answer = await request.get(`${gateway.url}/`);
  const policy = answer.headers()["content-security-policy"] ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain("unsafe");
});
