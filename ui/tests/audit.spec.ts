import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import AxeBuilder from "@axe-core/playwright";
import { desk, execute, isAccessible, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(desk("audit: { arguments: redacted }\n"));
  await isUp(gateway);
  for (let at = 0; at < 5; at += 1) await execute(gateway, "desk_say", { text: `word ${at}` });
  await execute(gateway, "desk_fail", { text: "no paper", api_key: "hush" });
});
test.afterAll(async () => gateway.stop());

test("rows are listed, narrowed by filters that stand in the address, and opened", async ({
  page,
}) => {
  await gateway.open(page, "audit");
  const table = page.getByRole("table", { name: "Audit trail" });
  await expect(table.getByRole("button", { name: "desk_say" })).toHaveCount(5);
  await page.getByLabel("Outcome").selectOption("error");
  await expect(table.getByRole("button", { name: "desk_say" })).toHaveCount(0);
  await expect(table.getByRole("button", { name: "desk_fail" })).toHaveCount(1);
  expect(page.url()).toContain("outcome=error");
  await page.reload();
  await expect(table.getByRole("button", { name: "desk_fail" })).toHaveCount(1);
  await table.getByRole("button", { name: "desk_fail" }).click();
  const row = page.getByRole("dialog");
  await expect(row).toContainText("no paper");
  await expect(row).not.toContainText("hush");
  await expect(row.getByRole("link", { name: "desk/fail" })).toHaveAttribute(
    "href",
    "#/tools/desk/fail",
  );
  await page.keyboard.press("Escape");
  await expect(row).toHaveCount(0);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByLabel("Name").fill("desk_s*");
  await expect(table.getByRole("button", { name: "desk_fail" })).toHaveCount(0);
  await expect(table.getByRole("button", { name: "desk_say" })).toHaveCount(5);
});

test("the list and a row that is open are for everybody", async ({ page }) => {
  await gateway.open(page, "audit");
  await expect(page.getByRole("button", { name: "desk_fail" })).toBeVisible();
  await isAccessible(page);
  await page.getByRole("button", { name: "desk_fail" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
  const { violations } = await new AxeBuilder({ page }).include("dialog").analyze();
  expect(violations.map((it) => it.id)).toEqual([]);
});

test("a filter that cannot be read says what it should be", async ({ page }) => {
  await gateway.open(page, "audit?since=yesterdayish");
  await expect(page.getByRole("alert")).toContainText("`since` is a time");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(page.getByRole("table", { name: "Audit trail" })).toBeVisible();
});

test("a blank behind which somebody types on stays", async ({ page }) => {
  await gateway.open(page, "audit");
  const from = page.getByLabel("From");
  await from.pressSequentially("2026-11-15 ");
  await expect(page).toHaveURL(/since=2026-11-15/);
  await from.pressSequentially("10:00");
  await expect(from).toHaveValue("2026-11-15 10:00");
});

test.describe("far from Greenwich", () => {
  test.use({ timezoneId: "Pacific/Kiritimati" });
  test("times are read as they are shown, and a day counts to its end", async ({ page }) => {
    await gateway.open(page, "audit?name=desk_say");
    const says = page.getByRole("button", { name: "desk_say" });
    await expect(says).toHaveCount(5);
    const times = await page.locator("tbody time").allTextContents();
    const [newest = ""] = times;
    const to = page.getByRole("textbox", { name: "To", exact: true });
    await page.getByLabel("From").pressSequentially(times.at(-1) ?? "");
    await to.pressSequentially(newest);
    await expect.poll(() => page.url()).toContain("until=");
    await expect(says).toHaveCount(5);
    await to.fill(newest.slice(0, 10));
    await to.blur();
    await expect.poll(() => page.url()).toMatch(/until=[\d-]+(&|$)/);
    await expect(says).toHaveCount(5);
    await page.getByLabel("From").fill(`${newest.slice(0, 10)} 23:59:59`);
    await expect(says).toHaveCount(0);
    await expect(page.getByRole("alert")).toHaveCount(0);
  });
});

test("older rows come page by page", async ({ page }) => {
  const busy = await Gateway.start(desk());
  await isUp(busy);
  for (let at = 0; at < 13; at += 1) {
    const ten = Array.from({ length: 10 }, () => execute(busy, "desk_say", { text: "1" }));
    await Promise.all(ten);
  }
  await busy.open(page, "audit?kind=call&server=desk");
  await expect(page.getByText("100 rows shown")).toBeVisible();
  await page.getByRole("button", { name: "Load older rows" }).click();
  await expect(page.getByText("130 rows shown")).toBeVisible();
  await expect(page.getByRole("button", { name: "Load older rows" })).toHaveCount(0);
  // A late response for an old filter must not be appended to the rows of the new one.
  await page.reload();
  await expect(page.getByText("100 rows shown")).toBeVisible();
  await page.route(/api\/audit\?.*after=/, async (late) => {
    await new Promise((done) => setTimeout(done, 800));
    await late.continue().catch(() => {});
  });
  await page.getByRole("button", { name: "Load older rows" }).click();
  await page.getByLabel("Outcome").selectOption("error");
  await expect(page.getByText("No rows match these filters")).toBeVisible();
  await page.waitForTimeout(1000);
  await expect(page.getByText("0 rows shown", { exact: true })).toBeVisible();
  await page.goto("about:blank");
  await busy.stop();
});

test("followed, the trail shows rows as they are written", async ({ page }) => {
  await gateway.open(page, "audit?name=desk_wait");
  await expect(page.getByText("No rows match these filters")).toBeVisible();
  await page.getByRole("button", { name: "Follow" }).click();
  await execute(gateway, "desk_wait", { ms: 1 });
  await execute(gateway, "desk_say", { text: "not wanted here" });
  const table = page.getByRole("table", { name: "Audit trail" });
  await expect(table.getByRole("button", { name: "desk_wait" })).toHaveCount(1);
  await expect(table.getByRole("button", { name: "desk_say" })).toHaveCount(0);
  await page.getByRole("button", { name: "Stop following" }).click();
  await expect(table.getByRole("button", { name: "desk_wait" })).toHaveCount(1);
});

test("a row that is not there, or cannot be read, is said to be so", async ({ page }) => {
  await gateway.open(page, "audit?row=987654");
  const row = page.getByRole("dialog", { name: "Row 987654" });
  await expect(row).toContainText("Row not found. It was removed or never written.");
  await page.keyboard.press("Escape");
  await expect(row).toHaveCount(0);
  await page.route(/api\/audit\?.*order=oldest/, (route) =>
    route.fulfill({ status: 422, json: { detail: "row 7 cannot be read" } }),
  );
  await page.goto(`${gateway.page}/#/audit?row=987655`);
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("row 7 cannot be read");
});

test("what is filtered can be had as JSON lines and as CSV", async ({ page }) => {
  await gateway.open(page, "audit?name=desk_fail");
  for (const [link, wanted] of [
    ["Export JSONL", '"name":"desk_fail"'],
    ["Export CSV", "desk_fail,desk,fail,error"],
  ] as const) {
    const saving = page.waitForEvent("download");
    await page.getByRole("link", { name: link }).click();
    const path = await (await saving).path();
    const text = readFileSync(path, "utf8");
    expect(text).toContain(wanted);
    expect(text).not.toContain("desk_say");
    rmSync(path);
  }
});

test("verifying says that nothing was changed, or which row was", async ({ page }) => {
  const other = await Gateway.start(desk());
  await isUp(other);
  await execute(other, "roll", { expression: "2d6" });
  await execute(other, "roll", { expression: "3d6" });
  await other.open(page, "audit");
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByText("No tampering found")).toBeVisible();
  const { DatabaseSync } = await import("node:sqlite" as string);
  const trail = new DatabaseSync(join(other.directory, ".tollgate/tollgate.db"));
  trail.exec("PRAGMA busy_timeout = 10000");
  trail.exec("DROP TRIGGER audit_is_kept_as_written");
  const changed = trail.prepare("UPDATE audit SET principal = 'nobody' WHERE sequence = ?").run(2);
  expect(changed.changes).toBe(1);
  trail.close();
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByRole("alert")).toContainText("Integrity check failed");
  await page.getByRole("button", { name: "Show row" }).click();
  await expect(page.getByRole("dialog")).toContainText("nobody");
  await page.goto("about:blank");
  await other.stop();
});
