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

test("without a login there is a door, and a wrong key does not open it", async ({ page }) => {
  await page.goto(gateway.page);
  await page.getByLabel("Key").fill("not-a-key");
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByRole("alert")).toContainText("not known");
  await page.getByLabel("Key").fill(gateway.token);
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByRole("navigation", { name: "Pages" })).toBeVisible();
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByLabel("Key")).toBeVisible();
});

test("keys lead through the page", async ({ page }) => {
  await gateway.open(page);
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
  await page.getByLabel("Colours").selectOption("light");
  const light = await ground();
  expect(light).not.toBe(dark);
  await page.reload();
  expect(await ground()).toBe(light);
});
