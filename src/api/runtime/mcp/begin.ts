import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type CallToolResult, said, type ToolRequest, unknownTool } from '../../../adapters/mcp/serving/protocol.ts';
import type { Source } from '../../../contracts/taint.ts';
import { isTooDeep } from '../../../domain/text/lenient-json.ts';
import { cut, storableText } from '../../../domain/text/storable.ts';
import { IntakeError } from '../../../gateway/intake/intake.ts';
import { chatKey } from '../../../store/chats/ids.ts';
import type { RequestKey } from '../../../store/chats/request-keys.ts';
import {
  bindRequest,
  isProgramThread,
  outcomeOfTurn,
  type SessionThread,
  sessionThreads,
  threadOfRequest,
  turnOfRequest,
  waitingIn,
} from '../../../store/chats/sessions/program-sessions.ts';
import { latestSeq } from '../../../store/chats/threads/events.ts';
import { createThread } from '../../../store/chats/threads/threads.ts';
import { contractToolOf, ourToolOf } from '../../../tools/contract-tools.ts';
import type { RuntimeDeps } from '../shared/endpoint.ts';
import { accessOf, admitted, CALL_RESULT, CHAT, CHAT_REPLY } from './offered.ts';
import { stillWaits } from './results.ts';
import type { ProgramSession } from './wire.ts';

/** A turn that is to be followed from `seq` on, or an answer that needs none. */
type Begun = { threadId: string; turnId: string; seq: number } | { answer: CallToolResult };

/** A call of a tool, as a request of a session. */
interface ProgramCall {
  session: ProgramSession;
  requestId: string | number;
  request: ToolRequest;
  /** aborts when the client is gone */
  signal: AbortSignal;
}

/** Keys of the threads that programs talk in. */
export const CHAT_KEYS = 'mcp chat ';
/**
 * Calls of a session that run or wait at a time: each has a thread of its own. The conversation of the session runs
 * them one after the other.
 */
const LANES = 8;
const BUSY_MS = 200;
const LONGEST_PROMPT = 2_000;
const LONGEST_TITLE = 72;

const requestName = ({ address }: ProgramSession, requestId: string | number): string =>
  `mcp call ${address} ${JSON.stringify(requestId)}`;

function keyOf(call: ProgramCall): RequestKey {
  const { name, args } = call.request;
  return {
    id: requestName(call.session, call.requestId),
    fingerprint: createHash('sha256')
      .update(JSON.stringify([name, args]))
      .digest('hex'),
  };
}

/**
 * A caller over MCP is a program. Its model may have read anything, so nothing that it says counts as the owner's word.
 */
const heardFrom = ({ name }: ProgramSession): { sources: Source[]; words: string } => ({
  sources: [{ kind: 'client', label: name }],
  words: '',
});

/**
 * Begins a call, or finds what the same request began before. @throws McpError for an unknown tool, KeyReused, ApiError
 */
export async function begin(deps: RuntimeDeps, call: ProgramCall): Promise<Begun> {
  const { name, args } = call.request;
  if (isTooDeep(args))
    return { answer: said('The arguments are nested too deeply. Write them with fewer levels.', true) };
  if (name === CHAT) return await beginChat(deps, call);
  if (name === CHAT_REPLY) return await reply(deps, call);
  if (name === CALL_RESULT) return await resultOfEarlier(deps, call);
  const allowed = admitted(name, deps.config.FETCH_MCP_SERVER_TOOLS);
  if (allowed === null) throw unknownTool(name);
  if (allowed !== true) return { answer: allowed };
  const ofContract = contractToolOf(name);
  if (!ofContract) return await beginCall(deps, call);
  const ours = ofContract.args(args);
  if (typeof ours === 'string') return { answer: said(ours, true) };
  const of = ourToolOf(ofContract, ours);
  const fits = of === ofContract.of || admitted(of, deps.config.FETCH_MCP_SERVER_TOOLS);
  if (fits !== true) return { answer: fits ?? said('It cannot be sent from here.', true) };
  return await beginCall(deps, { ...call, request: { ...call.request, name: of, args: ours } }, name);
}

/**
 * A turn whose only call is this one. It goes the way of every call: policy, taint, consent, the host's queue, retries.
 * `as`: the name by which the program called it.
 */
async function beginCall(deps: RuntimeDeps, call: ProgramCall, as?: string): Promise<Begun> {
  const { store, intake, config } = deps;
  const { session, request, signal } = call;
  const key = keyOf(call);
  const { mode, allowShell } = accessOf(config.FETCH_MCP_SERVER_TOOLS);
  for (; !signal.aborted; await pause(BUSY_MS)) {
    const threadId = await bindRequest(
      store.db,
      key,
      (await threadOfRequest(store.db, key.id)) ?? (await freeThread(deps, session)),
    );
    const known = await turnOfRequest(store.db, threadId, key.id);
    if (known) return { threadId, turnId: known, seq: 0 };
    // nobody would see that this call waits behind another one
    const [waiting] = session.forms ? [] : await waitingIn(store.db, session.address);
    if (waiting)
      return {
        answer: stillWaits({
          id: waiting.id,
          turnId: waiting.turn_id,
          threadId: waiting.thread_id,
          text: waiting.prompt,
        }),
      };
    const seq = await latestSeq(store.db, threadId);
    try {
      const { turn } = await intake.startTurn({
        threadId,
        prompt: cut(`${request.name} ${JSON.stringify(request.args)}`, LONGEST_PROMPT),
        call: { name: request.name, args: request.args, ...(as !== undefined && { as }) },
        heard: heardFrom(session),
        mode,
        allowShell,
        autoApprove: false,
        channelMessageId: key,
      });
      return { threadId, turnId: turn.id, seq };
    } catch (error) {
      // another request of the session took the thread; or all threads work
      if (!(error instanceof IntakeError && error.code === 'conflict')) throw error;
    }
  }
  throw signal.reason;
}

async function freeThread(deps: RuntimeDeps, session: ProgramSession): Promise<string> {
  const threads: SessionThread[] = await sessionThreads(deps.store.db, session.address);
  const free = threads.find(({ busy }) => !busy);
  if (free) return free.id;
  if (threads.length >= LANES) return threads[Math.floor(Math.random() * threads.length)]!.id;
  const lane = `mcp lane ${session.address} ${threads.length}`;
  const { id } = await newThread(deps, {
    address: session.address,
    title: `MCP: ${session.name}`,
    key: { id: lane, fingerprint: lane },
  });
  return id;
}

function newThread(
  deps: RuntimeDeps,
  of: { address?: string; title: string; key: RequestKey; model?: string; workspace?: string },
) {
  const { store, config, chatSecret } = deps;
  const { mode, allowShell } = accessOf(config.FETCH_MCP_SERVER_TOOLS);
  return createThread(store.db, {
    channel: 'api',
    ...(of.address && { address: of.address }),
    model: of.model ?? config.AGENT_MODEL ?? 'auto',
    workspace: of.workspace ?? config.FETCH_WORKSPACE ?? process.cwd(),
    mode,
    allow_shell: allowShell,
    trust_mode: false,
    auto_approve: false,
    archived: false,
    title: of.title,
    autonomy: config.FETCH_AUTONOMY,
    chatKey: (address) => chatKey(chatSecret ?? '', 'api', address),
    key: of.key,
  });
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? storableText(value).trim() || undefined : undefined;

async function beginChat(deps: RuntimeDeps, call: ProgramCall): Promise<Begun> {
  const { session, request } = call;
  const prompt = textOf(request.args.prompt);
  if (!prompt) return { answer: said('prompt must be a text', true) };
  const key = keyOf(call);
  const title = cut(prompt.replace(/\s+/g, ' '), LONGEST_TITLE);
  const [model, workspace] = [textOf(request.args.model), textOf(request.args.cwd)];
  const chat = { title, key: { ...key, id: `${CHAT_KEYS}${session.address} ${JSON.stringify(call.requestId)}` } };
  const { id } = await newThread(deps, { ...chat, ...(model && { model }), ...(workspace && { workspace }) });
  return await talk(deps, call, id, prompt);
}

async function reply(deps: RuntimeDeps, call: ProgramCall): Promise<Begun> {
  const { thread_id: threadId, prompt } = call.request.args;
  const [thread, text] = [textOf(threadId), textOf(prompt)];
  if (!thread || !text) return { answer: said('thread_id and prompt must be texts', true) };
  if (!(await isProgramThread(deps.store.db, thread)))
    return { answer: said(`There is no thread ${thread} that a program can go on with.`, true) };
  return await talk(deps, call, thread, text);
}

/** A turn with the model. */
async function talk(
  { store, intake, config }: RuntimeDeps,
  call: ProgramCall,
  thread: string,
  prompt: string,
): Promise<Begun> {
  const { session, request } = call;
  const key = keyOf(call);
  const threadId = await bindRequest(store.db, key, thread);
  const known = await turnOfRequest(store.db, threadId, key.id);
  if (known) return { threadId, turnId: known, seq: 0 };
  const seq = await latestSeq(store.db, threadId);
  const { mode, allowShell } = accessOf(config.FETCH_MCP_SERVER_TOOLS);
  try {
    const model = textOf(request.args.model);
    const heard = heardFrom(session);
    const settings = { heard, mode, allowShell, autoApprove: false, ...(model && { model }) };
    const { turn } = await intake.startTurn({ threadId, prompt, ...settings, channelMessageId: key });
    return { threadId, turnId: turn.id, seq };
  } catch (error) {
    if (!(error instanceof IntakeError && error.code === 'conflict')) throw error;
    return {
      answer: said('A turn of this thread works or waits for an answer. Say this again when it has ended.', true),
    };
  }
}

async function resultOfEarlier({ store, intake }: RuntimeDeps, call: ProgramCall): Promise<Begun> {
  const { turn_id, cancel } = call.request.args;
  const turnId = textOf(turn_id);
  const outcome = turnId && (await outcomeOfTurn(store.db, turnId));
  if (!turnId || !outcome || !(await isProgramThread(store.db, outcome.threadId)))
    return { answer: said('There is no call with this turn_id.', true) };
  const { threadId } = outcome;
  if (cancel !== true) return { threadId, turnId, seq: 0 };
  // the question that held it up is of no interest any more
  const seq = await latestSeq(store.db, threadId);
  await stop(intake, threadId, turnId);
  return { threadId, turnId, seq };
}

/** What ended meanwhile needs no stop. */
export async function stop(intake: RuntimeDeps['intake'], threadId: string, turnId: string): Promise<void> {
  try {
    await intake.interrupt({ threadId, turnId, channelMessageId: `mcp stop ${turnId}` });
  } catch (error) {
    if (!(error instanceof IntakeError)) throw error;
  }
}

/** Gives up the call of a request, wherever it is. */
export async function cancelRequest(
  { store, intake }: RuntimeDeps,
  session: ProgramSession,
  requestId: string | number,
): Promise<void> {
  const key = requestName(session, requestId);
  const threadId = await threadOfRequest(store.db, key);
  const turnId = threadId && (await turnOfRequest(store.db, threadId, key));
  if (threadId && turnId) await stop(intake, threadId, turnId);
}
