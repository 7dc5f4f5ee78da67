import { defineConfig } from "@playwright/test";

// Debian's headless Chromium; nothing is downloaded.
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";
const report = process.env.TOLLGATE_TEST_REPORT;

export default defineConfig({
  testDir: "tests",
  timeout: 90_000,
  expect: { timeout: 15_000 },
  // For two cores: tests mostly wait for the page.
  workers: 3,
  fullyParallel: false,
  forbidOnly: true,
  // A test that passes only on retry is reported as flaky at the end of `make test`.
  retries: 1,
  reporter: report ? [["list"], ["json", { outputFile: `${report}/page.json` }]] : [["list"]],
  outputDir: "test-results",
  use: {
    viewport: { width: 1280, height: 860 },
    launchOptions: { executablePath, args: ["--no-sandbox"] },
    // Tracing costs half of the run time again, so only for local runs.
    trace: process.env.CI ? "off" : { mode: "retain-on-failure", screenshots: false },
  },
});
