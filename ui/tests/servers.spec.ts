import { chmodSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "@playwright/test";
import { isAccessible } from "./desk";
import { expect, Gateway, test } from "./gateway";

const node = (file: string, ...words: string[]) =>
  JSON.stringify([process.execPath, resolve("tests/servers", file), ...words]);
const CONFIG = `# mine
servers:
  desk: { command: ${node("desk.mjs")}, category: office }
  odd: { command: ${node("odd.mjs", "markup")} }
  gone: { command: no-such-program-anywhere }
  off: { command: ${node("desk.mjs")}, enabled: false }
`;

let gateway: Gateway;
test.beforeEach(async () => {
  gateway = await Gateway.start(CONFIG);
});
test.afterEach(async ({ page }) => {
  await page.close();
  await gateway.stop();
});

const state = (page: Page) => page.locator(".server-status");
const file = () => join(gateway.directory, "tollgate.yaml");

test("each server has a row with its state and why", async ({ page }) => {
  await gateway.open(page, "servers");
  const row = (name: string) =>
    page.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) });
  await expect(row("desk")).toContainText("ready");
  await expect(row("desk")).toContainText("stdio");
  await expect(row("desk").getByRole("link", { name: "4", exact: true })).toBeVisible();
  await expect(row("gone")).toContainText("no-such-program-anywhere");
  await expect(row("off")).toContainText("disabled");
  await page.getByRole("searchbox", { name: "Filter servers" }).fill("office");
  await expect(page.getByRole("row")).toHaveCount(2);
  await page.getByRole("searchbox", { name: "Filter servers" }).fill("nothing like it");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByRole("button", { name: /^disabled/ }).click();
  await expect(page.getByRole("row")).toHaveCount(2);
  await page.getByRole("link", { name: "off", exact: true }).click();
  await expect(page.getByRole("heading", { name: "off" })).toBeVisible();
});

test("a server is tested and restarted, and its history tells of it", async ({ page }) => {
  await gateway.open(page, "servers/desk");
  await expect(state(page)).toContainText("ready");
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await expect(page.getByText(/^Test passed: .*4 tools/)).toBeVisible();
  await page.getByRole("button", { name: "Restart" }).click();
  await expect(page.getByText("Restarting desk")).toBeVisible();
  const history = page.getByRole("region", { name: "History" });
  await expect(history.getByText("ready")).toHaveCount(2, { timeout: 15_000 });
});

test("its log is followed, filtered and paused", async ({ page }) => {
  await gateway.open(page, "servers/odd");
  const log = page.getByRole("log");
  await expect(log).toContainText("<img src=x");
  await page.getByRole("searchbox", { name: "Filter log" }).fill("no such line");
  await expect(log).toContainText("No matching lines.");
  await page.getByRole("searchbox", { name: "Filter log" }).fill("");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Restart" }).click();
  await expect(page.getByText("Restarting odd")).toBeVisible();
  await expect(page.getByText("Paused. New output is not shown.")).toBeVisible();
  await page.getByRole("button", { name: "Follow" }).click();
  await expect(page.getByText("Following live output.")).toBeVisible();
  expect(await page.title()).toContain("odd");
});

test("switching off and on, and removing, show the change of the file first", async ({ page }) => {
  await gateway.open(page, "servers/desk");
  await page.getByRole("button", { name: "Disable…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("region", { name: "changes" })).toContainText("enabled: false");
  expect(gateway.config()).toBe(CONFIG);
  await dialog.getByRole("button", { name: "Disable", exact: true }).click();
  await expect(state(page)).toContainText("disabled");
  expect(gateway.config()).toContain("# mine");
  await page.getByRole("button", { name: "Enable…" }).click();
  await page.getByRole("button", { name: "Enable", exact: true }).click();
  await expect(state(page)).toContainText("ready");
  await page.getByRole("button", { name: "Remove…" }).click();
  await expect(dialog).toContainText("Will stop: desk");
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Servers" })).toBeVisible();
  await expect(page.getByRole("link", { name: "desk" })).toHaveCount(0);
  expect(gateway.config()).not.toContain("desk:");
});

test("it is edited in a form and as JSON, tried, and saved after a look", async ({ page }) => {
  await gateway.open(page, "servers/desk");
  await page.getByRole("button", { name: "Edit…" }).click();
  const edit = page.getByRole("dialog", { name: "Edit desk" });
  await edit.getByRole("button", { name: "Add variable" }).click();
  await edit.getByLabel("Variable 1, name").fill("MOOD");
  await edit.getByLabel("Variable 1, value").fill("good");
  await edit.getByText("Advanced", { exact: true }).click();
  await edit.getByLabel("Category").fill("");
  await edit.getByRole("tab", { name: "JSON" }).click();
  const json = edit.getByRole("textbox", { name: "Server config as JSON" });
  const typed = JSON.parse(await json.inputValue());
  expect(typed.env).toEqual({ MOOD: "good" });
  expect(typed).not.toHaveProperty("category");
  await json.fill("{ nonsense");
  await expect(edit.getByText(/invalid JSON/)).toBeVisible();
  await expect(edit.getByRole("button", { name: "Review changes…" })).toBeDisabled();
  await json.fill(JSON.stringify({ ...typed, deny: ["wipe"] }));
  await edit.getByRole("button", { name: "Test", exact: true }).click();
  await expect(edit.getByText(/Test passed: [34] tools/)).toBeVisible();
  await edit.getByRole("button", { name: "Review changes…" }).click();
  const review = page.getByRole("dialog", { name: "Changes to desk" });
  await expect(review).toContainText("MOOD");
  await expect(review).toContainText("Will restart: desk");
  await review.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByRole("region", { name: "server config" })).toContainText("wipe");
  expect(gateway.config()).toContain("# mine");
});

test("what is typed key by key is what stands there", async ({ page }) => {
  await gateway.open(page, "servers/desk");
  await page.getByRole("button", { name: "Edit…" }).click();
  const edit = page.getByRole("dialog", { name: "Edit desk" });
  const command = edit.getByLabel("Command");
  await command.clear();
  await command.pressSequentially("npx -y foo ");
  await expect(command).toHaveValue("npx -y foo ");
  await edit.getByRole("button", { name: "Add variable" }).click();
  await edit.getByLabel("Variable 1, name").pressSequentially("API");
  await edit.getByLabel("Variable 1, value").pressSequentially("kept");
  await edit.getByRole("button", { name: "Add variable" }).click();
  await edit.getByLabel("Variable 2, name").pressSequentially("API_KEY");
  await edit.getByLabel("Variable 2, value").pressSequentially("also");
  await expect(edit.getByLabel("Variable 1, value")).toHaveValue("kept");
  const checked = page.waitForRequest((it) => it.url().includes("dry_run=true"));
  await edit.getByRole("button", { name: "Review changes…" }).click();
  expect((await checked).postDataJSON()).toMatchObject({
    command: "npx -y foo",
    env: { API: "kept", API_KEY: "also" },
  });
  await page.keyboard.press("Escape");
  await edit.getByRole("radio", { name: "Remote server" }).check();
  const url = edit.getByLabel("URL", { exact: true });
  await url.pressSequentially("h");
  await url.press("Backspace");
  await url.pressSequentially("https://x");
  await expect(url).toHaveValue("https://x");
});

test("a trial that failed is begun anew", async ({ page }) => {
  let asked = 0;
  await page.route("**/api/servers/try", (route) => {
    asked += 1;
    if (asked > 1) return route.continue();
    return route.fulfill({ status: 429, json: { detail: "too many at a time" } });
  });
  await gateway.open(page, "servers/desk");
  await page.getByRole("button", { name: "Edit…" }).click();
  const edit = page.getByRole("dialog", { name: "Edit desk" });
  await edit.getByRole("button", { name: "Test", exact: true }).click();
  await expect(edit.getByRole("alert")).toContainText("too many at a time");
  await edit.getByRole("button", { name: "Try again" }).click();
  await expect(edit.getByText("Test passed: 4 tools")).toBeVisible({ timeout: 20_000 });
});

test("tabs are chosen by arrow keys, and the focus goes with them", async ({ page }) => {
  await gateway.open(page, "servers/desk");
  await page.getByRole("button", { name: "Edit…" }).click();
  await page.getByRole("tab", { name: "Form" }).focus();
  for (const name of ["JSON", "Form"]) {
    await page.keyboard.press("ArrowRight");
    const tab = page.getByRole("tab", { name });
    await expect(tab).toBeFocused();
    await expect(tab).toHaveAttribute("aria-selected", "true");
  }
});

test("an edit by hand meanwhile is shown, and what was typed is still there", async ({ page }) => {
  await gateway.open(page, "servers/desk");
  await page.getByRole("button", { name: "Edit…" }).click();
  await page.getByText("Advanced", { exact: true }).click();
  await page.getByLabel("Category").fill("typed here");
  writeFileSync(file(), gateway.config().replace("category: office", "category: by hand"));
  await page.getByRole("button", { name: "Review changes…" }).click();
  const review = page.getByRole("dialog", { name: "Changes to desk" });
  await expect(review.getByRole("alert")).toContainText("Someone else changed the config");
  await expect(review.getByRole("region", { name: "changes" })).toContainText("by hand");
  await review.getByRole("button", { name: "Review again" }).click();
  await expect(review.getByRole("region", { name: "changes" })).toContainText("typed here");
  await review.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  expect(gateway.config()).toContain("typed here");
});

test("with a read-only file the page says what to write", async ({ page }) => {
  chmodSync(file(), 0o444);
  await gateway.open(page, "servers/desk");
  await page.getByRole("button", { name: "Edit…" }).click();
  await page.getByText("Advanced", { exact: true }).click();
  await page.getByLabel("Category").fill("for the git");
  await page.getByRole("button", { name: "Review changes…" }).click();
  await page.getByRole("button", { name: "Show config to copy" }).click();
  await expect(page.getByRole("region", { name: "config to copy" })).toContainText("for the git");
  expect(gateway.config()).toBe(CONFIG);
});

test("a server that is not there is said not to be", async ({ page }) => {
  await gateway.open(page, `servers/${encodeURIComponent("<b>x</b>")}`);
  await expect(page.getByRole("alert")).toContainText("no such server");
});

test("a login elsewhere is a link that a person opens, and never a script", async ({ page }) => {
  // Mocks the responses of a server that needs a login.
  let url = "https://login.example.com/authorize?x=1";
  await page.route("**/api/servers/desk", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ json: { ...(await response.json()), needs_login: true } });
  });
  await page.route("**/api/servers/desk/login", (route) => route.fulfill({ json: { url } }));
  await gateway.open(page, "servers/desk");
  await page.getByRole("button", { name: "Log in…" }).click();
  await expect(page.getByRole("link", { name: "Open login page" })).toHaveAttribute("href", url);
  await page.keyboard.press("Escape");
  for (url of ["javascript:alert(1)", "file:///etc/passwd", "http://login.example.com/"]) {
    await page.getByRole("button", { name: "Log in…" }).click();
    await expect(page.getByRole("alert")).toContainText("not https");
    await expect(page.getByRole("link", { name: "Open login page" })).toHaveCount(0);
    await page.keyboard.press("Escape");
  }
  // The page keeps polling.
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("the pages are accessible", async ({ page }) => {
  await gateway.open(page, "servers");
  await expect(page.getByRole("link", { name: "gone" })).toBeVisible();
  await isAccessible(page);
  await page.getByRole("link", { name: "desk" }).click();
  await expect(page.getByRole("log")).toBeVisible();
  await isAccessible(page);
  await page.getByRole("button", { name: "Edit…" }).click();
  await page.getByText("Advanced", { exact: true }).click();
  await isAccessible(page);
});
