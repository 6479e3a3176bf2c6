import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childEnvironment } from '../../src/config.ts';
import { FETCH_SETTING, freePorts } from '../support/app.ts';
import { shapeOf } from './skeleton.ts';

/** What the command line of the reference answered. */
interface Recorded {
  argv: string[];
  rc: number;
  stdout: string;
  stderr: string;
}

const ENTRY = fileURLToPath(new URL('../../bin/fetch.js', import.meta.url));
const recorded = readFileSync(new URL('golden/cli.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line) as Recorded);

const folder = mkdtempSync(join(tmpdir(), 'fetch-cli-'));
const home = join(folder, 'home');
const workspace = join(folder, 'workspace');
let flags: string[];
beforeAll(async () => {
  mkdirSync(join(workspace, '.agents/skills/demo'), { recursive: true });
  writeFileSync(
    join(workspace, '.agents/skills/demo/SKILL.md'),
    '---\nname: demo\ndescription: A demo skill\n---\nDo it.\n',
  );
  mkdirSync(home, { mode: 0o700 });
  const ports = await freePorts(5);
  flags = ['runtime', 'status', 'temporal', 'temporal-ui', 'postgres'].flatMap((name, index) => [
    `--${name}-port`,
    String(ports[index]),
  ]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const fetchCommand = (args: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    const clean = Object.fromEntries(
      Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name)),
    );
    execFile(
      process.execPath,
      [ENTRY, ...args, '--home', home],
      { env: clean, cwd: workspace, timeout: 60_000 },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
  });

/** Fields that have nothing here that they could name. docs/differences.md says the same. */
const WITHOUT =
  /^(memory\.path|mcp\.project_config_path|plugins\.path|storage\.(spillover|stash)\.path|search_provider\.provider|base_url|capability\.(max_output|thinking_supported)):/;

describe('doctor --json', () => {
  const doctor = recorded.filter(({ argv }) => argv[0] === 'doctor');
  const [withKey, withoutKey] = doctor as [Recorded, Recorded];

  it('has each field of the recording, with its type, and says what is there', async () => {
    const { code, stdout } = await fetchCommand(['doctor', '--json', ...flags]);
    const ours = JSON.parse(stdout);
    const theirs = JSON.parse(withoutKey.stdout);
    for (const field of shapeOf(theirs)) {
      const path = field.slice(0, field.indexOf(':') + 1);
      if (WITHOUT.test(path))
        expect(
          [...shapeOf(ours)].some((each) => each === field || each === `${path}null`),
          field,
        ).toBe(true);
      else expect([...shapeOf(ours)]).toContain(field);
    }
    expect(ours).toMatchObject({
      config_path: join(home, '.env'),
      config_present: false,
      workspace,
      api_key: theirs.api_key,
      strict_tool_mode: theirs.strict_tool_mode,
      mcp: { config_path: join(home, 'mcp.json'), present: false, servers: [] },
      skills: {
        agents: { path: join(workspace, '.agents/skills'), present: true, count: 0 },
        global: { path: join(home, 'skills'), present: false, count: 0 },
      },
      plugins: { present: false, count: 0 },
      platform: {
        os: { linux: 'linux', darwin: 'macos' }[process.platform as 'linux'],
        arch: { x64: 'x86_64', arm64: 'aarch64' }[process.arch as 'x64'],
      },
    });
    expect([ours.ok, code]).toEqual([
      !ours.findings.some(({ state }: { state: string }) => state === 'missing'),
      ours.ok ? 0 : 1,
    ]);
  });

  it('tells where the key comes from and never the key, and ends with 1 when the model cannot be used', async () => {
    writeFileSync(
      join(home, '.env'),
      'OPENAI_BASE_URL=http://ada:hunter2@127.0.0.1:9/v1?key=hunter3\nOPENAI_API_KEY=sk-hunter4\nAGENT_MODEL=deepseek-v4-pro\n',
    );
    const mcpServers = {
      off: { command: 'x', disabled: true },
      tickets: { url: 'https://127.0.0.1:9/mcp?key=hunter5', headers: { Authorization: 'hunter6' } },
      wrong: { command: 'x', url: 'http://y' },
    };
    writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers }));
    const { code, stdout } = await fetchCommand(['doctor', '--json', ...flags]);
    expect(stdout).not.toContain('hunter');
    const theirs = JSON.parse(withKey.stdout);
    const ours = JSON.parse(stdout);
    expect(ours).toMatchObject({
      config_present: true,
      api_key: theirs.api_key,
      base_url: 'http://127.0.0.1:9/v1',
      default_text_model: 'deepseek-v4-pro',
      capability: {
        resolved_model: 'deepseek-v4-pro',
        request_payload_mode: 'ChatCompletions',
        alias_deprecation: null,
      },
      api_connectivity: { checked: true },
      ok: false,
    });
    expect(ours.mcp).toMatchObject({
      present: true,
      servers: [
        { name: 'off', enabled: false, status: 'ok', detail: 'switched off in mcp.json' },
        { name: 'tickets', enabled: true, status: 'warning', detail: expect.stringContaining('database') },
        { name: 'wrong', enabled: true, status: 'error', detail: expect.stringContaining('either "command"') },
      ],
    });
    expect(code).toBe(1);
  });
});

describe('serve', () => {
  const refusals = recorded.filter(({ argv }) => argv[0] === 'serve');

  it.each(refusals.filter(({ argv }) => !argv.includes('--qr')))(
    '$argv is refused as in the recording',
    async ({ argv, rc, stderr }) => {
      expect(await fetchCommand(argv)).toEqual({ code: rc, stdout: '', stderr });
    },
  );

  it.each(refusals.filter(({ argv }) => argv.includes('--qr')))(
    '$argv is refused as in the recording, in our words',
    async ({ argv, rc }) => {
      const { code, stdout, stderr } = await fetchCommand(argv);
      expect([code, stdout]).toEqual([rc, '']);
      expect(stderr).toContain('--mobile');
    },
  );

  it('names the modes when none is chosen, and refuses two', async () => {
    for (const args of [[], ['--acp', '--mcp'], ['--mobile', '--mcp']])
      expect(await fetchCommand(['serve', ...args])).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^Error: Choose exactly one server mode/),
      });
    expect(await fetchCommand(['serve', '--http', '--mobile'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('--http'),
    });
  });

  it('asks for a token wherever a network reaches it', async () => {
    for (const args of [
      ['--mobile', '--insecure'],
      ['--http', '--host', '192.0.2.1', '--insecure'],
    ])
      expect(await fetchCommand(['serve', ...args])).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('loopback'),
      });
  });
});
