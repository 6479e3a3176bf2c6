import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { scheduleInWords } from '../../../domain/chat/words/schedule-words.ts';
import { isTimeZone, scheduleSlug } from '../../../domain/cron.ts';
import { saidBy } from '../../../domain/text/foreign-text.ts';
import { cut, storableText } from '../../../domain/text/storable.ts';
import { isGroup } from '../../../domain/whatsapp/identity.ts';
import { memberSource } from '../../../gateway/channels/shared/pending.ts';
import { channelThread } from '../../../gateway/intake/threads.ts';
import { chatOfThread } from '../../../store/chats/threads/threads.ts';
import { claimImport, importHistory, type PastMessage } from '../../../store/home/imports.ts';
import { insertPrompt } from '../../../store/routines/automations.ts';
import { insertPastRuns } from '../../../store/routines/runs.ts';
import { readSettings, valuesIn } from './env.ts';
import { type Into, isFolder, JsonFile, merged, nothing, type Part, type Problem } from './files.ts';
import { type Group, type NanoClaw, readData, type Task } from './nanoclaw-data.ts';
import { readFolders, recordsFile } from './nanoclaw-files.ts';
import { scheduleOfTask } from './nanoclaw-schedules.ts';
import { type Chats, chatOf, counted, inOrder, personOf } from './sessions.ts';

/** The data that is taken over from an installation of NanoClaw. */

/** Its name when nothing is set. */
const ASSISTANT = 'Andy';

const assistantOf = (root: string): string => valuesIn(root).ASSISTANT_NAME?.trim() || ASSISTANT;

/** Null when the folder is no such installation. */
export const readNanoClaw = (root: string, problems: Problem[]): NanoClaw | null =>
  readData(root, assistantOf(root), problems);

const NAMES = {
  ASSISTANT_NAME: { is: 'FETCH_TRIGGER', read: (name: string) => `@${name.trim()}` },
  ASSISTANT_HAS_OWN_NUMBER: {
    is: 'WHATSAPP_NUMBER',
    read: (text: string) => (text.trim() === 'true' ? 'dedicated' : 'shared'),
  },
  TZ: { is: 'FETCH_TIME_ZONE', read: (zone: string) => zone.trim() },
};

/** Settings that NanoClaw has without its file. The owner of an assistant with a number of its own is in the main chat. */
function unsetIn({ root, groups }: NanoClaw): Record<string, string> {
  const main = groups.find((group) => group.main);
  const owner = valuesIn(root).ASSISTANT_HAS_OWN_NUMBER?.trim() === 'true' && main ? personOf(main.jid)?.pn : null;
  return {
    ...(groups.length > 0 && { ASSISTANT_NAME: ASSISTANT }),
    ...(owner && { OWNER_PHONE_NUMBER: owner.split('@')[0]! }),
  };
}

interface Done {
  chats: ReadonlySet<string>;
  tasks: ReadonlySet<string>;
  folders: ReadonlySet<string>;
}

export function partOfNanoClaw(chats: Chats, installation: NanoClaw, done: Done): Part {
  const home = chats.config.FETCH_HOME;
  const { root, groups, tasks } = installation;
  const written = valuesIn(root).TZ?.trim();
  const zone = written && isTimeZone(written) ? written : Intl.DateTimeFormat().resolvedOptions().timeZone;
  const reading = { root, home, done: done.folders };
  const lists = allowLists();
  const runs = tasks.reduce((sum, task) => sum + task.runs.length + task.olderRuns, 0);
  const records = nothing();
  if (groups.length + tasks.length > 0)
    records.found.push(
      recordsFile(
        reading,
        { groups: groups.map(recordOf), tasks, ...lists.lists },
        `rules of ${counted(groups.length, 'chat')}, ${counted(tasks.length, 'task')} and ${counted(runs, 'run')}`,
      ),
    );
  return merged([
    readSettings({ root, home }, NAMES, unsetIn(installation)),
    readChats(chats, groups, { done: done.chats, assistant: assistantOf(root) }),
    readTasks(chats, installation, { done: done.tasks, zone }),
    readFolders(reading),
    records,
    lists.part,
    { ...nothing(), left: readRest(installation) },
  ]);
}

/** Messages of a chat that is on WhatsApp are in the history of that chat. */
const recordOf = ({ messages, ...group }: Group): object => (isOnWhatsApp(group.jid) ? group : { ...group, messages });

const isOnWhatsApp = (jid: string): boolean => /^[\d-]{5,40}@g\.us$/.test(jid) || personOf(jid) !== null;
const keyOf = (id: string): string => `nanoclaw ${id}`;

function readChats(
  chats: Chats,
  groups: readonly Group[],
  { done, assistant }: { done: ReadonlySet<string>; assistant: string },
): Part {
  const part = nothing();
  for (const group of groups) {
    const { jid, name, folder, trigger, messages, older, broken } = group;
    const what = `chat "${cut(name, 60)}" (${folder})`;
    if (broken > 0)
      part.problems.push({ file: what, line: null, text: `${counted(broken, 'message')} cannot be read.` });
    if (!isOnWhatsApp(jid)) {
      part.left.push({ what, why: 'it is on a channel that is not here; its messages are kept with the rules' });
      continue;
    }
    // in version 2 several agents may answer in one chat
    const key = keyOf(`${jid} ${folder}`);
    const waiting = messages.filter(({ waits }) => waits).length;
    const since = waiting > 0 ? `, ${waiting} of them since the last answer` : '';
    part.found.push({
      what: `${what}: ${counted(messages.length, 'message')}${since}`,
      here: done.has(key),
      take: async (into) => {
        const thread = await threadOf(into, chats, jid);
        const past = { key, messages: pastOf(group), supervised: false };
        const taken = await importHistory(into.db, thread, past);
        return taken === 'used' ? 'something was said in this chat here already' : null;
      },
    });
    if (older > 0)
      part.left.push({ what: `${counted(older, 'older message')} of ${what}`, why: 'only the newest are taken over' });
    if (isGroup(jid) && trigger === null)
      part.left.push({
        what: `rule of ${what}`,
        why: 'everything was answered there; here a word or a quote calls me, until you say `answer everything in` and its name',
      });
    else if (trigger !== null && trigger.toLowerCase() !== `@${assistant}`.toLowerCase())
      part.left.push({
        what: `word ${trigger} of ${what}`,
        why: 'FETCH_TRIGGER calls me in all chats; give a group a word of its own in your own chat',
      });
  }
  const others = groups.filter(({ main, jid }) => !main && isOnWhatsApp(jid)).length;
  if (others > 0)
    part.left.push({
      what: `who may write in ${counted(others, 'chat')}`,
      why: 'only the owner may write to me, until you say `trust add` with a number',
    });
  return part;
}

/** As the gateway would make it at the next message. */
async function threadOf(into: Into, chats: Chats, jid: string): Promise<string> {
  const person = personOf(jid);
  const { id } = person
    ? await chatOf(into, chats, person)
    : await channelThread({ ...chats, db: into.db }, 'whatsapp', jid);
  return id;
}

/** Nothing says which answers followed text of others, so each of them may have. */
function pastOf({ jid, messages }: Group): PastMessage[] {
  const past: PastMessage[] = [];
  for (const { author, fromMe, answer, text, at } of messages) {
    const said = storableText(text);
    const shared = isGroup(jid) && !answer;
    past.push({
      role: answer ? 'assistant' : 'user',
      content: shared ? saidBy({ name: author, owner: fromMe }, said) : said,
      at: inOrder(at, past.at(-1)?.at),
      sources: answer
        ? [{ kind: 'unknown', label: 'an earlier answer' }]
        : shared && !fromMe
          ? [memberSource(author)]
          : [],
    });
  }
  return past;
}

/** The comparison with the Temporal server makes the schedules within a minute or two. */
function readTasks(
  chats: Chats,
  { groups, tasks }: NanoClaw,
  { done, zone }: { done: ReadonlySet<string>; zone: string },
): Part {
  const part = nothing();
  const now = new Date();
  const names = new Set<string>();
  for (const task of tasks) {
    const chat = groups.find(({ jid }) => jid === task.jid);
    const prompt = storableText(task.prompt);
    const what = `task "${cut(prompt.replace(/\s+/g, ' '), 60)}": ${cut(`${task.type} ${task.value}`, 80)}`;
    const why = chat
      ? isOnWhatsApp(chat.jid)
        ? null
        : 'its chat is on a channel that is not here'
      : 'its chat is not registered, so it never ran there';
    const converted = why === null ? scheduleOfTask(task, zone, now) : { why };
    if ('why' in converted) {
      part.left.push({ what, why: `${converted.why} (it is kept with the rules)` });
      continue;
    }
    const stopped = stoppedBecause(task);
    const notes = [converted.note, stopped].filter(Boolean).map((note) => `; ${note}`);
    for (const [at, schedule] of converted.schedules.entries()) {
      const key = keyOf(at === 0 ? task.id : `${task.id} ${at + 1}`);
      const name = nameIn(names, task.jid, cut(prompt.replace(/\s+/g, ' '), 60));
      part.found.push({
        what: `${what} becomes ${scheduleInWords(schedule)} in ${zone}${notes.join('')}`,
        here: done.has(key),
        take: async (into) => {
          const chatId = await chatOfThread(into.db, await threadOf(into, chats, task.jid));
          const id = `cron_${scheduleSlug(schedule)}_${digest(key)}`;
          const { isolated, runs } = task;
          const row = { id, chatId, name, schedule, timeZone: zone, enabled: stopped === null, prompt, isolated };
          const cron = await insertPrompt(into.db, { ...row, sources: [] });
          if (!cron) return 'there is a schedule of this name in its chat already';
          if (at === 0) await insertPastRuns(into.db, cron, runs);
          await claimImport(into.db, 'cron', key);
          return null;
        },
      });
    }
  }
  return part;
}

function stoppedBecause({ status, script, type, nextRun }: Task): string | null {
  if (status === 'paused') return 'switched off, as it was';
  if (script !== null) return 'switched off, because the command that decides about it is not run here';
  if (status !== 'active' || (nextRun === null && type !== 'once')) return 'switched off, because it never ran there';
  return null;
}

/** Names in a chat differ. */
function nameIn(names: Set<string>, jid: string, wanted: string): string {
  let name = wanted;
  for (let count = 2; names.has(`${jid} ${name.toLowerCase()}`); count += 1) name = `${wanted} (${count})`;
  names.add(`${jid} ${name.toLowerCase()}`);
  return name;
}

const digest = (key: string): string => createHash('sha256').update(`import\n${key}`).digest('hex').slice(0, 10);

const LISTS = [
  ['sender-allowlist.json', 'list of who may write', 'nobody is let in by it: say `trust add` with a number'],
  ['mount-allowlist.json', 'list of folders for agents', 'an agent sees no folder of this machine: say `open FOLDER`'],
] as const;

/** Lists that NanoClaw has in the home folder of its user. They let nobody in here, and are kept. */
function allowLists(): { part: Part; lists: Record<string, unknown> } {
  const part = nothing();
  const lists: Record<string, unknown> = {};
  for (const [name, what, why] of LISTS) {
    const json = JsonFile.read(join(homedir(), '.config/nanoclaw', name), part.problems);
    if (!json) continue;
    lists[name] = json.value();
    part.left.push({ what, why: `${why}; the list is kept with the rules` });
  }
  return { part, lists };
}

const STOP =
  'stop NanoClaw first (`systemctl --user stop nanoclaw`; on a Mac `launchctl unload ~/Library/LaunchAgents/com.nanoclaw.plist`), because two programs with one login lose messages';

function readRest({ root, unregistered }: NanoClaw): Part['left'] {
  const left: Part['left'] = [];
  if (isFolder(join(root, 'store/auth')) || isFolder(join(root, 'data/auth')))
    left.push({ what: 'WhatsApp login (store/auth)', why: `${STOP}. Then link this device with \`fetch pair\`` });
  if (unregistered > 0)
    left.push({
      what: `${counted(unregistered, 'chat')} that it did not answer`,
      why: 'nothing but names is stored of them',
    });
  const ipc = join(root, 'data/ipc');
  const waiting = isFolder(ipc)
    ? readdirSync(ipc, { recursive: true, withFileTypes: true }).filter(
        (entry) => entry.isFile() && /[/\\](?:messages|tasks|input)$/.test(entry.parentPath),
      ).length
    : 0;
  if (waiting > 0)
    left.push({ what: `${counted(waiting, 'file')} in data/ipc`, why: 'NanoClaw acts on them when it runs again' });
  return left;
}
