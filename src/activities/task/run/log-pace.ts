/** How fast a log is stored. A working agent stays far below; a flood waits in its file, which has a limit. */
const LINES_PER_SECOND = 500;
const BYTES_PER_SECOND = 1024 * 1024;
/** What may come at once, because a host that was away must catch up. */
const BURST_SECONDS = 10;

interface LogPace {
  /** Records what was stored; returns how many ms to wait before more. */
  took(lines: number, bytes: number, now?: number): number;
}

export function createLogPace(): LogPace {
  let owed = { lines: 0, bytes: 0 };
  let since = Date.now();
  return {
    took(lines, bytes, now = Date.now()) {
      const seconds = (now - since) / 1000;
      since = now;
      owed = {
        lines: Math.max(0, owed.lines - seconds * LINES_PER_SECOND) + lines,
        bytes: Math.max(0, owed.bytes - seconds * BYTES_PER_SECOND) + bytes,
      };
      const behind = Math.max(owed.lines / LINES_PER_SECOND, owed.bytes / BYTES_PER_SECOND) - BURST_SECONDS;
      return Math.max(0, Math.ceil(behind * 1000));
    },
  };
}
