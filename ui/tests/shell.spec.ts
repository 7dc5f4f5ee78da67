import { expect, Gateway, test } from "./gateway";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start();
});
test.afterAll(async () => gateway.stop());

test("the link that serve prints logs in, and its token leaves the address", async ({ page }) => {
  await gateway.open(page);
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  expect(page.url()).not.toContain("token");
  const cookies = await page.context().cookies();
  const login = cookies.find((cookie) => cookie.name.startsWith("tollgate-"));
  expect(login).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  await page.reload();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
});

test("without a login there is a login page, and a wrong key is rejected", async ({ page }) => {
  await page.goto(gateway.page);
  await page.getByLabel("Key").fill("not-a-key");
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByRole("alert")).toContainText("unknown");
  await page.getByLabel("Key").fill(gateway.token);
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByRole("navigation", { name: "Pages" })).toBeVisible();
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByLabel("Key")).toBeVisible();
});

test("a login that ends is asked for over the page, and what was typed stays", async ({ page }) => {
  await gateway.open(page, "keys");
  await page.getByRole("button", { name: "Create key" }).click();
  const name = page.getByLabel("Name");
  await name.pressSequentially("half a na");
  const again = page.getByRole("dialog", { name: "Log in again" });
  const end = async () => {
    await page.context().clearCookies();
    await expect(async () => {
      await page.evaluate(() => dispatchEvent(new Event("visibilitychange")));
      await expect(again).toBeVisible({ timeout: 500 });
    }).toPass();
  };
  await end();
  await expect(again.getByLabel("Key")).toBeFocused();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await again.getByLabel("Key").fill("not-a-key");
  await again.getByRole("button", { name: "Log in" }).click();
  await expect(again.getByRole("alert")).toContainText("unknown");
  await again.getByLabel("Key").fill(gateway.token);
  await again.getByRole("button", { name: "Log in" }).click();
  await expect(again).toHaveCount(0);
  await expect(name).toHaveValue("half a na");
  // Another user sees nothing of it.
  const { key } = await gateway.ask<{ key: string }>("POST", "/api/keys", {
    name: "other",
    role: "admin",
  });
  await end();
  await again.getByLabel("Key").fill(key);
  await again.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByTitle("Logged in as")).toHaveText("key:other");
});

test("a tab that nobody sees gives up its connection, and takes it up again", async ({ page }) => {
  const isStream = (request: { url: () => string }) => request.url().includes("/api/events");
  const turn = (hidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  const opened = page.waitForResponse(isStream);
  await gateway.open(page);
  await opened;
  const closed = page.waitForEvent("requestfailed", isStream);
  await turn(true);
  await closed;
  // Longer than the delay before a lost connection is reported.
  await page.waitForTimeout(2000);
  await expect(page.getByText("Connection lost")).toHaveCount(0);
  const again = page.waitForResponse(isStream);
  await turn(false);
  expect((await again).status()).toBe(200);
});

test("keys lead through the page", async ({ page }) => {
  await gateway.open(page, "approvals");
  await expect(page.getByText("No pending approvals")).toBeVisible();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("Search servers");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.keyboard.press("/");
  await expect(page.getByRole("combobox", { name: "Search" })).toBeFocused();
  await page.keyboard.type("over");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
});

test("dark and light are as the system says, unless somebody chose", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await gateway.open(page);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.getByLabel("Theme").selectOption("light");
  const light = await ground();
  expect(light).not.toBe(dark);
  await page.reload();
  expect(await ground()).toBe(light);
});
