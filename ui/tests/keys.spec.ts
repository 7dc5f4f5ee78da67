import { isAccessible } from "./desk";
import { expect, Gateway, test } from "./gateway";

const CONFIG = `
agents:
  default: { tools: ["*"] }
  dicer: { description: Only dice, tools: ["roll*"], budget_tier: fast }
keys:
  - { name: fixed, key: "\${FIXED_KEY}", agents: [dicer] }
`;

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(CONFIG, { FIXED_KEY: "a-key-that-is-long-enough-to-be-one" });
});
test.afterAll(async () => gateway.stop());

test("a key is made, shown once, lets in, is rotated and revoked", async ({ page }) => {
  await gateway.open(page, "keys");
  await page.getByRole("button", { name: "Create key" }).click();
  const form = page.getByRole("dialog", { name: "Create key" });
  await form.getByLabel("Name").fill("laptop");
  await form.getByRole("checkbox", { name: "dicer" }).check();
  await form.getByLabel("Expires").selectOption("in 1 day");
  await form.getByRole("button", { name: "Create key" }).click();

  const shown = page.getByRole("dialog", { name: "Key laptop" });
  const secret = (await shown.getByRole("region", { name: "secret" }).textContent()) ?? "";
  expect(secret).toMatch(/^tg_/);
  const asked = (key: string) =>
    fetch(`${gateway.url}/v1/tools?agent=dicer`, { headers: { authorization: `Bearer ${key}` } });
  expect((await asked(secret)).status).toBe(200);
  await shown.getByRole("button", { name: "I have saved it" }).click();
  await expect(page.getByText(secret)).toHaveCount(0);

  const row = page.getByRole("row").filter({ hasText: "laptop" });
  await expect(row).toContainText("agents dicer");
  await expect(row).toContainText(/ago|just now/, { timeout: 20_000 });

  await row.getByRole("button", { name: "Rotate laptop" }).click();
  await page.getByRole("combobox", { name: "The current secret expires" }).selectOption("in 1 day");
  await page.getByRole("button", { name: "Rotate key" }).click();
  const rotated = page.getByRole("dialog", { name: "Key laptop" });
  const second = (await rotated.getByRole("region", { name: "secret" }).textContent()) ?? "";
  expect(second).not.toBe(secret);
  await expect(rotated).toContainText("The old secret stays valid until");
  // The secret is shown once: only the button closes the dialog.
  await expect(rotated.getByRole("button", { name: "Copy" })).toBeFocused();
  for (const key of ["Escape", "Escape", "Escape", "Enter"]) await page.keyboard.press(key);
  await expect(rotated).toContainText(second);
  await expect(rotated.getByRole("button", { name: "Close" })).toHaveCount(0);
  await rotated.getByRole("button", { name: "I have saved it" }).click();
  await expect(row).toContainText("old secret valid until");
  expect((await asked(secret)).status).toBe(200);

  await row.getByRole("button", { name: "Revoke laptop" }).click();
  await page.getByRole("button", { name: "Revoke key" }).click();
  await expect(row).toContainText("revoked");
  expect((await asked(second)).status).toBe(401);
});

test("what a key would see is shown before it is made", async ({ page }) => {
  await gateway.open(page, "keys");
  await page.getByRole("button", { name: "Create key" }).click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Tools").fill("roll, no_such_*");
  await form.getByText("Preview visible tools").click();
  await expect(form.getByRole("heading", { name: "1 visible tool", exact: true })).toBeVisible();
  await expect(form.getByRole("link", { name: "roll" })).toBeVisible();
  await form.getByText(/hidden tools/).click();
  await expect(form.getByText("not in this key's tool list").first()).toBeVisible();
  await form.getByRole("button", { name: /fast/ }).click();
  await expect(form.getByRole("heading", { name: /visible tools?$/ })).toBeVisible();
});

test("a key of the config is shown, and changed only there", async ({ page }) => {
  await gateway.open(page, "keys");
  const row = page.getByRole("row").filter({ hasText: "fixed" });
  await expect(row.getByRole("link", { name: "Edit in config" })).toBeVisible();
  await expect(row.getByRole("button", { name: "Revoke fixed" })).toHaveCount(0);
  await row.getByRole("button", { name: "Tools visible to fixed" }).click();
  const seen = page.getByRole("dialog", { name: "Tools visible to fixed" });
  await expect(seen.getByRole("combobox")).toHaveValue("dicer");
  await expect(seen.getByRole("heading", { name: /visible tools?$/ })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(row.getByRole("button", { name: "Tools visible to fixed" })).toBeFocused();
  await expect(row.getByRole("link", { name: "View calls" })).toHaveAttribute(
    "href",
    "#/calls?principal=key%3Afixed",
  );
});

test("a double click rotates once, and why it failed is said in the dialog", async ({
  page,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await gateway.ask("POST", "/api/keys", { name: "twice" });
  await gateway.open(page, "keys");
  let asked = 0;
  await page.route("**/api/keys/twice/rotate", async (route) => {
    asked += 1;
    if (asked === 1) return route.fulfill({ status: 409, json: { detail: "not just now" } });
    await new Promise((done) => setTimeout(done, 500));
    return route.continue();
  });
  await page.getByRole("button", { name: "Rotate twice" }).click();
  const rotate = page.getByRole("button", { name: "Rotate key" });
  await rotate.click();
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("not just now");
  await rotate.dblclick();
  const shown = page.getByRole("dialog", { name: "Key twice" });
  await expect(shown).toBeVisible();
  expect(asked).toBe(2);
  // Toasts lie above the dialog.
  await shown.getByRole("button", { name: "Copy" }).first().click();
  await expect(page.locator(".toasts:popover-open")).toContainText("Copied");
  await shown.getByRole("button", { name: "I have saved it" }).click();
  await expect(page.getByRole("button", { name: "Rotate twice" })).toBeFocused();
});

test("what cannot be a key is refused in words, and nothing typed is lost", async ({ page }) => {
  await gateway.open(page, "keys");
  await page.getByRole("button", { name: "Create key" }).click();
  const form = page.getByRole("dialog");
  const markup = `<img src=x onerror="document.title='owned'">`;
  await form.getByLabel("Name").fill(markup);
  await form.getByText("Limits and tenant").click();
  await form.getByLabel("Rate limit").fill(markup);
  await form.getByLabel("Tenant").fill(markup);
  await form.getByLabel("Tools").fill(markup);
  await form.getByRole("button", { name: "Create key" }).click();
  await expect(form.getByRole("alert")).toBeVisible();
  await expect(form.getByLabel("Name")).toHaveValue(markup);
  expect(await page.title()).toContain("Keys");
  await form.getByLabel("Name").fill("fixed");
  await form.getByLabel("Rate limit").fill("");
  await form.getByLabel("Tenant").fill("");
  await form.getByRole("button", { name: "Create key" }).click();
  await expect(form.getByRole("alert")).toContainText("is in the config");
});

test("the page is accessible", async ({ page }) => {
  await gateway.open(page, "keys");
  await expect(page.getByText("fixed")).toBeVisible();
  await isAccessible(page);
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByText("Preview visible tools").click();
  await expect(page.getByRole("heading", { name: /visible tools?$/ })).toBeVisible();
  await isAccessible(page);
});
