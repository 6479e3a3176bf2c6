/**
 * The program of an agent image that speaks NanoClaw's protocol. Each line of a message is something to do: `say TEXT`,
 * `raw TEXT` (to stdout), `input` (keeps its stdin), `write FILE TEXT`, `message JSON`, `task JSON`, `file FOLDER/NAME
 * TEXT`, `link FOLDER/NAME`, `groups`, `tasks`, `wait MS`, `until FILE`, `fail TEXT`, `exit CODE`.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const ipc = process.env.TEST_IPC ?? '/workspace/ipc';
const sessions = `${process.env.HOME}/.claude`;
const input = JSON.parse(readFileSync(0, 'utf8'));
const output = (value) =>
  console.log(`---NANOCLAW_OUTPUT_START---\n${JSON.stringify(value)}\n---NANOCLAW_OUTPUT_END---`);
let sent = 0;
const put = (folder, name, text) => {
  writeFileSync(`${ipc}/${folder}/${name}.tmp`, text);
  renameSync(`${ipc}/${folder}/${name}.tmp`, `${ipc}/${folder}/${name}`);
};
const nextName = () => {
  sent += 1;
  return `${Date.now()}-${String(sent).padStart(6, '0')}.json`;
};

rmSync(`${ipc}/input/_close`, { force: true });
mkdirSync(sessions, { recursive: true });
const session = input.sessionId ?? `session-${process.pid}-${Date.now()}`;
const memory = `${sessions}/${session}.jsonl`;
if (input.sessionId && !existsSync(memory)) {
  output({ status: 'error', result: null, error: `No conversation found with session ID: ${session}` });
  process.exit(1);
}

async function work(prompt) {
  writeFileSync(memory, `${JSON.stringify(prompt)}\n`, { flag: 'a' });
  const unescaped = prompt
    .replace(/<\/?messages>|<message [^>]*>|<\/message>/g, '')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, '&');
  for (const line of unescaped.split('\n')) {
    const [, verb, rest = ''] = /^(\w+) ?(.*)$/.exec(line.trim()) ?? [];
    const [, first, more = ''] = /^(\S+) ?(.*)$/.exec(rest) ?? [];
    if (verb === 'say') output({ status: 'success', result: rest.replaceAll('\\n', '\n'), newSessionId: session });
    if (verb === 'raw') console.log(rest);
    if (verb === 'input')
      writeFileSync('input.json', JSON.stringify({ ...input, prompts: readFileSync(memory, 'utf8') }));
    if (verb === 'write') writeFileSync(first, `${more}\n`);
    if (verb === 'message') put('messages', nextName(), rest);
    if (verb === 'task') put('tasks', nextName(), rest);
    if (verb === 'file') put(first.split('/')[0], first.split('/')[1], more);
    if (verb === 'link') symlinkSync('/etc/passwd', `${ipc}/${rest}`);
    if (verb === 'groups') writeFileSync('groups.json', readFileSync(`${ipc}/available_groups.json`));
    if (verb === 'tasks') writeFileSync('tasks.json', readFileSync(`${ipc}/current_tasks.json`));
    if (verb === 'wait') await pause(Number(rest));
    while (verb === 'until' && !existsSync(rest)) await pause(100);
    if (verb === 'exit') process.exit(Number(rest));
    if (verb === 'fail') {
      output({ status: 'error', result: null, newSessionId: session, error: rest });
      process.exit(1);
    }
  }
  output({ status: 'success', result: null, newSessionId: session });
}

await work(input.prompt);
for (;;) {
  if (existsSync(`${ipc}/input/_close`)) {
    rmSync(`${ipc}/input/_close`);
    process.exit(0);
  }
  for (const name of readdirSync(`${ipc}/input`)
    .filter((each) => each.endsWith('.json'))
    .sort()) {
    const { text } = JSON.parse(readFileSync(`${ipc}/input/${name}`, 'utf8'));
    rmSync(`${ipc}/input/${name}`);
    await work(text);
  }
  await pause(50);
}
