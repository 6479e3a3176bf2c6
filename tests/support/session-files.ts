import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Session files as Claude Code and Codex write them. */

export const CLAUDE_ID = '0b1f6f3e-5d0c-4a51-9c55-2b1c6f0d9a11';
export const CODEX_ID = '019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6a7b';

const AT = '2026-11-20T09:15:30.000Z';
const lines = (...each: object[]): string => each.map((line) => `${JSON.stringify(line)}\n`).join('');

/** `says`: what a command printed in it. */
export function claudeSession(folder: string, says = 'ok'): string {
  const common = {
    isSidechain: false,
    userType: 'external',
    cwd: folder,
    sessionId: CLAUDE_ID,
    version: '2.0.44',
    gitBranch: 'main',
    timestamp: AT,
  };
  const path = `${folder}/src/app.js`;
  return lines(
    { type: 'summary', summary: 'The app', leafUuid: 'u4' },
    { type: 'file-history-snapshot', messageId: 'm1', snapshot: { trackedFileBackups: { [path]: {} } } },
    {
      ...common,
      parentUuid: null,
      type: 'user',
      isMeta: true,
      uuid: 'u0',
      message: { role: 'user', content: 'Caveat' },
    },
    { ...common, parentUuid: 'u0', type: 'user', uuid: 'u1', message: { role: 'user', content: 'Make the app  two' } },
    {
      ...common,
      parentUuid: 'u1',
      type: 'assistant',
      uuid: 'u2',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [
          { type: 'thinking', thinking: `It is in ${path}.`, signature: 'c2lnbmVk' },
          { type: 'tool_use', id: 'toolu_1', name: 'Edit', input: { file_path: path, old_string: 'one' } },
        ],
      },
    },
    {
      ...common,
      parentUuid: 'u2',
      type: 'user',
      uuid: 'u3',
      message: {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: `${path}: ${says}` }],
      },
      toolUseResult: { filePath: path },
    },
    {
      ...common,
      parentUuid: 'u3',
      type: 'assistant',
      uuid: 'u4',
      message: { id: 'msg_2', role: 'assistant', content: [{ type: 'text', text: 'It is two now.' }] },
    },
  );
}

export function codexSession(folder: string, says = 'ok'): string {
  const item = (payload: object) => ({ timestamp: AT, type: 'response_item', payload });
  const text = (type: string, role: string, words: string) =>
    item({ type: 'message', role, content: [{ type, text: words }] });
  return lines(
    {
      timestamp: AT,
      type: 'session_meta',
      payload: {
        id: CODEX_ID,
        timestamp: AT,
        cwd: folder,
        originator: 'codex_cli_rs',
        cli_version: '0.60.1',
        source: 'cli',
        model_provider: 'openai',
        git: { commit_hash: '0000000', branch: 'main' },
      },
    },
    text('input_text', 'user', `<environment_context>\n  <cwd>${folder}</cwd>\n</environment_context>`),
    { timestamp: AT, type: 'turn_context', payload: { cwd: folder, approval_policy: 'on-request', model: 'gpt-5' } },
    text('input_text', 'user', 'Make the app two'),
    { timestamp: AT, type: 'event_msg', payload: { type: 'user_message', message: 'Make the app two' } },
    item({ type: 'reasoning', summary: [], encrypted_content: 'gAAAAABoZW5jcnlwdGVk' }),
    item({
      type: 'function_call',
      name: 'shell',
      call_id: 'call_1',
      arguments: JSON.stringify({ command: ['cat', 'src/app.js'], workdir: folder }),
    }),
    item({ type: 'function_call_output', call_id: 'call_1', output: `${folder}/src/app.js: ${says}` }),
    text('output_text', 'assistant', 'It is two now.'),
    { timestamp: AT, type: 'event_msg', payload: { type: 'agent_message', message: 'It is two now.' } },
  );
}

/** Puts a session where its agent keeps it. Returns the file. */
export function keptByAgent(home: string, agent: 'claude' | 'codex', folder: string, text: string): string {
  const path =
    agent === 'claude'
      ? join(home, '.claude/projects', folder.replace(/[^A-Za-z0-9]/g, '-'), `${CLAUDE_ID}.jsonl`)
      : join(home, '.codex/sessions/2026/11/20', `rollout-2026-11-20T09-15-30-${CODEX_ID}.jsonl`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}
