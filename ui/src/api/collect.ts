// Events come in bursts, and each invalidates long lists. Invalidated paths are batched and read
// at a limited rate; a running read is never aborted.
const PACE_MS = 400;

export function collect(read: (paths: string[]) => Promise<unknown>): (...paths: string[]) => void {
  const waiting = new Set<string>();
  let reads = false;
  const begin = async () => {
    reads = true;
    while (waiting.size > 0) {
      const paths = widest([...waiting]);
      waiting.clear();
      const pause = new Promise((done) => setTimeout(done, PACE_MS));
      await Promise.allSettled([read(paths), pause]);
    }
    reads = false;
  };
  return (...paths) => {
    for (const path of paths) waiting.add(path);
    if (!reads) void begin();
  };
}

/** Without paths that lie below another one. */
function widest(paths: string[]): string[] {
  return paths.filter((path) => !paths.some((it) => path.startsWith(`${it}/`)));
}
