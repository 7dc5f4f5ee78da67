import type { Page } from "@playwright/test";
import { desk, execute, isAccessible, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(desk());
  await isUp(gateway);
});
test.afterAll(async () => gateway.stop());

const wipe = (what: string) => execute(gateway, "desk_wipe", { what });

/** Opens the page and waits for its event stream: earlier decisions are not replayed. */
async function listening(page: Page, at: Gateway) {
  const heard = page.waitForResponse(/\/api\/events/);
  await at.open(page, "approvals");
  await heard;
  await expect(page.getByText("No pending approvals")).toBeVisible();
}

test("a call that waits is shown with its arguments, and approving it lets it run", async ({
  page,
}) => {
  await gateway.open(page, "approvals");
  await expect(page.getByText("No pending approvals")).toBeVisible();
  const answer = wipe("the shelf");
  const card = page.getByRole("article", { name: "desk_wipe" });
  await expect(card).toContainText("the shelf");
  await expect(card).toContainText("clerk");
  await expect(card).toContainText("left");
  await isAccessible(page);
  await card.getByRole("button", { name: "Approve" }).click();
  await expect(card).toHaveCount(0);
  expect((await answer).message).toContain("wiped the shelf");
  await expect(page.getByRole("list", { name: "Decisions" })).toContainText("approved");
});

test("what hides in arguments is written out, and markup is text", async ({ page }) => {
  await gateway.open(page, "approvals");
  const answer = wipe("invoice\u202egnp.exe <img src=x onerror=alert(1)>");
  const card = page.getByRole("article", { name: "desk_wipe" });
  await expect(card).toContainText("invoice⟨U+202E⟩gnp.exe <img src=x onerror=alert(1)>");
  await expect(card.locator("img")).toHaveCount(0);
  await card.getByRole("button", { name: "Approve" }).click();
  expect((await answer).status).toBe("ok");
});

test("keys decide on the one in focus, and a reason reaches the caller", async ({ page }) => {
  await gateway.open(page, "approvals");
  const [first, second] = [wipe("one"), wipe("two")];
  const cards = page.getByRole("article", { name: "desk_wipe" });
  await expect(cards).toHaveCount(2);
  await cards.first().focus();
  await page.keyboard.press("j");
  await expect(cards.nth(1)).toBeFocused();
  await page.keyboard.press("k");
  // This opens a page and must not approve.
  await Promise.all([page.keyboard.press("g"), page.keyboard.press("a")]);
  await expect(cards).toHaveCount(2);
  await page.waitForTimeout(1600);
  await page.keyboard.press("a");
  await expect(cards).toHaveCount(1);
  await expect(cards.first()).toBeFocused();
  await page.keyboard.press("d");
  await page.keyboard.type("not on a Monday");
  await page.keyboard.press("Enter");
  await expect(cards).toHaveCount(0);
  const answers = await Promise.all([first, second]);
  expect(answers.map((it) => it.status).sort()).toEqual(["denied", "ok"]);
  expect(answers.map((it) => it.message).join()).toContain("not on a Monday");
});

test("of two people who decide at once, the second is told kindly", async ({ page }) => {
  await gateway.open(page, "approvals");
  const answer = wipe("the table");
  const card = page.getByRole("article", { name: "desk_wipe" });
  await expect(card).toBeVisible();
  // Someone else's decision reaches the gateway first.
  await page.route("**/api/approvals/*", async (route) => {
    if (route.request().method() === "POST") {
      const id = new URL(route.request().url()).pathname.split("/").at(-1);
      await gateway.ask("POST", `/api/approvals/${id}`, { decision: "deny", note: "no" });
    }
    await route.continue();
  });
  await card.getByRole("button", { name: "Approve" }).click();
  await expect(
    page.getByRole("status").filter({ hasText: "Someone else already decided" }),
  ).toBeVisible();
  await expect(card).toHaveCount(0);
  expect((await answer).status).toBe("denied");
  await expect(page.getByRole("list", { name: "Decisions" })).toContainText("denied");
});

test("a caller that goes away takes its call along", async ({ page }) => {
  await listening(page, gateway);
  const leaving = new AbortController();
  const headers = {
    authorization: `Bearer ${gateway.token}`,
    "content-type": "application/json",
  };
  const body = JSON.stringify({ name: "desk_wipe", arguments: {} });
  const asked = fetch(`${gateway.url}/v1/tools/execute`, {
    method: "POST",
    headers,
    body,
    signal: leaving.signal,
  }).catch(() => undefined);
  const card = page.getByRole("article", { name: "desk_wipe" });
  await expect(card).toBeVisible();
  leaving.abort();
  await asked;
  await expect(card).toHaveCount(0);
  await expect(page.getByRole("list", { name: "Decisions" })).toContainText(
    "disconnected before a decision",
  );
});

test("a call that nobody decides on in time is gone, and says so", async ({ page }) => {
  const hasty = await Gateway.start(desk("approvals: { timeout_s: 2 }\n"));
  await isUp(hasty);
  await listening(page, hasty);
  const answer = execute(hasty, "desk_wipe", {});
  await expect(page.getByRole("list", { name: "Decisions" })).toContainText("no decision in time");
  await expect(page.getByText("No pending approvals")).toBeVisible();
  expect((await answer).status).toBe("denied");
  await page.goto("about:blank");
  await hasty.stop();
});

test("always allow shows the line it writes, writes it, and lets the call go on", async ({
  page,
}) => {
  const other = await Gateway.start(desk());
  await isUp(other);
  await other.open(page, "approvals");
  const answer = execute(other, "desk_wipe", { what: "all" });
  await page.getByRole("button", { name: "Always allow" }).click();
  const window = page.getByRole("dialog");
  await expect(window.getByRole("region", { name: "changes" })).toContainText("never");
  expect(other.config()).toContain("approval: always");
  await window.getByRole("button", { name: "Save and approve" }).click();
  await expect(window).toHaveCount(0);
  expect((await answer).status).toBe("ok");
  expect(other.config()).not.toContain("approval: always");
  await expect.poll(async () => (await execute(other, "desk_wipe", {})).status).toBe("ok");
  await page.goto("about:blank");
  await other.stop();
});

test("always allow is looked at again if somebody changed the file meanwhile", async ({ page }) => {
  const other = await Gateway.start(desk());
  await isUp(other);
  await other.open(page, "approvals");
  const answer = execute(other, "desk_wipe", {});
  await page.getByRole("button", { name: "Always allow" }).click();
  const window = page.getByRole("dialog");
  await expect(window.getByRole("region", { name: "changes" })).toContainText("never");
  const { config } = await other.ask<{ config: object }>("GET", "/api/servers/desk");
  await other.ask("PUT", "/api/servers/desk", { ...config, category: "theirs" });
  const write = window.getByRole("button", { name: "Save and approve" });
  await write.click();
  await expect(page.getByText("Someone else changed the config")).toBeVisible();
  await expect(window.getByRole("region", { name: "changes" })).toContainText("never");
  expect(other.config()).toContain("approval: always");
  await write.click();
  await expect(window).toHaveCount(0);
  expect((await answer).status).toBe("ok");
  expect(other.config()).toContain("theirs");
  await page.goto("about:blank");
  await other.stop();
});

test("a config that cannot be written is shown as what to paste", async ({ page }) => {
  await gateway.open(page, "approvals");
  const yaml = "servers:\n  desk:\n    tools:\n      wipe:\n        approval: never\n";
  // The response for a read-only file (docs/reload.md). Mocked, because root can write any file.
  await page.route("**/api/servers/desk*", (route) => {
    if (route.request().method() === "GET") return route.continue();
    const status = 409;
    return route.fulfill({
      status,
      json: { status, code: "unwritable_config", detail: "tollgate.yaml cannot be written", yaml },
    });
  });
  const answer = wipe("a file");
  await page.getByRole("button", { name: "Always allow" }).click();
  const window = page.getByRole("dialog");
  await expect(window).toContainText("Edit the file yourself");
  await expect(window).toContainText("approval: never");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Approve" }).click();
  expect((await answer).status).toBe("ok");
});
