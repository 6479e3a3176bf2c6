import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ASK_USER } from '../../src/contracts/conversation.ts';
import { withoutInternal } from '../../src/domain/text/internal.ts';
import type { Store } from '../../src/store/postgres/database.ts';
import { turnOfReply } from '../../src/store/turns/replies.ts';

/**
 * What a message to a person must not say unless they asked for details: ids, JSON, cron expressions, names of tools and
 * settings, paths of the server.
 */
const MACHINE: ReadonlyArray<[what: string, like: RegExp]> = [
  ['an id', /\b(?:tsk|cron|thr|turn|wfr?|mem|call|item|msg|out|app)[_-][\w-]*\d[\w-]{2,}/i],
  ['JSON', /[{[]\s*"[^"\n]{1,60}"\s*[:,\]]/],
  ['a cron expression', /(?<![\w*/,-])(?:(?:\*(?:\/\d+)?|\d[\d,/-]*)\s+){4}(?:\*|[\dA-Z][\dA-Z,/-]*)(?![\w*])/],
  ['a setting', /\b(?:FETCH|OPENAI|OPENROUTER|AGENT|TEMPORAL|GH)_[A-Z][A-Z_]+\b/],
  ['a path of the server', /(?<![\w/.])\/(?:home|root|var|tmp|opt|srv|usr)\/\S+/],
  ['a line of git', /^(?:diff --git |index [0-9a-f]{7,}|@@ -\d)/m],
];
const TOOL = /\b[a-z]+(?:_[a-z]+)+\b/g;

const TOOLS = fileURLToPath(new URL('../../src/tools', import.meta.url));
/**
 * Tools with a name of several words, as their declarations are written. The registry has them, too, but loads a
 * thousand modules: a second of CPU for each file of tests.
 */
export const TOOL_NAMES: ReadonlySet<string> = new Set([
  ASK_USER,
  ...readdirSync(TOOLS, { recursive: true, encoding: 'utf8' })
    // the tools of the container protocol are for agents, and not in the registry
    .filter((file) => file.endsWith('.ts') && file !== 'contract-tools.ts')
    .flatMap((file) => [...readFileSync(join(TOOLS, file), 'utf8').matchAll(/\bname: '([a-z]+(?:_[a-z]+)+)'/g)])
    .map(([, name]) => name!),
]);

/** What a message says of the machine, in words; empty when it is fit for a phone. */
export function machineWordsIn(text: string): string[] {
  const found = MACHINE.flatMap(([what, like]) => {
    const [said] = like.exec(text) ?? [];
    return said === undefined ? [] : [`${what}: ${said}`];
  });
  const named = (text.match(TOOL) ?? []).filter((word) => TOOL_NAMES.has(word)).map((word) => `a tool: ${word}`);
  return [...found, ...new Set(named)];
}

/** A message to a person, with the words in it that are not ours. */
export interface Sent {
  body: string;
  kind: string;
  /** what a model, an agent or a program has written: answers, goals, questions, names */
  theirs: readonly string[];
  /** what people wrote in this chat */
  asked: readonly string[];
}

/** Names of arguments that hold sentences, names or files, and nothing that a schedule or a tool is known by. */
const PROSE =
  /^(?:question|options|goal|prompt|command|text|content|description|title|message|body|path|url|from|query|name|note|response|old|new)$/;

/** Shorter words of others stand in our own sentences, too. */
const SHORTEST = 4;

/** What a message says of the machine in our own words, unless the person had named it first. */
export function ownMachineWordsIn({ body, kind, theirs, asked }: Sent): string[] {
  if (machineWordsIn(body).length === 0) return [];
  const unquoted = body
    .split('\n')
    .filter((line) => !/^(?:> ?|│ )/.test(line))
    .join('\n');
  const unfenced = kind === 'question' ? unquoted : unquoted.replace(/^(`{3,})[\s\S]*?^\1$/gm, '');
  const own = [...theirs]
    .filter((text) => text.length >= SHORTEST)
    .sort((one, other) => other.length - one.length)
    .reduce((text, words) => text.replaceAll(words, '…'), unfenced)
    // what was asked is repeated by `status`
    .replace(/SCRIPT:.*$/gm, '…');
  return machineWordsIn(own).filter((found) => {
    const word = found.slice(found.indexOf(': ') + 2);
    // what a test tells the scripted model to do is repeated as the person's words, but names no tool for a person
    const isOurs = /^(?:an id|a tool|a cron expression): /.test(found);
    // who names a folder of the machine sits at it
    if (found.startsWith('a path ') && asked.some((text) => FOLDER.test(text))) return false;
    return !asked.some((text) => text.includes(word) && !(isOurs && SCRIPT.test(text)));
  });
}

/** All texts in arguments that are prose, whole and as one line. */
function proseIn(value: unknown, isProse = false): string[] {
  if (typeof value === 'string') return isProse ? [value, value.replace(/\s+/g, ' ').trim()] : [];
  if (Array.isArray(value)) return value.flatMap((each) => proseIn(each, isProse));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => proseIn(each, PROSE.test(name)));
}

/** Words with which a person asks for what the machine says. */
const DETAILS = /^\/?(?:more|details|tools|extensions)\b/i;
const FOLDER = /(?:^|\s)["']?~?\/[\w.-]/;
const SCRIPT = /SCRIPT:\[/;

/** Rows that are looked at: some tests store a hundred thousand. */
const NEWEST = 5_000;

/** What the messages and screens of an instance say of the machine: one line for each message that people should not get. */
export async function unfitMessages({ db }: Pick<Store, 'db'>): Promise<string[]> {
  const [outbox, items, inbox, calls, tasks, said] = await Promise.all([
    db
      .selectFrom('outbox')
      .leftJoin('turns', 'turns.id', 'outbox.turn_id')
      .select(['outbox.id', 'outbox.kind', 'outbox.body', 'outbox.chat_id', 'outbox.turn_id', 'turns.call'])
      .orderBy('outbox.ord', 'desc')
      .limit(NEWEST)
      .execute(),
    db
      .selectFrom('items')
      .innerJoin('threads', 'threads.id', 'items.thread_id')
      .innerJoin('turns', 'turns.id', 'items.turn_id')
      .select(['items.id', 'items.kind', 'items.summary', 'items.detail', 'items.turn_id'])
      .select(['threads.chat_id', 'turns.call'])
      .where('items.kind', 'in', ['agent_message', 'status', 'error'])
      // an answer that broke off is a model's, and a copied thread has been looked at as the first one
      .where('items.status', 'not in', ['interrupted', 'in_progress'])
      .where('threads.forked_from', 'is', null)
      .orderBy('items.ord', 'desc')
      .limit(NEWEST)
      .execute(),
    db.selectFrom('inbox').select(['id', 'body', 'chat_id']).limit(NEWEST).execute(),
    db
      .selectFrom('calls')
      .innerJoin('threads', 'threads.id', 'calls.thread_id')
      .select(['calls.args', 'threads.chat_id'])
      .limit(NEWEST)
      .execute(),
    db.selectFrom('tasks').select(['goal', 'chat_id']).execute(),
    db
      .selectFrom('transcript')
      .select(['content', 'turn_id'])
      .where('role', '=', 'assistant')
      .where((e) =>
        e.exists(
          e
            .selectFrom('steps')
            .select('steps.key')
            .whereRef('steps.turn_id', '=', 'transcript.turn_id')
            .where('steps.model', '!=', 'practice')
            .where('steps.input_tokens', '>', 0),
        ),
      )
      .limit(NEWEST)
      .execute(),
  ]);
  const answersDetails = new Set(inbox.filter(({ body }) => DETAILS.test(body)).map(({ id }) => turnOfReply(id)));
  const byChat = Map.groupBy(inbox, ({ chat_id }) => chat_id);
  const proseOf = Map.groupBy(
    [
      ...calls.flatMap(({ args, chat_id }) => proseIn(args).map((text) => ({ text, chat_id }))),
      ...tasks.flatMap(({ goal, chat_id }) => proseIn({ goal }).map((text) => ({ text, chat_id }))),
    ],
    ({ chat_id }) => chat_id,
  );
  const saidIn = Map.groupBy(said, ({ turn_id }) => turn_id);
  const messages = [...outbox, ...items.map(({ summary, detail, ...item }) => ({ ...item, body: detail ?? summary }))]
    // a turn that is one call of a program answers with its result
    .filter(({ turn_id, call }) => call === null && !answersDetails.has(turn_id ?? ''));
  return messages.flatMap(({ id, kind, body, chat_id, turn_id }) => {
    const theirs = [
      ...(proseOf.get(chat_id) ?? []).map(({ text }) => text),
      ...(saidIn.get(turn_id ?? '') ?? []).flatMap(({ content }) => [content, withoutInternal(content)]),
    ];
    const asked = (byChat.get(chat_id) ?? []).map((one) => one.body);
    const found = ownMachineWordsIn({ body, kind, theirs, asked });
    return found.length > 0 ? [`${found.join(', ')} in ${kind} ${id}: ${body.slice(0, 300)}`] : [];
  });
}
