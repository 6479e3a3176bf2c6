import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { factsOf } from '../../../kennel/agents/registry.ts';
import type { ChatAnswer, ChatTools } from '../../adapters/mcp/agent-servers.ts';
import { closedTo, policyOf } from '../../domain/consent/policy.ts';
import { blockQuote } from '../../domain/text/foreign-text.ts';
import { cut, storableText } from '../../domain/text/storable.ts';
import { IntakeError, signalArrival } from '../../gateway/intake/signal.ts';
import { startTurn } from '../../gateway/intake/turns.ts';
import { derivedId } from '../../store/chats/ids.ts';
import { attachmentId, OF_AGENT, saveAttachment, takeAttachment } from '../../store/chats/messages/attachments.ts';
import { openQuestionOfTurn, outcomeOfTurn, type TurnOutcome } from '../../store/chats/sessions/program-sessions.ts';
import { chatAccess, chatAutonomy, latestThread } from '../../store/chats/threads/threads.ts';
import { addTraffic } from '../../store/kennel/egress.ts';
import { countTold, sourceOfTask, tellOfTask, whereToTell } from '../../store/kennel/tasks/task-news.ts';
import { findTask, isOver, type Task } from '../../store/kennel/tasks/tasks.ts';
import { isMainChat } from '../../store/owner/memories.ts';
import { placesWithCrons, wholeName } from '../../store/owner/places.ts';
import { availableGroups, chatOfTask } from '../../store/owner/task-chat.ts';
import { findCronById } from '../../store/routines/crons.ts';
import { MOST_UPLOAD } from '../../tools/browser/action.ts';
import { asAgentBrowser, browserCallOf } from '../../tools/browser/agent-browser.ts';
import { contractToolOf, contractTools, type ListedTask, ourToolOf } from '../../tools/contract-tools.ts';
import { tools } from '../../tools/registry.ts';
import { dangerOf, MAIN_ONLY } from '../../tools/tool.ts';
import type { HostDeps, KennelDeps } from '../activity-deps.ts';
import { taintUnattended } from '../turn/context/provenance.ts';

/**
 * The tools of NanoClaw's agents for the agent of a task. A message goes to the task's chat at once. Every other call
 * is a turn of that chat that consists of it, so its policy, taint and consent are those of every call there.
 */

interface Deps extends Pick<KennelDeps, 'db' | 'config' | 'temporal'> {
  /** the parts of this host; without them there is no browser */
  site?: HostDeps;
}

/** One task says no more than this, whatever its container does. */
const MOST_MESSAGES = 50;
/** Each may have some megabytes, and is stored before anybody is asked. */
const MOST_UPLOADS = 20;
const MESSAGE_CHARS = 10_000;
const PROMPT_CHARS = 2_000;
/** How often to look whether the chat is free, or the turn has ended. */
const LOOK_MS = 250;
const LIST_MS = 10_000;

const no = (text: string): ChatAnswer => ({ text, ok: false });

export function createChatTools(deps: Deps, taskId: string): ChatTools {
  const liveTask = async (): Promise<Task | null> => {
    const task = await findTask(deps.db, taskId);
    return task && !isOver(task.state) ? task : null;
  };
  // snapshots are read again and again
  const noted = new Set<string>();
  const uploads = new Set<string>();
  const noteOnce = async (task: Task, what: string, found: readonly object[]): Promise<void> => {
    if (found.length === 0 || noted.has(what)) return;
    noted.add(what);
    await noteRead(deps, task, what, JSON.stringify(found));
  };
  return {
    tools: [...contractTools()].map(({ offered }) => ({
      name: offered.name,
      description: offered.name === SEND ? 'Say something in the chat of this task at once.' : offered.description,
      inputSchema: offered.inputSchema,
    })),
    async call(name, given, key, signal) {
      const task = await liveTask();
      if (!task) return no('The task is over.');
      const args = await inOwnWords(deps, task, given);
      if (name === SEND && args.chat === undefined) return await send(deps, task, args, key);
      if (name === 'list_tasks') return await list(deps, task, signal);
      return await callInChat(deps, task, { name, args, key }, signal);
    },
    async browse(argv, data, signal) {
      const task = await liveTask();
      return task ? await browse(deps, task, { argv, data, uploads }, signal) : no('The task is over.');
    },
    async snapshot(file) {
      const task = await liveTask();
      if (!task) return undefined;
      if (file === 'current_tasks.json') {
        const { found } = await scheduled(deps, task, AbortSignal.timeout(LIST_MS));
        await noteOnce(task, SCHEDULES, found);
        return found;
      }
      if (file !== 'available_groups.json') return undefined;
      // the owner's private chat sees the groups; every other chat sees none
      const { main } = await chatOfTask(deps.db, deps.config, task);
      const groups = main ? await availableGroups(deps.db) : [];
      await noteOnce(task, GROUPS, groups);
      return { groups, lastSync: new Date().toISOString() };
    },
  };
}

const SEND = 'send_message';

/** NanoClaw's programs name their own chat, too: it is the one that is meant when none is named. */
async function inOwnWords({ db, config }: Deps, task: Task, given: Record<string, unknown>) {
  const { jid } = await chatOfTask(db, config, task);
  const names = ['chat', 'target_group_jid'].filter((name) => given[name] === jid);
  return names.length === 0
    ? given
    : Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name)));
}

async function send(
  { db, ...deps }: Deps,
  task: Task,
  args: Record<string, unknown>,
  key: string,
): Promise<ChatAnswer> {
  const text = typeof args.text === 'string' ? storableText(args.text).trim() : '';
  if (text === '') return no('text must be a text that is not empty.');
  const id = `say_${derivedId('call_', key)}`;
  if ((await countTold(db, task.id, id)) >= MOST_MESSAGES) return no('This task has said too much already.');
  const words = `${factsOf(task.harness).label} in ${task.workspace}:\n${blockQuote(cut(text, MESSAGE_CHARS))}`;
  const outboxId = await tellOfTask(db, task, id, words, 'quoting');
  const { channel, workflowId } = await whereToTell(db, task);
  const arrival = { kind: 'reply' as const, inboxId: outboxId, outboxId };
  // if the signal fails, the sweeper finds the row
  await signalArrival({ db, ...deps }, { inboxId: outboxId, arrival, chatId: task.chat_id, channel, workflowId }).catch(
    () => {},
  );
  return { text: 'Message sent.', ok: true };
}

/** A turn of the chat, after the one that runs there. A repeated key finds the turn of the first call. */
async function callInChat(
  deps: Deps,
  task: Task,
  { name, args, key }: { name: string; args: Record<string, unknown>; key: string },
  signal: AbortSignal,
): Promise<ChatAnswer> {
  const tool = contractToolOf(name);
  if (!tool) return no(`There is no tool ${cut(name, 60)}.`);
  const given = tool.args(args);
  if (typeof given === 'string') return no(given);
  const isMain = await isMainChat(deps.db, task.chat_id, deps.config);
  // NanoClaw's programs name a schedule of another chat by its id alone
  const cron = isMain && typeof given.cron === 'string' ? await findCronById(deps.db, given.cron) : undefined;
  const places = cron && cron.chat_id !== task.chat_id ? await placesWithCrons(deps.db, task.chat_id) : [];
  const other = places.find(({ chatId }) => chatId === cron!.chat_id);
  const ours = other ? { ...given, chat: wholeName(other) } : given;
  const of = ourToolOf(tool, ours);
  // said again when it runs
  if (tools.get(of)?.mainOnly?.(ours as never) && !isMain) return no(MAIN_ONLY);
  return await turnOfCall(deps, task, { of, ours, name, key }, signal);
}

const threadOf = async ({ db }: Deps, task: Task): Promise<string> =>
  (await latestThread(db, task.chat_id))?.id ?? task.thread_id;

/** `of`: our tool for what the agent calls `name`. */
async function turnOfCall(
  deps: Deps,
  task: Task,
  { of, ours, name, key }: { of: string; ours: Record<string, unknown>; name: string; key: string },
  signal: AbortSignal,
): Promise<ChatAnswer> {
  const threadId = await threadOf(deps, task);
  for (;;) {
    try {
      const { turn } = await startTurn(deps, {
        threadId,
        prompt: cut(`${of} ${JSON.stringify(ours)}`, PROMPT_CHARS),
        inputSummary: `${factsOf(task.harness).label} in ${task.workspace}: ${name}`,
        call: { name: of, args: ours, as: name },
        heard: { sources: [sourceOfTask(task)], words: '' },
        autoApprove: false,
        channelMessageId: `agent ${task.id} ${key}`,
      });
      return await answerOf(deps, turn.id, signal);
    } catch (error) {
      if (!(error instanceof IntakeError && error.code === 'conflict')) throw error;
      await pause(LOOK_MS, undefined, { signal });
    }
  }
}

/**
 * A command in the browser of the chat. It has the policy and the taint of a call there. What asks nobody is done at
 * once, because the chat need not hear of each look at a page. What needs a yes is a turn of the chat.
 */
async function browse(
  deps: Deps,
  task: Task,
  { argv, data, uploads }: { argv: readonly string[]; data: Buffer; uploads: Set<string> },
  signal: AbortSignal,
): Promise<ChatAnswer & { file?: Buffer }> {
  const { db, config, temporal, site } = deps;
  const wanted = browserCallOf(argv);
  if (typeof wanted === 'string') return no(wanted);
  const tool = tools.get(wanted.name)!;
  if (wanted.file !== undefined) {
    if (data.length === 0 || data.length > MOST_UPLOAD) return no('A file has between 1 byte and 8 MB.');
    wanted.args.text = attachmentId(task.id, wanted.file, createHash('sha256').update(data).digest('hex'));
  }
  const given = tool.schema.safeParse(wanted.args);
  if (!given.success) return no(given.error.issues.map(({ message }) => message).join('; '));
  const args = given.data as Record<string, unknown>;
  const { chat_id: chatId, turn_id: turnId } = task;
  const access = await chatAccess(db, chatId);
  const closed = access && closedTo(tool, access);
  if (closed) return no(closed);
  if (wanted.file !== undefined) {
    if (uploads.add(String(args.text)).size > MOST_UPLOADS) return no('This task has uploaded too much already.');
    await storeFile(deps, task, { id: String(args.text), name: cut(wanted.file, 100), data });
  }
  const autonomy = (await chatAutonomy(db, chatId))?.autonomy ?? 'supervised';
  const taint = await taintUnattended(db, chatId, [sourceOfTask(task)], tool, args);
  const key = `browse_${randomUUID()}`;
  if (policyOf({ name: tool.name, danger: dangerOf(tool, args) }, autonomy, false, taint) !== 'run') {
    const turn = { of: tool.name, ours: args, name: `agent-browser ${argv[0]}`, key };
    const { text, ok } = await turnOfCall(deps, task, turn, signal);
    return { text: asAgentBrowser(text), ok };
  }
  const threadId = await threadOf(deps, task);
  const until = AbortSignal.any([signal, AbortSignal.timeout(tool.timeoutMs)]);
  const place = { callId: key, chatId, threadId, turnId, db, config, temporal, ...site, signal: until };
  const { ok, output, metadata = {} } = await tool.run(args as never, place);
  await noteRead(deps, task, URL.parse(String(metadata.url ?? ''))?.hostname || PAGES, output);
  const picture = typeof metadata.attachment === 'string' ? metadata.attachment : null;
  const file = picture === null ? undefined : (await takeAttachment(db, threadId, picture))?.data;
  const text = ok && wanted.only ? String(metadata[wanted.only] ?? '') : asAgentBrowser(output);
  return { text, ok, ...(file && { file }) };
}

/** A file of the container, for the person who is asked about it. */
async function storeFile(
  deps: Deps,
  task: Task,
  { id, name, data }: { id: string; name: string; data: Buffer },
): Promise<void> {
  const threadId = await threadOf(deps, task);
  const file = { id, threadId, kind: 'document', mime: OF_AGENT, name, data, preview: null, text: null } as const;
  await saveAttachment(deps.db, file);
}

/** What came of the call. One that waits for a person is answered at once, because that may take days. */
async function answerOf({ db }: Deps, turnId: string, signal: AbortSignal): Promise<ChatAnswer> {
  for (; ; await pause(LOOK_MS, undefined, { signal })) {
    const outcome = await outcomeOfTurn(db, turnId);
    if (!outcome) return no('There is no such call.');
    if (outcome.status !== 'in_progress' && outcome.status !== 'queued') return inWords(outcome);
    const asked = await openQuestionOfTurn(db, turnId);
    if (asked) return no(`Not done yet. The person is asked first, and it is done after their yes:\n${asked}`);
  }
}

function inWords({ call, as, error, status }: TurnOutcome): ChatAnswer {
  if (!call) return no(status === 'completed' ? 'It has no result.' : (error ?? 'It was stopped before its end.'));
  const tool = as === null ? undefined : contractToolOf(as);
  if (!tool || !call.ok) return { text: call.output, ok: call.ok };
  return {
    text: tool
      .answer(call)
      .content.map((part) => ('text' in part ? part.text : ''))
      .join('\n'),
    ok: true,
  };
}

interface ScheduledTask extends ListedTask {
  groupFolder: string;
}

/**
 * What is scheduled in the chat, and in every chat where it is the owner's, without a turn: looking changes nothing.
 */
async function scheduled(
  deps: Deps,
  task: Task,
  signal: AbortSignal,
): Promise<{ text: string; found: ScheduledTask[] }> {
  const { db, config } = deps;
  const contract = contractToolOf('list_tasks')!;
  const place = { callId: `list_${task.id}`, chatId: task.chat_id, threadId: task.thread_id, turnId: task.turn_id };
  const crons: unknown[] = [];
  const folders: string[] = [];
  const take = async (chatId: string, folder: string): Promise<void> => {
    const { metadata } = await tools.get(contract.of)!.run({}, { ...deps, ...place, chatId, signal });
    const listed = (metadata?.crons ?? []) as unknown[];
    crons.push(...listed);
    folders.push(...listed.map(() => folder));
  };
  await take(task.chat_id, task.workspace);
  if (await isMainChat(db, task.chat_id, config))
    for (const { chatId, name, group } of await placesWithCrons(db, task.chat_id))
      await take(chatId, group?.folder ?? name);
  const { content, structuredContent } = contract.answer({ output: '', metadata: { crons } });
  const found = (structuredContent?.tasks ?? []) as ListedTask[];
  return {
    text: content.map((part) => ('text' in part ? part.text : '')).join('\n'),
    found: found.map((each, at) => ({ ...each, groupFolder: folders[at]! })),
  };
}

async function list(deps: Deps, task: Task, signal: AbortSignal): Promise<ChatAnswer> {
  const { text, found } = await scheduled(deps, task, signal);
  if (found.length > 0) await noteRead(deps, task, SCHEDULES, text);
  return { text, ok: true };
}

/** They stand among the hosts of a task. No host can have these names. */
const SCHEDULES = 'schedules of the chat';
const GROUPS = 'names of groups';
const PAGES = 'pages in the browser';

/** Prompts of schedules and names of groups may have come from others, so they count as read. */
const noteRead = ({ db }: Deps, task: Task, host: string, text: string): Promise<void> =>
  addTraffic(db, task.id, [{ host, port: 443, connections: 1, sent: 0, received: Buffer.byteLength(text) }]);
