// Events come in bursts, and each invalidates long lists. Invalidated paths are batched and read
// at a limited rate; a running read is never aborted.
const MIN_INTERVAL_MS = 400;

export function batchPaths(
  read: (paths: string[]) => Promise<unknown>,
): (...paths: string[]) => void {
  const waiting = new Set<string>();
  let reading = false;
  const readWaiting = async () => {
    reading = true;
    while (waiting.size > 0) {
      const paths = withoutChildren([...waiting]);
      waiting.clear();
      const pause = new Promise((done) => setTimeout(done, MIN_INTERVAL_MS));
      await Promise.allSettled([read(paths), pause]);
    }
    reading = false;
  };
  return (...paths) => {
    for (const path of paths) waiting.add(path);
    if (!reading) void readWaiting();
  };
}

/** Without paths that lie below another one. */
function withoutChildren(paths: string[]): string[] {
  return paths.filter((path) => !paths.some((it) => path.startsWith(`${it}/`)));
}
