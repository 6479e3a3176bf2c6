/**
 * NanoClaw's agent image as an ACP agent on stdio. Its program gets its prompt as JSON on stdin, answers between
 * markers on stdout, takes follow-ups as files, and asks the host for things by other files. The image stays as it is.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import * as acp from '@agentclientprotocol/sdk';
import type { ChatOfRun } from '../../../src/contracts/kennel.ts';
import { type Host, Ipc } from './ipc.ts';
import type { Output } from './outputs.ts';
import { type Input, Program } from './program.ts';

// biome-ignore lint/style/noProcessEnv: this program is an agent of its own; its image and its profile set these
const env = process.env;
const home = env.HOME ?? '/tmp';
const chat = JSON.parse(env.FETCH_CHAT ?? 'null') as ChatOfRun | null;
const ms = (name: string, usual: number): number => Number(env[name] ?? usual);
/** After an answer it may say more within this time: sub-agents answer by themselves. */
const QUIET_MS = ms('FETCH_NANOCLAW_QUIET_MS', 10_000);
/** Without an answer for this long it is ended, as NanoClaw does. */
const LONGEST_MS = ms('FETCH_NANOCLAW_TIMEOUT_MS', 30 * 60_000);
const FILES_MS = ms('FETCH_NANOCLAW_FILES_MS', 1_000);
/** The snapshots are renewed this often while it works. */
const FRESH_MS = 5_000;
const ALIVE_MS = 30_000;
const LOOK_MS = 200;
/** Within this time an agent that is told to end has ended. */
const CLOSE_MS = 3_000;
const HOST_MS = 10 * 60_000;

/** Errors after which a session is begun anew. */
function isLost(problem: string): boolean {
  const said = problem.toLowerCase();
  const both = (one: string, other: string) => said.includes(one) && said.includes(other);
  return said.includes('no conversation found') || both('enoent', '.jsonl') || both('session', 'not found');
}

interface Session {
  id: string;
  /** as its own program calls it */
  inner: string | null;
}

interface Live {
  session: Session;
  cwd: string;
  ipc: Ipc;
  program: Program | null;
  /** it was asked once whether it may begin, because it asks nothing by itself */
  mayBegin: boolean;
  cancelled: boolean;
}

const sessions = join(home, '.nanoclaw');
const live = new Map<string, Live>();

const connection = acp
  .agent({ name: 'nanoclaw' })
  .onRequest('initialize', () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: true },
    agentInfo: { name: 'nanoclaw', version: '1' },
  }))
  .onRequest('session/new', ({ params }) => {
    const session: Session = { id: `nanoclaw-${randomUUID()}`, inner: null };
    save(session);
    open(session, params.cwd, params.mcpServers);
    return { sessionId: session.id };
  })
  .onRequest('session/load', ({ params }) => {
    const session = load(params.sessionId);
    if (!session) throw acp.RequestError.resourceNotFound(params.sessionId);
    open(session, params.cwd, params.mcpServers);
    return {};
  })
  .onRequest('session/set_mode', ({ params }) => {
    find(params.sessionId).mayBegin = params.modeId === 'run';
    return {};
  })
  .onNotification('session/cancel', ({ params }) => {
    find(params.sessionId).cancelled = true;
  })
  .onRequest('session/prompt', async ({ params, client }) => {
    const one = find(params.sessionId);
    one.cancelled = false;
    const text = params.prompt.map((part) => (part.type === 'text' ? part.text : '')).join('');
    return { stopReason: await prompt(one, text, client) };
  })
  .connect(
    acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>),
  );

function open(session: Session, cwd: string, servers: acp.McpServer[]): void {
  const server = servers.find((each) => each.name === 'nanoclaw' && 'url' in each) as { url: string } | undefined;
  const note = (text: string) => process.stderr.write(`${text}\n`);
  const ipc = new Ipc(join(home, 'ipc'), chat?.jid ?? '', hostAt(server?.url ?? null), note);
  live.set(session.id, { session, cwd, ipc, program: null, mayBegin: false, cancelled: false });
}

function find(id: string): Live {
  const one = live.get(id);
  if (!one) throw acp.RequestError.resourceNotFound(id);
  return one;
}

/** The chat's host behind the gate. */
function hostAt(url: string | null): Host {
  const get = async (path: string, init?: RequestInit): Promise<Response | null> =>
    url === null
      ? new Response('There is no chat.', { status: 404 })
      : await fetch(`${url}/${path}`, { ...init, signal: AbortSignal.timeout(HOST_MS) }).catch(() => null);
  return {
    call: async (name, args, key) => {
      const body = JSON.stringify({ name, args, key });
      const response = await get('calls', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
      if (!response) return null;
      if (response.status >= 500) throw new Error(`The host answered ${response.status}.`);
      return response.ok
        ? ((await response.json()) as { text: string; ok: boolean })
        : { text: `The host refused it (${response.status}).`, ok: false };
    },
    snapshot: async (file) => {
      const response = await get(file);
      return response?.ok ? await response.text() : null;
    },
  };
}

/** One turn: until the program has answered and is quiet, has ended, or has answered nothing for too long. */
async function prompt(one: Live, text: string, client: acp.AgentContext): Promise<acp.StopReason> {
  if (!one.mayBegin && !(await allowed(one, client))) return one.cancelled ? 'cancelled' : 'end_turn';
  one.mayBegin = true;
  const alive = setInterval(() => void say(one, client, 'agent_thought_chunk', '.').catch(() => {}), ALIVE_MS);
  const files = setInterval(() => void one.ipc.drain().catch(() => {}), FILES_MS);
  const fresh = setInterval(() => void one.ipc.refresh().catch(() => {}), FRESH_MS);
  try {
    await one.ipc.refresh();
    const way = await answered(one, text, client);
    await drained(one);
    return way;
  } finally {
    for (const timer of [alive, files, fresh]) clearInterval(timer);
  }
}

/** What the program has asked for is carried out before its turn is over. A host that restarts is waited for. */
async function drained(one: Live): Promise<void> {
  for (const until = Date.now() + HOST_MS; !(await one.ipc.drain()); await pause(FRESH_MS))
    if (one.cancelled || Date.now() > until) return;
}

/** State of one turn of the program. */
interface Turn {
  words: string;
  /** the file of a follow-up, until the program has taken it */
  followUp: string | null;
  answers: number;
  /** when it answered last, or began */
  heardAt: number;
}

async function answered(one: Live, text: string, client: acp.AgentContext): Promise<acp.StopReason> {
  const words = chat?.scheduled ? text : asMessages(text);
  const turn: Turn = { words, followUp: null, answers: 0, heardAt: Date.now() };
  if (one.program && !one.program.ended) turn.followUp = one.ipc.followUp(words);
  else one.program = start(one, words);
  for (;;) {
    const event = await one.program!.next(LOOK_MS);
    if (one.cancelled) {
      await close(one);
      return 'cancelled';
    }
    if (!event) {
      const quiet = Date.now() - turn.heardAt;
      if (turn.answers > 0 && quiet >= QUIET_MS) return 'end_turn';
      if (quiet < LONGEST_MS) continue;
      await close(one);
      throw new acp.RequestError(-32000, `The agent answered nothing for ${Math.round(LONGEST_MS / 60_000)} minutes`);
    }
    const problem = event.what === 'output' ? await take(one, turn, event.output, client) : event.problem;
    if (problem !== null && !beginsAnew(one, turn, problem)) {
      await one.program?.kill();
      throw new acp.RequestError(-32000, problem);
    }
    if (problem === null && event.what === 'output') continue;
    // an exit in order: a follow-up that was written meanwhile is for a new one
    if (problem === null && !(turn.followUp !== null && existsSync(turn.followUp))) return 'end_turn';
    await one.program!.kill();
    if (turn.followUp !== null) rmSync(turn.followUp, { force: true });
    turn.followUp = null;
    one.program = start(one, words);
  }
}

/** Shows an answer. Returns what went wrong, as the program says it; null when nothing did. */
async function take(one: Live, turn: Turn, output: Output, client: acp.AgentContext): Promise<string | null> {
  const { session } = one;
  if (output.newSessionId !== null && output.newSessionId !== session.inner) {
    session.inner = output.newSessionId;
    save(session);
  }
  if (output.status === 'error') return output.error ?? 'The agent failed.';
  if (output.result !== null) await say(one, client, 'agent_message_chunk', output.result);
  // one without words says that it waits
  turn.answers += 1;
  turn.heardAt = Date.now();
  return null;
}

/** Whether the program is started again without its session, which is lost. */
function beginsAnew({ session }: Live, turn: Turn, problem: string): boolean {
  if (turn.answers > 0 || session.inner === null || !isLost(problem)) return false;
  session.inner = null;
  save(session);
  return true;
}

/** The image's own command, with a key that is none: the gate has the real one. */
function start({ session, cwd }: Live, prompt: string): Program {
  const { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL } = env;
  const input: Input = {
    prompt,
    ...(session.inner !== null && { sessionId: session.inner }),
    groupFolder: chat?.folder ?? 'main',
    chatJid: chat?.jid ?? '',
    isMain: chat?.main === true,
    ...(chat?.scheduled && { isScheduledTask: true }),
    assistantName: chat?.assistant ?? 'Fetch',
    secrets: {
      ...(ANTHROPIC_API_KEY !== undefined && { ANTHROPIC_API_KEY }),
      ...(ANTHROPIC_BASE_URL !== undefined && { ANTHROPIC_BASE_URL }),
    },
  };
  const argv = JSON.parse(Buffer.from(env.FETCH_IMAGE_COMMAND ?? '', 'base64').toString() || '[]') as string[];
  if (argv.length === 0) throw new acp.RequestError(-32000, 'The image has no command of its own.');
  const own = Object.entries(env).filter(([name]) => !name.startsWith('FETCH_') && name !== 'NODE_COMPILE_CACHE');
  return new Program(argv, env.FETCH_IMAGE_FOLDER || cwd, Object.fromEntries(own), input);
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (each) => ESCAPES[each]!);

/** A prompt as NanoClaw writes messages of a chat. */
function asMessages(text: string): string {
  const sender = chat?.main === false ? 'Group' : 'Owner';
  const attributes = `sender="${sender}" time="${new Date().toISOString()}"`;
  return `<messages>\n<message ${attributes}>${escaped(text)}</message>\n</messages>`;
}

async function say(
  { session }: Live,
  client: acp.AgentContext,
  sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk',
  text: string,
): Promise<void> {
  const content = { type: 'text' as const, text: sessionUpdate === 'agent_message_chunk' ? `${text}\n` : text };
  // each answer is a message of its own
  await client.notify('session/update', {
    sessionId: session.id,
    update: { sessionUpdate, content, messageId: randomUUID() },
  });
}

/** It does everything without asking, so a person who wants to be asked is asked once. */
async function allowed(one: Live, client: acp.AgentContext): Promise<boolean> {
  const { outcome } = await client.request('session/request_permission', {
    sessionId: one.session.id,
    toolCall: {
      toolCallId: 'begin',
      title: 'Work without asking: the agent of this image cannot ask before each action',
      kind: 'other',
    },
    options: [
      { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
      { optionId: 'no', name: 'No', kind: 'reject_once' },
    ],
  });
  if (outcome.outcome === 'cancelled') one.cancelled = true;
  return outcome.outcome === 'selected' && outcome.optionId === 'yes';
}

/** Ends the program: first as the protocol has it, then by force. */
async function close({ program, ipc }: Live): Promise<void> {
  if (!program) return;
  const until = setTimeout(() => void program.kill(), CLOSE_MS);
  await ipc.closeUntil(program.gone);
  clearTimeout(until);
  await ipc.drain();
}

const pathOf = (id: string): string => join(sessions, `${id}.json`);

/** Null when there is no such session. */
function load(id: string): Session | null {
  if (!/^[\w-]{1,100}$/.test(id)) return null;
  try {
    return JSON.parse(readFileSync(pathOf(id), 'utf8')) as Session;
  } catch {
    return null;
  }
}

function save(session: Session): void {
  mkdirSync(sessions, { recursive: true });
  writeFileSync(`${pathOf(session.id)}.new`, JSON.stringify(session));
  renameSync(`${pathOf(session.id)}.new`, pathOf(session.id));
}

await connection.closed;
await Promise.all([...live.values()].map(close));
process.exit(0);
