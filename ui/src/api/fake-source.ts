// An EventSource for tests: it delivers only what a test dispatches.
export class FakeSource extends EventTarget {
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  static made: FakeSource[] = [];
  readyState = 0;
  onopen?: () => void;
  onerror?: () => void;
  constructor(readonly url: string) {
    super();
    FakeSource.made.push(this);
  }
  close() {
    this.readyState = FakeSource.CLOSED;
  }
  opens() {
    this.readyState = FakeSource.OPEN;
    this.onopen?.();
  }
  refused() {
    this.close();
    this.dispatchEvent(new Event("error"));
  }
}
