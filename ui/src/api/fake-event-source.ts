// An EventSource for tests: it delivers only what a test dispatches.
export class FakeEventSource extends EventTarget {
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  static instances: FakeEventSource[] = [];
  readyState = 0;
  onopen?: () => void;
  onerror?: () => void;
  constructor(readonly url: string) {
    super();
    FakeEventSource.instances.push(this);
  }
  close() {
    this.readyState = FakeEventSource.CLOSED;
  }
  emitOpen() {
    this.readyState = FakeEventSource.OPEN;
    this.onopen?.();
  }
  emitError() {
    this.close();
    this.dispatchEvent(new Event("error"));
  }
}
