import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type Command, type LogEvent, SETUP } from '../../../src/contracts/kennel.ts';

/** Most questions and permissions that may be open at once; the agent's next one is refused. */
const MAX_OPEN = 64;
/** setTimeout's own limit */
const LONGEST = 2 ** 31 - 1;

type Question = Omit<Extract<LogEvent, { type: 'question' }>, 'type' | 'id'>;
type Permission = Omit<Extract<LogEvent, { type: 'permission' }>, 'type' | 'id'>;
/** `parked`: nobody answered within `holdMs`. `over`: the run ends. `refused`: too many are open. */
export type Reply = { what: 'answer'; id: string; text: string } | { what: 'parked' | 'over' | 'refused' };

interface Open {
  key: string;
  settle: Array<(reply: Reply) => void>;
  timer: NodeJS.Timeout;
}

export interface PendingQuestionsOptions {
  write(event: LogEvent): number | null;
  /** `seq` of the next line; ids contain it, so that they are unique over all runs of a task */
  nextSeq(): number;
  holdMs: number;
  /** open questions of earlier runs, by id: `unsettled()` */
  earlier: Map<string, string>;
  onParked(): void;
}

/**
 * Holds everything that waits for the person: questions of `ask_human`, the agent's own question forms, permissions.
 */
export class PendingQuestions {
  private readonly open = new Map<string, Open>();
  /** answers that nobody waits for: to questions of an earlier run, or of a call whose connection broke */
  private readonly kept = new Map<string, { id: string; text: string; logged: boolean }>();
  private readonly options: PendingQuestionsOptions;
  private state: 'open' | 'parked' | 'over' = 'open';

  constructor(options: PendingQuestionsOptions) {
    this.options = options;
  }

  /** A question that is asked again while it is open counts as one question. */
  ask(question: Question): Promise<Reply> {
    return this.wait(questionKey(question.question), 'q', (id) => ({ type: 'question', id, ...question }));
  }

  /** The text of the answer is `allow` or `deny`. */
  permit(permission: Permission): Promise<Reply> {
    return this.wait(permissionKey(permission), 'p', (id) => ({ type: 'permission', id, ...permission }));
  }

  /** An answer did not reach the agent because its call is gone. It is kept until the agent asks again. */
  unheard(question: string, reply: Extract<Reply, { what: 'answer' }>): void {
    this.kept.set(questionKey(question), { id: reply.id, text: reply.text, logged: true });
  }

  take(command: Command): void {
    if (command.type === 'answer') this.answer(command.questionId, command.answer, 'answered');
    if (command.type === 'permit')
      this.answer(command.permissionId, command.decision, command.decision === 'allow' ? 'allowed' : 'denied');
  }

  get waiting(): number {
    return this.open.size;
  }

  /** Ends all waiting. */
  close(): void {
    this.state = 'over';
    this.release('over');
  }

  private wait(key: string, prefix: string, line: (id: string) => LogEvent): Promise<Reply> {
    if (this.state !== 'open') return Promise.resolve({ what: this.state });
    const kept = this.kept.get(key);
    if (kept) {
      this.kept.delete(key);
      if (!kept.logged) this.options.write({ type: 'settled', id: kept.id, how: 'answered before' });
      return Promise.resolve({ what: 'answer', id: kept.id, text: kept.text });
    }
    for (const open of this.open.values())
      if (open.key === key) return new Promise((resolve) => open.settle.push(resolve));
    if (this.open.size >= MAX_OPEN) return Promise.resolve({ what: 'refused' });
    const id = `${prefix}${this.options.nextSeq()}`;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.park(), Math.min(this.options.holdMs, LONGEST));
      this.open.set(id, { key, settle: [resolve], timer });
      this.options.write(line(id));
    });
  }

  private answer(id: string, text: string, how: string): void {
    const open = this.open.get(id);
    if (!open) {
      const key = this.options.earlier.get(id);
      if (key !== undefined) this.kept.set(key, { id, text, logged: false });
      return;
    }
    this.open.delete(id);
    clearTimeout(open.timer);
    this.options.write({ type: 'settled', id, how });
    for (const settle of open.settle) settle({ what: 'answer', id, text });
  }

  /** Ends all waiting for now: the session goes on in another container. */
  park(): void {
    if (this.state !== 'open') return;
    this.state = 'parked';
    this.release('parked');
    this.options.onParked();
  }

  private release(what: 'parked' | 'over'): void {
    for (const open of this.open.values()) {
      clearTimeout(open.timer);
      for (const settle of open.settle) settle({ what });
    }
    this.open.clear();
  }
}

function questionKey(question: string): string {
  return hash(['question', question]);
}

function permissionKey(permission: Permission): string {
  return hash([
    'permission',
    permission.kind,
    permission.command ?? permission.title,
    permission.diff ?? '',
    ...(permission.paths ?? []),
  ]);
}

function hash(parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}

/**
 * Questions and permissions that earlier runs left open, by id. A resumed agent often repeats them. If the person has
 * decided meanwhile, a command of the new run with the old id answers at once.
 */
export function unsettled(logPath: string): Map<string, string> {
  const open = new Map<string, string>();
  for (const line of lastLines(logPath, 8 * 1024 * 1024)) {
    if (!/"type":"(question|permission|settled)"/.test(line)) continue;
    try {
      const event = JSON.parse(line) as LogEvent;
      if (event.type === 'question') open.set(event.id, questionKey(event.question));
      // what became of a setup script is in the specification of the run
      if (event.type === 'permission' && event.kind !== SETUP) open.set(event.id, permissionKey(event));
      if (event.type === 'settled') open.delete(event.id);
    } catch {
      // an unfinished line
    }
  }
  return open;
}

function lastLines(path: string, most: number): string[] {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return [];
  }
  try {
    const size = fstatSync(fd).size;
    const data = Buffer.alloc(Math.min(size, most));
    readSync(fd, data, 0, data.length, size - data.length);
    return data.toString().split('\n');
  } finally {
    closeSync(fd);
  }
}
