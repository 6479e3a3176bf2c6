import { statfsSync } from 'node:fs';

/** Agents write more than this at a time. */
const ROOM_BYTES = 1024 * 1024;

/** The reason of a failure, with the full disk that it came from: an agent that cannot write its session may not know why. */
export function explainRoom(folder: string, reason: string): string {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < ROOM_BYTES ? `No room is left on the disk of the run folder. ${reason}` : reason;
  } catch {
    return reason;
  }
}
