import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { desk, execute, isAccessible, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(desk("audit: { arguments: redacted }\n"));
  await isUp(gateway);
});
test.afterAll(async () => gateway.stop());

const rows = (page: Page, name: string) =>
  page.getByRole("table", { name: "Calls" }).getByRole("button", { name });
/** Moves the pointer off the list: updates pause while it hovers. */
const aside = (page: Page) => page.mouse.move(5, 5);

/** Approves the one pending call. */
async function approve() {
  await expect(async () => {
    const { approvals } = await gateway.ask<{ approvals: { id: string }[] }>(
      "GET",
      "/api/approvals",
    );
    expect(approvals).toHaveLength(1);
    await gateway.ask("POST", `/api/approvals/${approvals[0]?.id}`, { decision: "approve" });
  }).toPass();
}

test("calls appear as they end, those that run stand on top with their clock", async ({ page }) => {
  await gateway.open(page, "calls");
  await aside(page);
  await execute(gateway, "desk_say", { text: "one" });
  await expect(rows(page, "desk_say")).toHaveCount(1);
  const slow = execute(gateway, "desk_wait", { ms: 6000 });
  const running = page.getByRole("region", { name: /Running now/ });
  await expect(running).toContainText("desk_wait");
  const clock = running.locator(".running-clock");
  await expect(clock).not.toHaveText((await clock.textContent()) ?? "");
  await slow;
  await expect(running).toHaveCount(0);
  await expect(rows(page, "desk_wait")).toHaveCount(1);
  await isAccessible(page);
});

test("filters stand in the address, and what fits is kept", async ({ page }) => {
  await execute(gateway, "desk_say", { text: "fine" });
  await execute(gateway, "desk_fail", { text: "no paper" });
  await gateway.open(page, "calls?outcome=error");
  await expect(rows(page, "desk_fail").first()).toBeVisible();
  await expect(rows(page, "desk_say")).toHaveCount(0);
  await page.getByLabel("Outcome").selectOption("");
  await page.getByLabel("Tool").selectOption("say");
  await expect(rows(page, "desk_fail")).toHaveCount(0);
  await expect(rows(page, "desk_say").first()).toBeVisible();
  expect(page.url()).toContain("tool=say");
  await page.getByLabel("Tier").selectOption("fast");
  await expect(page.getByText("No recent calls match these filters.")).toBeVisible();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(rows(page, "desk_fail").first()).toBeVisible();
});

test("the gateway's own probes are shown to whoever wants them", async ({ page }) => {
  await execute(gateway, "desk_say", { text: "by somebody" });
  await gateway.open(page, "calls");
  await expect(rows(page, "desk_say").first()).toBeVisible();
  await expect(rows(page, "roll_table")).toHaveCount(0);
  await page.getByRole("button", { name: "Include probes" }).click();
  await expect(rows(page, "roll_table").first()).toBeVisible();
  expect(page.url()).toContain("probes=true");
  await page.reload();
  await expect(rows(page, "roll_table").first()).toBeVisible();
});

test("paused, nothing moves; going on shows what came meanwhile", async ({ page }) => {
  await execute(gateway, "desk_say", { text: "before" });
  const heard = page.waitForResponse(/\/api\/events\?calls=true/);
  await gateway.open(page, "calls?tool=say");
  await heard;
  await expect(rows(page, "desk_say").first()).toBeVisible();
  const before = await rows(page, "desk_say").count();
  await page.getByRole("button", { name: "Pause" }).click();
  await execute(gateway, "desk_say", { text: "meanwhile" });
  await expect(page.getByText("Paused, 1 new call")).toBeVisible();
  await expect(rows(page, "desk_say")).toHaveCount(before);
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(rows(page, "desk_say")).toHaveCount(before + 1);
});

test("paused, what somebody asks for is shown all the same", async ({ page }) => {
  await execute(gateway, "desk_say", { text: "said" });
  await execute(gateway, "desk_fail", { text: "no paper" });
  await gateway.open(page, "calls");
  await expect(rows(page, "desk_say").first()).toBeVisible();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByLabel("Tool").selectOption("fail");
  await expect(rows(page, "desk_say")).toHaveCount(0);
  await expect(rows(page, "desk_fail").first()).toBeVisible();
});

test("of those that run only, each is there, also one that began before", async ({ page }) => {
  const waiting = execute(gateway, "desk_wipe", {});
  await gateway.open(page, "calls?outcome=running");
  await expect(page.getByRole("region", { name: /Running now/ })).toContainText("desk_wipe");
  await expect(page.getByRole("table", { name: "Calls" })).toHaveCount(0);
  await page.getByLabel("Outcome").selectOption("ok");
  await page.getByLabel("Outcome").selectOption("running");
  await expect(page.getByRole("region", { name: /Running now/ })).toContainText("desk_wipe");
  await approve();
  expect((await waiting).status).toBe("ok");
});

test("a call opens with its ids, its steps and the arguments that the trail kept", async ({
  page,
}) => {
  await execute(gateway, "desk_say", { text: "kept by the trail" });
  await gateway.open(page, "calls?tool=say");
  await rows(page, "desk_say").first().click();
  const window = page.getByRole("dialog");
  await expect(window).toContainText("kept by the trail");
  await expect(window.getByRole("table", { name: "Steps" })).toContainText("on server");
  await expect(window.getByRole("link", { name: "desk/say" })).toBeVisible();
  await window.getByRole("link", { name: "View in the audit trail" }).click();
  const trail = page.getByRole("table", { name: "Audit trail" });
  await expect(trail.getByRole("button", { name: "desk_say" })).toHaveCount(1);
  await trail.getByRole("button", { name: "desk_say" }).click();
  await page.getByRole("dialog").getByRole("link", { name: /^01/ }).first().click();
  await expect(page.getByRole("heading", { name: "Live calls" })).toBeVisible();
  await expect(page.getByRole("dialog")).toContainText("kept by the trail");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("a call that was opened while it ran shows its arguments once it ended", async ({ page }) => {
  await gateway.open(page, "calls");
  await aside(page);
  const waiting = execute(gateway, "desk_wipe", { what: "the third shelf" });
  const running = page.getByRole("region", { name: /Running now/ });
  await running.getByRole("button", { name: "desk_wipe" }).click();
  const window = page.getByRole("dialog");
  await expect(window).toContainText("Not in the audit trail yet.");
  await approve();
  expect((await waiting).status).toBe("ok");
  await expect(window.getByRole("region", { name: "arguments" })).toContainText("the third shelf");
});

test("a turn is a waterfall with its ceiling, and what went past it is marked", async ({
  page,
}) => {
  const two = 'call desk_wait {"ms": 900}\ncall roll {"expression": "1d6"}';
  await gateway.ask("POST", "/v1/chat/completions", {
    model: "brisk",
    messages: [{ role: "user", content: two }],
  });
  await gateway.open(page, "calls?tab=turns&agent=brisk");
  const turn = page.getByRole("region", { name: /Turn at/ }).first();
  await expect(turn.getByRole("button", { name: "desk_wait" })).toBeVisible();
  await expect(turn.getByRole("button", { name: "roll" })).toBeVisible();
  await expect(turn).toContainText(/of [\d.]+ m?s/);
  await expect(turn).toContainText("over ceiling");
  await expect(turn.locator(".wf-ceiling").first()).toBeAttached();
  await expect(turn.locator(".step-attempt").first()).toBeAttached();
  await isAccessible(page);
  await turn.getByRole("button", { name: "desk_wait" }).click();
  const window = page.getByRole("dialog");
  await expect(window.getByRole("heading", { name: "Turn", exact: true })).toBeVisible();
});

test("what a program called stands below it", async ({ page }) => {
  const code = 'desk.say(text = "from a program")\nresult = desk.wait(ms = 20)\n';
  const ran = await gateway.ask<{ status: string }>("POST", "/v1/code", { code, agent: "clerk" });
  expect(ran.status).toBe("ok");
  await gateway.open(page, "calls?tab=turns&agent=clerk");
  const turn = page.getByRole("region", { name: /Turn at/ }).first();
  await expect(turn.getByText("↳").first()).toBeVisible();
});

test("what is shown can be had as JSON lines", async ({ page }) => {
  await execute(gateway, "desk_fail", { text: "no paper" });
  await gateway.open(page, "calls?tool=fail");
  await expect(rows(page, "desk_fail").first()).toBeVisible();
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export JSONL" }).click();
  const text = readFileSync(await (await saving).path(), "utf8");
  const calls = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(calls.length).toBeGreaterThan(0);
  expect(new Set(calls.map((call) => call.tool))).toEqual(new Set(["fail"]));
});

test("a running call that awaits approval says so", async ({ page }) => {
  await gateway.open(page, "calls");
  await aside(page);
  const answer = execute(gateway, "desk_wipe", {});
  const running = page.getByRole("region", { name: /Running now/ });
  await expect(running).toContainText("awaiting approval");
  await approve();
  await answer;
  await expect(running).toHaveCount(0);
});
