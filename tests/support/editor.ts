import { type ChildProcess, spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import * as acp from '@agentclientprotocol/sdk';
import { childEnvironment } from '../../src/config.ts';
import { FETCH_SETTING, type TestApp } from './app.ts';
import { until } from './until.ts';

const ENTRY = fileURLToPath(new URL('../../bin/fetch.js', import.meta.url));

/** A command of this clone that speaks a protocol on stdio, for the instance of a test. */
export function commandFor(
  { settings }: Pick<TestApp, 'settings'>,
  ...args: string[]
): { command: string; args: string[]; env: Record<string, string> } {
  const clean = Object.entries(childEnvironment({})).filter(
    ([name]) => !FETCH_SETTING.test(name) && !name.startsWith('VITEST'),
  );
  return {
    command: process.execPath,
    args: [ENTRY, ...args],
    env: { ...(Object.fromEntries(clean) as Record<string, string>), ...settings },
  };
}

export function spawnFor(app: Pick<TestApp, 'settings'>, ...given: string[]): ChildProcess {
  const { command, args, env } = commandFor(app, ...given);
  return spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
}

/** An editor: the client side of the SDK, with the agent as a process of its own. */
export interface Editor {
  child: ChildProcess;
  agent: acp.ClientContext;
  /** what the agent has told about sessions, in order */
  updates: acp.SessionUpdate[];
  /** dialogues that were opened, in order */
  asked: acp.RequestPermissionRequest[];
  forms: acp.CreateElicitationRequest[];
  /** said by the agent, in this order, without thoughts */
  text(): string;
  /** SIGKILL, and the end of the process */
  kill(): Promise<void>;
  close(): Promise<void>;
}

export interface EditorOptions {
  /** what the editor starts */
  command?: string[];
  capabilities?: acp.ClientCapabilities;
  /** answers a dialogue; a promise that never settles is a person who does not look */
  permit?: (
    request: acp.RequestPermissionRequest,
  ) => acp.RequestPermissionOutcome | Promise<acp.RequestPermissionOutcome>;
  fill?: (request: acp.CreateElicitationRequest) => acp.CreateElicitationResponse;
}

export const choose = (optionId: string): acp.RequestPermissionOutcome => ({ outcome: 'selected', optionId });
export const nobody = new Promise<never>(() => {});

export async function openEditor(app: Pick<TestApp, 'settings'>, options: EditorOptions = {}): Promise<Editor> {
  const { command = ['acp'], capabilities = {}, permit = () => nobody, fill = () => ({ action: 'cancel' }) } = options;
  const child = spawnFor(app, ...command);
  const updates: acp.SessionUpdate[] = [];
  const asked: acp.RequestPermissionRequest[] = [];
  const forms: acp.CreateElicitationRequest[] = [];
  const connection = acp
    .client({ name: 'editor' })
    .onNotification('session/update', ({ params }) => void updates.push(params.update))
    .onRequest('session/request_permission', async ({ params }) => {
      asked.push(params);
      return { outcome: await permit(params) };
    })
    .onRequest('elicitation/create', ({ params }) => {
      forms.push(params);
      return fill(params);
    })
    .connect(
      acp.ndJsonStream(Writable.toWeb(child.stdin!), Readable.toWeb(child.stdout!) as ReadableStream<Uint8Array>),
    );
  const { agent } = connection;
  const ended = () => until('the agent has ended', () => child.exitCode !== null || child.signalCode !== null);
  await agent.request('initialize', { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: capabilities });
  return {
    child,
    agent,
    updates,
    asked,
    forms,
    text: () =>
      updates
        .map((update) =>
          update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? update.content.text : '',
        )
        .join(''),
    async kill() {
      child.kill('SIGKILL');
      await ended();
    },
    async close() {
      child.stdin?.end();
      await ended();
    },
  };
}
