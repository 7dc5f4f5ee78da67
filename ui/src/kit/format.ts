// Formats numbers, durations and times for display.

export function ms(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value < 1) return value === 0 ? "0 ms" : "<1 ms";
  if (value < 10) return `${value.toFixed(1)} ms`;
  if (value < 1000) return `${Math.round(value)} ms`;
  return `${(value / 1000).toFixed(value < 10_000 ? 2 : 1)} s`;
}

export function percent(share: number): string {
  if (share === 0) return "0 %";
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(1)} KiB`;
  return `${(count / 1024 / 1024).toFixed(1)} MiB`;
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3600)} h`;
}

export function ago(time: string | null | undefined, now = Date.now()): string {
  if (!time) return "never";
  const seconds = (now - Date.parse(time)) / 1000;
  return seconds < 2 ? "just now" : `${duration(seconds)} ago`;
}

export function timeOfDay(time: string): string {
  return new Date(time).toLocaleTimeString("en-GB");
}

export function dateTime(time: string): string {
  return new Date(time).toLocaleString("en-GB");
}
