import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import type { LogEvent, LogLine } from '../../../src/contracts/kennel.ts';

/** Above this size, the agent's text is dropped. */
export const TEXT_LIMIT = 64 * 1024 * 1024;
/** Above this size, everything is dropped that needs no decision of the person; the run is about to end. */
export const HARD_LIMIT = 80 * 1024 * 1024;
const RESERVE = 64 * 1024;
/** How much of the end of a log is searched for its last line. */
const TAIL = 1024 * 1024;

type Unsaid = 'text' | 'all' | null;

/**
 * `log.ndjson`, which only this process appends to. `seq` continues from the last whole line; a line that a killed
 * runner left unfinished is cut off. When the disk is full, a small reserved file is deleted, so that the last line
 * still fits.
 */
export class RunLog {
  private readonly fd: number;
  private readonly reserve: string;
  private readonly step: number;
  private readonly limits: { text: number; all: number };
  private seq: number;
  private bytes: number;
  private dropped: Unsaid = null;
  private over = false;
  /** the disk is full; the reserved space is for the last line */
  private full = false;
  private rest: Buffer = Buffer.alloc(0);
  /** time of the last line, in ms since the epoch */
  lastAt = Date.now();
  /** Called above the hard limit or when the disk is full: the run must end now. */
  onFull: (reason: string) => void = () => undefined;

  constructor(path: string, step: number, limits = { text: TEXT_LIMIT, all: HARD_LIMIT }) {
    this.step = step;
    this.limits = limits;
    this.fd = openSync(path, 'a+');
    const end = lastLine(this.fd);
    this.seq = end.seq;
    this.bytes = end.bytes;
    this.reserve = `${path}.reserve`;
    try {
      writeFileSync(this.reserve, Buffer.alloc(RESERVE, '.'));
    } catch {
      // the disk is already full; the first line will report that
    }
  }

  get nextSeq(): number {
    return this.seq + 1;
  }

  /** Appends one line. Returns its `seq`, or null when it was dropped. Lines after `ended` are dropped. */
  write(event: LogEvent): number | null {
    if (this.over || this.full) return null;
    const much = event.type === 'text';
    const little = event.type === 'tool' || event.type === 'plan' || event.type === 'usage' || event.type === 'note';
    if (much && this.bytes > this.limits.text)
      return this.drop(
        'text',
        `The log of this task has reached ${Math.round(this.limits.text / 1024 / 1024)} MB; the agent's words are not kept from here on.`,
      );
    if ((much || little) && this.bytes > this.limits.all) return this.drop('all', 'The log of this task is full.');
    return this.append(event);
  }

  /** Writes the last line of the run, which is on the disk when this returns. Throws when even that does not fit. */
  end(event: Extract<LogEvent, { type: 'ended' }>): void {
    if (this.over) return;
    this.append(event);
    this.over = true;
    if (this.rest.length > 0) throw new Error('No room is left for the last line of the log.');
    fsyncSync(this.fd);
    closeSync(this.fd);
    rmSync(this.reserve, { force: true });
  }

  private append(event: LogEvent): number {
    const line: LogLine = { seq: this.seq + 1, at: new Date().toISOString(), step: this.step, ...event };
    // first the rest of the line that a full disk cut: no line may begin inside another
    this.rest = Buffer.concat([this.rest, Buffer.from(`${JSON.stringify(line)}\n`)]);
    this.seq += 1;
    this.lastAt = Date.now();
    let full = false;
    while (this.rest.length > 0) {
      try {
        const written = writeSync(this.fd, this.rest);
        this.bytes += written;
        this.rest = this.rest.subarray(written);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        full = true;
        if (!existsSync(this.reserve)) break;
        rmSync(this.reserve, { force: true });
      }
    }
    if (full && !this.full) {
      this.full = true;
      this.onFull('No room is left on the disk of the run folder.');
    }
    return this.seq;
  }

  private drop(what: Exclude<Unsaid, null>, note: string): null {
    if (this.dropped !== what && this.dropped !== 'all') {
      this.dropped = what;
      this.append({ type: 'note', level: 'warn', text: note });
      if (what === 'all') this.onFull(note);
    }
    return null;
  }
}

/** `seq` of the last whole line, and the length up to it. Cuts off a line without an end or with invalid JSON. */
function lastLine(fd: number): { seq: number; bytes: number } {
  const size = fstatSync(fd).size;
  const from = Math.max(0, size - TAIL);
  const tail = Buffer.alloc(size - from);
  readSync(fd, tail, 0, tail.length, from);
  let end = tail.lastIndexOf(10);
  while (end >= 0) {
    const begin = tail.lastIndexOf(10, end - 1) + 1;
    const seq = seqOf(tail.subarray(end === 0 ? 0 : begin, end).toString());
    if (seq !== null) {
      if (from + end + 1 < size) ftruncateSync(fd, from + end + 1);
      return { seq, bytes: from + end + 1 };
    }
    end = end === 0 ? -1 : begin - 1;
  }
  if (from > 0) throw new Error('The log of this run has no readable line at its end.');
  ftruncateSync(fd, 0);
  return { seq: 0, bytes: 0 };
}

function seqOf(line: string): number | null {
  try {
    const seq = (JSON.parse(line) as { seq?: unknown }).seq;
    return typeof seq === 'number' && Number.isSafeInteger(seq) && seq > 0 ? seq : null;
  } catch {
    return null;
  }
}
