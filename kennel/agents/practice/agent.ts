/**
 * The practice agent: a coding agent without a model, which does what the goal says (`goal.ts`). It speaks ACP on stdio
 * like the real agents, so that everything around it is the real path. A session continues where it stopped, even after
 * SIGKILL.
 */
import { randomUUID } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';
import { type AskServer, askHuman } from './ask.ts';
import { type Clause, changedBy, clauseOf, clausesOf, planOf, REPAIR, repairsOf, UNDERSTOOD } from './goal.ts';
import { loadSession, type Session, saveSession } from './session.ts';
import { appendOnce, runShell, waitSeconds, writeWhole } from './work.ts';

interface Live {
  session: Session;
  cwd: string;
  ask: AskServer | null;
  /** `run`: commands need no permission */
  mode: string;
  cancel: AbortController;
}

type Way = 'done' | 'stop' | 'cancelled';

const live = new Map<string, Live>();

acp
  .agent({ name: 'practice' })
  .onRequest('initialize', () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: true },
    agentInfo: { name: 'practice', version: '1' },
  }))
  .onRequest('session/new', ({ params }) => {
    const session: Session = {
      id: `practice-${randomUUID()}`,
      goal: '',
      clauses: [],
      done: 0,
      answers: [],
      begun: null,
    };
    saveSession(session);
    open(session, params.cwd, params.mcpServers);
    return { sessionId: session.id };
  })
  .onRequest('session/load', async ({ params, client }) => {
    const session = loadSession(params.sessionId);
    if (!session) throw acp.RequestError.resourceNotFound(params.sessionId);
    open(session, params.cwd, params.mcpServers);
    // agents replay the history of a session that is loaded
    for (const clause of session.clauses.slice(0, session.done)) await tell(client, session.id, `(before: ${clause})`);
    return {};
  })
  .onRequest('session/set_mode', ({ params }) => {
    find(params.sessionId).mode = params.modeId;
    return {};
  })
  .onNotification('session/cancel', ({ params }) => find(params.sessionId).cancel.abort())
  .onRequest('session/prompt', async ({ params, client }) => {
    const one = find(params.sessionId);
    one.cancel = new AbortController();
    const text = params.prompt.map((part) => (part.type === 'text' ? part.text : '')).join('');
    return { stopReason: await prompt(one, text.trim(), client) };
  })
  .connect(
    acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>),
  )
  .closed.then(() => process.exit(0));

function open(session: Session, cwd: string, servers: acp.McpServer[]): void {
  const server = servers.find((one) => 'type' in one && one.type === 'http') as
    | (acp.McpServerHttp & { type: 'http' })
    | undefined;
  live.set(session.id, { session, cwd, ask: server ?? null, mode: 'ask', cancel: new AbortController() });
}

function find(id: string): Live {
  const one = live.get(id);
  if (!one) throw acp.RequestError.resourceNotFound(id);
  return one;
}

/**
 * A prompt is a goal. For an unfinished session it is the answer that it waits for, or the same goal again, to
 * continue.
 */
async function prompt(one: Live, text: string, client: acp.AgentContext): Promise<acp.StopReason> {
  const { session } = one;
  if (one.mode === 'plan') return await makePlan(one, text, client);
  const unfinished = session.done < session.clauses.length;
  if (!unfinished && text === REPAIR) {
    const { repairs = 0 } = session;
    session.clauses.push(...repairsOf(session.clauses).slice(repairs, repairs + 1));
    session.repairs = repairs + 1;
  } else if (!unfinished && text !== session.goal) {
    session.goal = text;
    session.clauses.push(...clausesOf(text));
  } else if (unfinished && session.begun?.asked && text !== session.goal) {
    session.answers.push(text);
    finish(session);
  }
  saveSession(session);
  while (session.done < session.clauses.length) {
    await client.notify('session/update', {
      sessionId: session.id,
      update: { sessionUpdate: 'plan', entries: plan(session) },
    });
    const clause = session.clauses[session.done]!;
    const way = await work(one, clause, client);
    if (one.cancel.signal.aborted || way === 'cancelled') return 'cancelled';
    if (way === 'stop') return 'end_turn';
    finish(session);
  }
  await client.notify('session/update', {
    sessionId: session.id,
    update: { sessionUpdate: 'plan', entries: plan(session) },
  });
  await tell(client, session.id, `Done: ${session.clauses.length} of ${session.clauses.length}.`);
  return 'end_turn';
}

/**
 * Looks around and hands in a plan, which changes with the words that come for it. The work begins with the next prompt
 * in another mode.
 */
async function makePlan(one: Live, text: string, client: acp.AgentContext): Promise<acp.StopReason> {
  const { session } = one;
  if (session.goal === '') {
    session.goal = text;
    session.clauses = clausesOf(text);
  } else if (text !== session.goal && text !== session.change) {
    session.change = text;
    session.clauses = changedBy(session.clauses, text);
  }
  saveSession(session);
  for (const clause of session.clauses.map((each) => clauseOf(each, []))) {
    if (clause?.verb === 'look') await look(one, clause.command, client);
    if (one.cancel.signal.aborted) return 'cancelled';
  }
  await client.notify('session/update', {
    sessionId: session.id,
    update: { sessionUpdate: 'plan', entries: plan(session) },
  });
  await tell(client, session.id, planOf(session.clauses));
  return 'end_turn';
}

function finish(session: Session): void {
  session.done += 1;
  session.begun = null;
  saveSession(session);
}

function plan(session: Session): acp.PlanEntry[] {
  return session.clauses.map((content, at) => ({
    content,
    priority: 'medium',
    status: at < session.done ? 'completed' : at === session.done ? 'in_progress' : 'pending',
  }));
}

async function work(one: Live, text: string, client: acp.AgentContext): Promise<Way> {
  const { session, cwd } = one;
  const clause = clauseOf(text, session.answers);
  if (!clause) {
    await tell(client, session.id, UNDERSTOOD);
    throw new acp.RequestError(-32000, `I do not understand: ${text}`);
  }
  if (clause.verb === 'say') await tell(client, session.id, clause.text);
  if (clause.verb === 'fail') throw new acp.RequestError(-32000, clause.text || 'as asked');
  if (clause.verb === 'setup') return await propose(one, clause.script, client);
  if (clause.verb === 'ask') return await ask(one, clause, client);
  if (clause.verb === 'write' || clause.verb === 'append') {
    const tool = await begin(one, client, `${clause.verb} ${clause.file}`, 'edit', {
      locations: [{ path: `${cwd}/${clause.file}` }],
    });
    if (clause.verb === 'write') writeWhole(cwd, clause.file, clause.text);
    else appendOnce(cwd, clause.file, clause.text, session, () => saveSession(session));
    await tool({ status: 'completed' });
  }
  if (clause.verb === 'wait') {
    const tool = await begin(one, client, `wait ${clause.seconds} s`, 'other', {});
    const save = () => saveSession(session);
    const second = (elapsed: number) => void tool({ content: [words(`${elapsed} of ${clause.seconds} s`)] });
    if (!(await waitSeconds(clause.seconds, session, save, second, one.cancel.signal))) return 'cancelled';
    await tool({ status: 'completed' });
  }
  if (clause.verb === 'look') await look(one, clause.command, client);
  if (clause.verb === 'run') await shell(one, clause.command, client);
  if (clause.verb === 'allow?') {
    if (one.mode !== 'run' && !(await allowed(one, clause.command, client))) {
      if (one.cancel.signal.aborted) return 'cancelled';
      await tell(client, session.id, `Not allowed, so not done: ${clause.command}`);
      return 'done';
    }
    await shell(one, clause.command, client);
  }
  return 'done';
}

async function ask(one: Live, clause: Extract<Clause, { verb: 'ask' }>, client: acp.AgentContext): Promise<Way> {
  const { session } = one;
  if (!one.ask) throw new acp.RequestError(-32000, 'There is no ask_human in this session.');
  session.begun = { asked: true };
  saveSession(session);
  const tool = await begin(one, client, 'ask_human', 'other', { rawInput: { question: clause.question } });
  const asked = await askHuman(one.ask, clause.question, clause.options, one.cancel.signal).catch((error: Error) => ({
    refused: error.message,
  }));
  if (one.cancel.signal.aborted) return 'cancelled';
  if ('refused' in asked) throw new acp.RequestError(-32000, `The question could not be asked: ${asked.refused}`);
  if ('parked' in asked) {
    await tool({ status: 'failed' });
    return 'stop';
  }
  session.answers.push(asked.answer);
  await tool({ status: 'completed', content: [words(asked.answer)] });
  return 'done';
}

/** The exit code of the program for "later": the session goes on in another container. */
const LATER = 75;

async function propose(one: Live, script: string, client: acp.AgentContext): Promise<Way> {
  const command = `printf %s '${script.replaceAll("'", `'\\''`)}' | fetch-setup -`;
  const tool = await begin(one, client, 'fetch-setup', 'execute', { rawInput: { command } });
  const { code, output } = await runShell(command, one.cwd, () => {}, one.cancel.signal);
  if (one.cancel.signal.aborted) return 'cancelled';
  await tool({ status: code === 0 ? 'completed' : 'failed', content: [words(output)] });
  return code === LATER ? 'stop' : 'done';
}

async function allowed(one: Live, command: string, client: acp.AgentContext): Promise<boolean> {
  const { outcome } = await client.request('session/request_permission', {
    sessionId: one.session.id,
    toolCall: { toolCallId: `clause-${one.session.done}`, title: command, kind: 'execute', rawInput: { command } },
    options: [
      { optionId: 'always', name: 'Always', kind: 'allow_always' },
      { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
      { optionId: 'no', name: 'No', kind: 'reject_once' },
    ],
  });
  if (outcome.outcome === 'cancelled') one.cancel.abort();
  return outcome.outcome === 'selected' && outcome.optionId === 'yes';
}

/** A command whose failure changes nothing. */
async function look(one: Live, command: string, client: acp.AgentContext): Promise<void> {
  const tool = await begin(one, client, command, 'read', { rawInput: { command } });
  const { code, output } = await runShell(command, one.cwd, () => {}, one.cancel.signal);
  await tool({ status: code === 0 ? 'completed' : 'failed', content: [words(output)] });
}

async function shell(one: Live, command: string, client: acp.AgentContext): Promise<void> {
  const tool = await begin(one, client, command, 'execute', { rawInput: { command } });
  const { code, output } = await runShell(
    command,
    one.cwd,
    (sofar) => void tool({ content: [words(sofar)] }),
    one.cancel.signal,
  );
  if (one.cancel.signal.aborted) return;
  await tool({ status: code === 0 ? 'completed' : 'failed', content: [words(output)] });
  if (code !== 0) throw new acp.RequestError(-32000, `"${command}" ended with code ${code}`);
}

async function begin(one: Live, client: acp.AgentContext, title: string, kind: acp.ToolKind, more: object) {
  const toolCallId = `clause-${one.session.done}`;
  const sessionId = one.session.id;
  await client.notify('session/update', {
    sessionId,
    update: { sessionUpdate: 'tool_call', toolCallId, title, kind, status: 'in_progress', ...more },
  });
  return (change: Partial<acp.ToolCallUpdate>) =>
    client.notify('session/update', {
      sessionId,
      update: { sessionUpdate: 'tool_call_update', toolCallId, ...change },
    });
}

function tell(client: acp.AgentContext, sessionId: string, text: string): Promise<void> {
  return client.notify('session/update', {
    sessionId,
    update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `${text}\n` } },
  });
}

function words(text: string): acp.ToolCallContent {
  return { type: 'content', content: { type: 'text', text } };
}
