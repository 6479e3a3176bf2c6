import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type CallToolResult, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { script, type TestApp } from '../../support/app.ts';
import { choose, type Editor, type EditorOptions, openEditor } from '../../support/editor.ts';
import { kennelReady, startTaskApp, workspace } from '../../support/kennel-app.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
let path: string;
beforeAll(async () => {
  app = await startTaskApp({ FETCH_AUTONOMY: 'supervised', FETCH_MCP_SERVER_TOOLS: 'all' });
  ({ path } = await workspace(app, 'demo'));
});
afterAll(async () => {
  await app?.close();
});
let editor: Editor | undefined;
afterEach(async () => {
  await editor?.close();
  editor = undefined;
});

const open = async (
  options: EditorOptions,
): Promise<{ sessionId: string; prompt: (steps: unknown[]) => Promise<unknown> }> => {
  editor = await openEditor(app, options);
  const { agent } = editor;
  const { sessionId } = await agent.request('session/new', { cwd: path, mcpServers: [] });
  return {
    sessionId,
    prompt: (steps) => agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: script(steps) }] }),
  };
};

describe('an editor', () => {
  it('sees the difference before it says yes, and afterwards with the place of the file', async () => {
    const { prompt } = await open({ permit: () => choose('allow') });
    await prompt([
      { call: [['file_edit', { path: 'README.md', find: 'demo', replace: 'a demo', workspace: 'demo' }]] },
      { say: 'Done.' },
    ]);
    expect(editor!.asked[0]!.toolCall).toMatchObject({
      title: 'Change README.md in demo?',
      content: [
        { type: 'diff', path: join(path, 'README.md'), oldText: 'demo', newText: 'a demo' },
        { type: 'content' },
      ],
    });
    expect(editor!.updates.find((update) => update.sessionUpdate === 'tool_call_update')).toMatchObject({
      status: 'completed',
      content: [{ type: 'diff', path: join(path, 'README.md'), oldText: 'demo', newText: 'a demo' }],
      locations: [{ path: join(path, 'README.md') }],
    });
    expect(readFileSync(join(path, 'README.md'), 'utf8')).toBe('a demo\n');
  });

  it('is shown the plan of a coding task, and the work begins with its yes', async () => {
    const { prompt } = await open({
      permit: ({ options }) =>
        choose(options.find(({ name, optionId }) => name === 'yes' || optionId === 'allow')!.optionId),
    });
    const task = { goal: 'write planned.txt hi', workspace: 'demo', agent: 'practice', plan: true, timeout: 120_000 };
    await prompt([{ call: [['task_create', task]] }, { say: 'It is begun.' }]);
    await until('the file is there', () => readFileSync(join(path, 'planned.txt'), 'utf8').trim() === 'hi', 120_000);
    expect(editor!.updates.find((update) => update.sessionUpdate === 'plan')).toMatchObject({
      entries: [{ content: expect.stringContaining('planned.txt') }],
    });
    await until('it has reported', () => editor!.text().includes('planned.txt'), 60_000);
  });
});

describe('a program', () => {
  it('reads a file of a workspace; its command asks, and is never run twice over a kill', async () => {
    const client = new Client({ name: 'assistant', version: '1' }, { capabilities: { elicitation: {} } });
    const asked: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return { action: 'accept', content: { decision: 'allow' } };
    });
    const transport = new StreamableHTTPClientTransport(new URL(`${app.baseUrl}/mcp`), {
      requestInit: { headers: { authorization: 'Bearer test-token' } },
      reconnectionOptions: {
        maxRetries: 60,
        initialReconnectionDelay: 500,
        maxReconnectionDelay: 3_000,
        reconnectionDelayGrowFactor: 1.5,
      },
    });
    await client.connect(transport as never);
    const call = async (name: string, args: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: { ...args, workspace: 'demo' } }, undefined, {
        timeout: 120_000,
      })) as CallToolResult;
    const read = await call('file_read', { path: 'README.md' });
    expect([read.isError, (read.content[0] as { text: string }).text]).toEqual([
      false,
      expect.stringContaining('demo'),
    ]);
    const running = call('shell_run', { command: 'echo begun >> runs.txt; sleep 8; echo ended >> runs.txt' });
    await until('the command runs', () => readFileSync(join(path, 'runs.txt'), 'utf8').includes('begun'), 60_000);
    app.kill('kennel');
    const result = await running;
    expect(asked).toEqual([expect.stringContaining('sleep 8')]);
    expect(result.isError).toBe(true);
    expect(readFileSync(join(path, 'runs.txt'), 'utf8').match(/begun/g)).toHaveLength(1);
    await app.whenReady();
    await kennelReady(app);
    await client.close();
  });
});
