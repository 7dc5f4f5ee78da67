import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { isAccessible } from "./desk";
import { expect, Gateway, test } from "./gateway";

const CONFIG = `# mine
environment: laptop
agents:
  default: { tools: ["*"] }
keys:
  - { name: fixed, key: a-secret-that-is-long-enough-for-it }
`;

let gateway: Gateway;
test.beforeEach(async () => {
  gateway = await Gateway.start(CONFIG);
});
test.afterEach(async ({ page }) => {
  await page.close();
  await gateway.stop();
});

const editor = (page: Page) => page.getByRole("textbox", { name: "Config" });
const save = async (page: Page) => {
  await page.getByRole("button", { name: "Review changes…" }).click();
  await page.getByRole("button", { name: "Save and apply" }).click();
};

test("a change is checked, looked at, saved and applied", async ({ page }) => {
  await gateway.open(page, "settings");
  await expect(editor(page)).toHaveValue(/# mine/);
  const before = await editor(page).inputValue();
  expect(before).not.toContain("a-secret");
  await editor(page).fill(`${before}\nlimits: { timeout_ms: 5000 }\n`);
  await expect(page.getByText("Your changes are valid")).toBeVisible();
  await page.getByRole("button", { name: "Review changes…" }).click();
  await expect(page.getByRole("region", { name: "changes" })).toContainText("+limits");
  expect(gateway.config()).not.toContain("limits");
  await page.getByRole("button", { name: "Save and apply" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  expect(gateway.config()).toContain("timeout_ms: 5000");
  expect(gateway.config()).toContain("a-secret-that-is-long-enough-for-it");
  await expect(page.getByText("The file is valid")).toBeVisible();
});

test("mistakes are marked at their lines as one types", async ({ page }) => {
  await gateway.open(page, "settings");
  await editor(page).fill("environment: x\nagentz: {}\nservers:\n  a: { comand: x }\n");
  await expect(page.getByText("2 errors. Fix them before saving.")).toBeVisible();
  await expect(page.getByText("did you mean `command`?")).toBeVisible();
  await expect(page.locator(".editor-mark.error")).toHaveCount(2);
  await expect(page.getByRole("button", { name: "Review changes…" })).toBeDisabled();
  await page.getByRole("button", { name: "line 4" }).click();
  await expect(editor(page)).toBeFocused();
  const at = await editor(page).evaluate((it: HTMLTextAreaElement) => it.selectionStart);
  expect(at).toBe("environment: x\nagentz: {}\nservers:\n  a: { ".length);
  await editor(page).fill("environment: [");
  await expect(page.getByText(/this is not YAML/)).toBeVisible();
  await page.getByRole("button", { name: "Discard changes" }).click();
  await expect(editor(page)).toHaveValue(/# mine/);
});

test("what counts only after a restart is said before it is saved", async ({ page }) => {
  await gateway.open(page, "settings");
  await editor(page).fill(
    (await editor(page).inputValue()).replace("environment: laptop", "environment: other"),
  );
  await expect(page.getByText("Requires a gateway restart: environment")).toBeVisible();
  await save(page);
  await expect(page.getByText("Takes effect after a gateway restart").first()).toBeVisible();
});

test("an edit by hand meanwhile is a conflict that loses nothing", async ({ page }) => {
  await gateway.open(page, "settings");
  await expect(editor(page)).toHaveValue(/# mine/);
  await editor(page).fill((await editor(page).inputValue()).replace("# mine", "# typed here"));
  const file = join(gateway.directory, "tollgate.yaml");
  writeFileSync(file, `${gateway.config()}limits: { timeout_ms: 7000 } # by hand\n`);
  const conflict = page.getByRole("region", { name: "The file changed while you were editing" });
  await expect(conflict).toContainText("+limits: { timeout_ms: 7000 } # by hand", {
    timeout: 20_000,
  });
  await expect(conflict).toContainText("+# typed here");
  await expect(editor(page)).toHaveValue(/# typed here/);
  await conflict.getByRole("button", { name: "Merge both" }).click();
  await expect(conflict).toHaveCount(0);
  await save(page);
  await expect(page.getByRole("dialog")).toHaveCount(0);
  expect(gateway.config()).toContain("# typed here");
  expect(gateway.config()).toContain("# by hand");
});

test("both changed the same line: one chooses, and the other text can be had back", async ({
  page,
}) => {
  await gateway.open(page, "settings");
  await editor(page).fill((await editor(page).inputValue()).replace("# mine", "# typed here"));
  const file = join(gateway.directory, "tollgate.yaml");
  writeFileSync(file, gateway.config().replace("# mine", "# by hand"));
  const conflict = page.getByRole("region", { name: "The file changed while you were editing" });
  await expect(conflict).toBeVisible({ timeout: 20_000 });
  await expect(conflict.getByRole("button", { name: "Merge both" })).toHaveCount(0);
  await conflict.getByRole("button", { name: "Use theirs" }).click();
  await expect(editor(page)).toHaveValue(/# by hand/);
  await page.getByRole("button", { name: "Restore" }).click();
  await expect(editor(page)).toHaveValue(/# typed here/);
  await save(page);
  await expect(page.getByRole("dialog")).toHaveCount(0);
  expect(gateway.config()).toContain("# typed here");
});

test("a file that changes between the look and the save is not overwritten", async ({ page }) => {
  await gateway.open(page, "settings");
  await editor(page).fill((await editor(page).inputValue()).replace("# mine", "# typed here"));
  await page.getByRole("button", { name: "Review changes…" }).click();
  await expect(page.getByRole("region", { name: "changes" })).toBeVisible();
  const file = join(gateway.directory, "tollgate.yaml");
  writeFileSync(file, gateway.config().replace("# mine", "# by hand"));
  await page.getByRole("button", { name: "Save and apply" }).click();
  await expect(
    page.getByRole("region", { name: "The file changed while you were editing" }),
  ).toBeVisible();
  expect(gateway.config()).toContain("# by hand");
  await expect(editor(page)).toHaveValue(/# typed here/);
});

test("what was typed is still there after a look at another page", async ({ page }) => {
  await gateway.open(page, "settings");
  await editor(page).fill("# half of\n");
  await page.getByRole("link", { name: "Keys", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Keys" })).toBeVisible();
  await page.getByRole("link", { name: "Settings" }).click();
  await expect(editor(page)).toHaveValue("# half of\n");
});

test("a read-only file is shown with its text to copy", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  chmodSync(join(gateway.directory, "tollgate.yaml"), 0o444);
  await gateway.open(page, "settings");
  await expect(page.getByText("This file is read-only for the gateway.")).toBeVisible();
  await editor(page).fill((await editor(page).inputValue()).replace("# mine", "# for the git"));
  await expect(page.getByText("Your changes are valid")).toBeVisible();
  await page.getByRole("button", { name: "Copy config" }).click();
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toContain("# for the git");
});

test("the file is read again, and the last outcome is told", async ({ page }) => {
  await gateway.open(page, "settings");
  await page.getByRole("button", { name: "Reload config" }).click();
  const panel = page.getByRole("region", { name: "Reload" });
  await expect(panel.getByText(/^(applied|unchanged)$/)).toBeVisible();
  writeFileSync(join(gateway.directory, "tollgate.yaml"), "agentz: {}\n");
  await expect(panel).toContainText("refused", { timeout: 20_000 });
  await expect(panel).toContainText("unknown key `agentz`");
});

test("markup in the file stays text", async ({ page }) => {
  await gateway.open(page, "settings");
  await editor(page).fill(`<img src=x onerror="document.title='owned'">: 1\n`);
  await expect(page.getByText(/\d errors?\. Fix \w+ before saving\./)).toBeVisible();
  expect(await page.title()).toContain("Settings");
});

test("the page is accessible", async ({ page }) => {
  await gateway.open(page, "settings");
  await editor(page).fill("environment: x\nagentz: {}\n");
  await expect(page.locator(".editor-mark")).toHaveCount(1);
  await isAccessible(page);
});
