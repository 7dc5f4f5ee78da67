import { isAccessible, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";
import { ODD } from "./kinds";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(ODD);
  await isUp(gateway, "odd");
});
test.afterAll(() => gateway.stop());

test("agents are listed, and each tool in each tier is seen or says what hides it", async ({
  page,
}) => {
  await gateway.open(page, "agents");
  const agents = page.getByRole("table", { name: "Agents" });
  await expect(agents.getByRole("row", { name: /clerk/ })).toContainText("default");
  await agents.getByRole("link", { name: "hasty" }).click();
  const matrix = page.getByRole("table", { name: "Tools by tier" });
  const slow = matrix.getByRole("row", { name: /odd_slow/ }).getByRole("cell");
  await expect(slow.nth(1)).toContainText("tier");
  await expect(slow.nth(1)).toContainText("requires tier `standard`");
  await expect(slow.nth(2)).toHaveText("visible");
  const dice = matrix.getByRole("row", { name: /roll_table/ }).getByRole("cell");
  await expect(dice.nth(3)).toContainText("agent");
  await expect(matrix.getByRole("columnheader", { name: /standard/ })).toContainText(
    "override only",
  );
});

test("the matrix is narrowed by name, by level and to what is seen", async ({ page }) => {
  await gateway.open(page, "agents/hasty");
  const matrix = page.getByRole("table", { name: "Tools by tier" });
  await expect(matrix.getByRole("link", { name: "odd_slow" })).toBeVisible();
  await page.getByLabel("Visible only").check();
  await expect(matrix.getByRole("link", { name: "roll_table" })).toHaveCount(0);
  await page.getByLabel("Visible only").uncheck();
  await page.getByLabel("Hidden by").selectOption("agent");
  await expect(matrix.getByRole("link", { name: "odd_slow" })).toHaveCount(0);
  await expect(matrix.getByRole("link", { name: "roll_table" })).toBeVisible();
  await expect(page).toHaveURL(/level=agent/);
  await page.getByLabel("Hidden by").selectOption("");
  await page.getByLabel("Filter tools").fill("odd/slow");
  await expect(matrix.getByRole("row")).toHaveCount(2);
  await matrix.getByRole("link", { name: "odd_slow" }).click();
  await expect(page.getByRole("heading", { name: "odd_slow" })).toBeVisible();
});

test("a prompt is shown with its placeholders filled in", async ({ page }) => {
  await gateway.open(page, "agents/clerk?tab=prompt");
  const filled = page.getByRole("region", { name: "Rendered", exact: true });
  await expect(filled).toContainText("who speaks Latin");
  await page.getByLabel("caller_name").fill("<b>Ada</b>");
  await expect(filled).toContainText("Hello <b>Ada</b>!");
  await expect(filled.locator("b")).toHaveCount(0);
  await page.getByRole("tab", { name: "Settings" }).click();
  await expect(page.getByRole("region", { name: "Settings" })).toContainText("namespace default");
});

test("an agent that is not there is said to be so", async ({ page }) => {
  await gateway.open(page, "agents/nobody");
  await expect(page.getByRole("alert")).toContainText("nobody");
});

for (const route of ["agents", "agents/hasty", "agents/clerk?tab=prompt"]) {
  test(`${route} can be used by everybody`, async ({ page }) => {
    await gateway.open(page, route);
    await expect(page.locator("main table, main pre").first()).toBeVisible();
    await isAccessible(page);
  });
}
