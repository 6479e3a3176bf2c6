import { createHash } from 'node:crypto';
import { constants, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * The files by which an agent of NanoClaw and its host talk. Who the agent is follows from the socket to the host;
 * nothing that a file claims of that counts.
 */

/** The host of the chat. `key`: the same call is carried out once. Null while it is away; rejects when it fails. */
export interface Host {
  call(name: string, args: Record<string, unknown>, key: string): Promise<{ text: string; ok: boolean } | null>;
  snapshot(file: string): Promise<string | null>;
}

const FOLDERS = ['messages', 'tasks'] as const;
const SNAPSHOTS = ['available_groups.json', 'current_tasks.json'] as const;
/** A larger file is set aside. */
const MOST_BYTES = 1024 * 1024;
/** A call at which the host fails so often is set aside, so that it does not hold up the others. */
const MOST_FAILURES = 5;

export class Ipc {
  private readonly folder: string;
  private readonly ownJid: string;
  private readonly host: Host;
  private readonly note: (text: string) => void;
  private draining: Promise<boolean> | null = null;
  private written = 0;
  private readonly failures = new Map<string, number>();

  constructor(folder: string, ownJid: string, host: Host, note: (text: string) => void) {
    this.folder = folder;
    this.ownJid = ownJid;
    this.host = host;
    this.note = note;
    for (const name of [...FOLDERS, 'input', 'errors']) mkdirSync(join(folder, name), { recursive: true });
  }

  /** Carries out what lies there, in the order of the names. False when the host is away: what is left stays. */
  drain(): Promise<boolean> {
    this.draining ??= this.drainNow().finally(() => {
      this.draining = null;
    });
    return this.draining;
  }

  private async drainNow(): Promise<boolean> {
    for (const folder of FOLDERS)
      for (const name of namesIn(join(this.folder, folder))) {
        if (!(await this.take(folder, name))) return false;
      }
    return true;
  }

  private async take(folder: (typeof FOLDERS)[number], name: string): Promise<boolean> {
    const path = join(this.folder, folder, name);
    const text = await readRegular(path);
    const data = text === null ? null : objectIn(text);
    if (text === null || data === null) {
      if (lstatSync(path, { throwIfNoEntry: false })) this.setAside(folder, name);
      return true;
    }
    const call = folder === 'messages' ? messageIn(data, this.ownJid) : taskIn(data, this.ownJid);
    if (typeof call === 'string') {
      this.note(`${folder}/${name} was left out: ${call}`);
    } else if (call.name === 'refresh_groups') {
      await this.refresh();
    } else {
      // two files of one name are two calls, and one file that is read twice is one
      const key = createHash('sha256').update(`${folder}\0${name}\0${text}`).digest('hex');
      const answer = await this.host.call(call.name, call.args, key).catch(() => 'failed' as const);
      if (answer === null) return false;
      if (answer === 'failed') {
        const failures = (this.failures.get(key) ?? 0) + 1;
        this.failures.set(key, failures);
        if (failures < MOST_FAILURES) return false;
        this.setAside(folder, name);
        return true;
      }
      if (!answer.ok) this.note(`${call.name}: ${answer.text}`);
    }
    rmSync(path, { force: true });
    return true;
  }

  private setAside(folder: string, name: string): void {
    this.note(`${folder}/${name} cannot be read as a call, and was set aside.`);
    const aside = join(this.folder, 'errors', `${folder}-${name}`);
    rmSync(aside, { recursive: true, force: true });
    renameSync(join(this.folder, folder, name), aside);
  }

  /** Renews the files that tell the agent of groups and schedules. A host that is away leaves them as they are. */
  async refresh(): Promise<void> {
    for (const file of SNAPSHOTS) {
      const text = await this.host.snapshot(file).catch(() => null);
      if (text !== null) writeWhole(join(this.folder, file), text);
    }
  }

  /** A follow-up for the agent that runs. Returns the path of its file, which the agent removes. */
  followUp(text: string): string {
    this.written += 1;
    // the agent reads the files in the order of their names
    const name = `${Date.now()}-${String(this.written).padStart(4, '0')}.json`;
    const path = join(this.folder, 'input', name);
    writeWhole(path, JSON.stringify({ type: 'message', text }));
    return path;
  }

  /** Tells the agent to end, again and again, because an agent that has just started removes the file as an old one. */
  async closeUntil(gone: Promise<unknown>): Promise<void> {
    let over = false;
    void gone.then(() => {
      over = true;
    });
    while (!over) {
      writeFileSync(join(this.folder, 'input', '_close'), '');
      await Promise.race([gone, pause(500, undefined, { ref: false })]);
    }
    rmSync(join(this.folder, 'input', '_close'), { force: true });
  }
}

const namesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort();

/** The text of a regular file; null for a link, a folder, and a file that is too large or gone. */
async function readRegular(path: string): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (!file) return null;
  try {
    const { size } = await file.stat();
    if (!(await file.stat()).isFile() || size > MOST_BYTES) return null;
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.readFile());
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return value && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function writeWhole(path: string, text: string): void {
  try {
    if (readFileSync(path, 'utf8') === text) return;
  } catch {
    // it is not there yet
  }
  writeFileSync(`${path}.tmp`, text);
  renameSync(`${path}.tmp`, path);
}

type Call = { name: string; args: Record<string, unknown> };

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';

/** The call that a file of `messages` is; a text says why it is none. */
export function messageIn(data: Record<string, unknown>, ownJid: string): Call | string {
  const { type, chatJid, text } = data;
  if (type !== 'message') return 'its type is not known.';
  if (!isText(chatJid) || !isText(text)) return 'it needs chatJid and text.';
  return { name: 'send_message', args: { text, ...(chatJid !== ownJid && { chat: chatJid }) } };
}

/** The call that a file of `tasks` is; a text says why it is none. */
export function taskIn(data: Record<string, unknown>, ownJid: string): Call | string {
  const { type } = data;
  const about = isText(data.taskId) ? { task_id: data.taskId } : null;
  switch (type) {
    case 'refresh_groups':
      return { name: type, args: {} };
    case 'register_group': {
      const { jid, name, folder, trigger } = data;
      if (![jid, name, folder, trigger].every(isText)) return 'it needs jid, name, folder and trigger.';
      return { name: type, args: { jid, name, folder, trigger } };
    }
    case 'pause_task':
    case 'resume_task':
    case 'cancel_task':
      return about ? { name: type, args: about } : 'it needs taskId.';
    case 'update_task': {
      if (isText(data.script)) return SCRIPT;
      const { prompt, schedule_type, schedule_value } = data;
      const changes = Object.entries({ prompt, schedule_type, schedule_value }).filter(([, value]) => isText(value));
      return about ? { name: type, args: { ...about, ...Object.fromEntries(changes) } } : 'it needs taskId.';
    }
    case 'schedule_task':
      return scheduleIn(data, ownJid, about);
    default:
      return 'its type is not known.';
  }
}

const SCRIPT = 'a script that decides whether to begin is not run here.';

function scheduleIn(data: Record<string, unknown>, ownJid: string, about: { task_id: string } | null): Call | string {
  const { prompt, schedule_type, schedule_value, targetJid, context_mode, script } = data;
  if (![prompt, schedule_type, schedule_value, targetJid].every(isText))
    return 'it needs prompt, schedule_type, schedule_value and targetJid.';
  if (isText(script)) return SCRIPT;
  return {
    name: 'schedule_task',
    args: {
      prompt,
      schedule_type,
      schedule_value,
      // as NanoClaw takes it: what is not known is isolated
      context_mode: context_mode === 'group' ? 'group' : 'isolated',
      ...about,
      ...(targetJid !== ownJid && { target_group_jid: targetJid }),
    },
  };
}
