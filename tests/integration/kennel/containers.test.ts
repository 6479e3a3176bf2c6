import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { homeLabel } from '../../../src/adapters/kennel/docker/containers.ts';
import {
  type KennelCommand,
  KennelFull,
  KennelUnavailable,
  type StartRun,
} from '../../../src/adapters/kennel/kennel.ts';
import { openKennel } from '../../../src/adapters/kennel/open-kennel.ts';
import type { Finding } from '../../../src/cli/checks/finding.ts';
import { loadConfig } from '../../../src/config.ts';
import { NO_DOCKER, startTestKennel, type TestKennel } from '../../support/docker.ts';
import { IS_ROOT } from '../../support/other-user.ts';
import { until } from '../../support/until.ts';

/** Containers as they are, on the real engine. */

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));

let at: TestKennel;
beforeAll(async () => {
  if (!NO_DOCKER)
    at = await startTestKennel({ FETCH_KENNEL_SLOTS: '2', FETCH_KENNEL_MEMORY_MB: '256', FETCH_KENNEL_PIDS: '64' });
}, 600_000);
afterEach(async () => {
  for (const { taskId } of (await at?.kennel.list()) ?? []) await at.kennel.remove(taskId);
});
afterAll(() => at?.close());

const sh = (script: string, more: Partial<KennelCommand> = {}) =>
  at.kennel.command({
    workspace: null,
    argv: ['sh', '-c', script],
    timeoutMs: 60_000,
    maxOutput: 100_000,
    label: 'test',
    ...more,
  });

/** A step of the practice agent, which waits unless it is told something else. */
const run = (prompt = 'wait 600', step = 1, taskId = `task-${randomUUID()}`): StartRun => ({
  spec: {
    version: 1,
    taskId,
    step,
    harness: 'practice',
    prompt,
    sessionId: null,
    model: null,
    permissions: 'run',
    holdMs: 600_000,
  },
  runFolder: join(at.home, 'kennel', 'runs', taskId),
  workspace: at.workspace(),
  env: { SAID: 'hello' },
});
/** A step that does what a shell script says. */
const script = (text: string): StartRun => {
  const step = run('run sh work.sh');
  writeFileSync(join(step.workspace, 'work.sh'), text);
  return step;
};
const EATER = 'node -e "const all = []; for (;;) all.push(Buffer.alloc(10_000_000, 1))"';
const running = (id: string, step = 1) =>
  until('it runs', async () => (await at.kennel.inspect(id, step))?.state === 'running');
/** Processes of the host with this text in their command line: containers hide nothing from it. */
const processes = (text: string): number => {
  const lines = execFileSync('ps', ['-eo', 'args']).toString().split('\n');
  return lines.filter((line) => line.includes(text)).length;
};

const fetchKennel = async (...args: string[]): Promise<{ code: number; stdout: string }> => {
  const host = args.at(-1)?.startsWith('unix:') ? { DOCKER_HOST: args.pop() } : {};
  const env = { ...process.env, NO_COLOR: '1', FETCH_KENNEL_SLOTS: '2', FETCH_HOME: at.home, ...host };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [ENTRY, 'kennel', ...args], { env });
    return { code: 0, stdout };
  } catch (error) {
    return error as { code: number; stdout: string };
  }
};

describe.skipIf(NO_DOCKER)('a command', () => {
  it('runs in its workspace and tells its output, its errors and its exit code', async () => {
    const workspace = at.workspace();
    mkdirSync(join(workspace, 'src'));
    const heard: string[] = [];
    const result = await sh('cat; echo wrong >&2; pwd; echo "$NAME" > made; exit 7', {
      workspace,
      cwd: 'src',
      env: { NAME: 'Rex' },
      stdin: 'in',
      onOutput: (stream, text) => heard.push(`${stream} ${text}`),
    });
    expect(result).toEqual({
      code: 7,
      stdout: 'in/workspace/src\n',
      stderr: 'wrong\n',
      cut: false,
      timedOut: false,
      outOfMemory: false,
    });
    expect(readFileSync(join(workspace, 'src', 'made'), 'utf8')).toBe('Rex\n');
    expect(heard.join('')).toContain('stderr wrong');
    expect(await at.containers()).toEqual([]);
  });

  it('that does not exist ends like in a shell', async () => {
    expect(
      await at.kennel.command({
        workspace: null,
        argv: ['no-such-program'],
        timeoutMs: 60_000,
        maxOutput: 1000,
        label: 'test',
      }),
    ).toMatchObject({
      code: 127,
      stderr: expect.stringContaining('no-such-program'),
    });
  });

  it('is no root, has no capability and can gain none', async () => {
    const { stdout } = await sh(
      'id -u; grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status; ls /var/run/docker.sock /run/docker.sock 2>&1',
    );
    expect(stdout).toMatch(IS_ROOT ? /^1000$/m : /^[1-9]\d*$/m);
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      expect(stdout).toMatch(new RegExp(`^${set}:\\s*0+$`, 'm'));
    expect(stdout).toMatch(/^NoNewPrivs:\s*1$/m);
    expect(stdout).toMatch(/^Seccomp:\s*2$/m);
    expect(stdout).toContain("cannot access '/var/run/docker.sock'");
    expect(stdout).toContain("cannot access '/run/docker.sock'");
  });

  it('writes only its workspace, its home and /tmp', async () => {
    const workspace = at.workspace();
    const { stdout } = await sh(
      'for place in / /opt/fetch /usr/bin /etc /var/tmp /run /workspace "$HOME" /tmp; do touch $place/probe 2>/dev/null && echo $place; done',
      {
        workspace,
      },
    );
    expect(stdout.trim().split('\n')).toEqual(['/workspace', '/home/kennel', '/tmp']);
    expect((await sh('touch /workspace/probe', { workspace, readOnly: true })).stderr).toContain('Read-only');
    if (IS_ROOT) expect(statSync(join(workspace, 'probe')).uid).toBe(1000);
  });

  it('has no network, and its look-ups fail at once', async () => {
    const { stdout, stderr } = await sh(
      `ls /sys/class/net; node -e "
        const began = Date.now();
        require('node:dns').lookup('example.com', (error) => console.log(error.code, Date.now() - began < 2000));
        for (const host of ['1.1.1.1', '169.254.169.254', '172.17.0.1']) require('node:net').connect(80, host).on('error', (error) => console.log(host, error.code));"`,
    );
    expect(stderr).toBe('');
    const lines = stdout.trim().split('\n');
    expect(lines[0]).toBe('lo');
    expect(lines.slice(1).sort()).toEqual([
      '1.1.1.1 ENETUNREACH',
      '169.254.169.254 ENETUNREACH',
      '172.17.0.1 ENETUNREACH',
      'EAI_AGAIN true',
    ]);
  });

  it('that takes more memory than it may is ended, and that is said', async () => {
    const eaten = await sh('exec node -e "const all = []; for (;;) all.push(Buffer.alloc(10_000_000, 1))"');
    expect(eaten).toMatchObject({ outOfMemory: true, timedOut: false });
    expect(eaten.code).not.toBe(0);
  });

  it('cannot make more processes than it may', async () => {
    const { stdout, code } = await sh('for i in $(seq 300); do sleep 20 & done 2>/dev/null; echo never');
    expect({ stdout, code }).not.toMatchObject({ stdout: 'never\n', code: 0 });
    const counted = await sh(
      `node -e "
        const { spawn } = require('node:child_process');
        let made = 0, refused = 0, open = 200;
        const done = () => { if (--open === 0) { console.log(made, refused); process.exit(); } };
        for (let i = 0; i < 200; i++) spawn('sleep', ['20']).on('spawn', () => { made++; done(); }).on('error', () => { refused++; done(); });"`,
    );
    const [made, refused] = counted.stdout.trim().split(' ').map(Number);
    expect(made).toBeLessThan(64);
    expect(refused).toBeGreaterThan(136);
  });

  it('that takes too long is killed with everything that it began', async () => {
    const mark = `9${Date.now()}`;
    const result = await sh(
      `trap '' TERM INT; setsid sleep ${mark} & sleep ${mark} & echo begun; sleep ${mark}; echo never`,
      { timeoutMs: 1500 },
    );
    expect(result).toEqual({
      code: null,
      stdout: 'begun\n',
      stderr: '',
      cut: false,
      timedOut: true,
      outOfMemory: false,
    });
    expect(processes(mark)).toBe(0);
    expect(await at.containers()).toEqual([]);
  });

  it('that is called off is killed, and says the reason that it was given', async () => {
    const mark = `8${Date.now()}`;
    const off = new AbortController();
    const result = sh(`sleep ${mark} & echo begun; sleep ${mark}`, {
      signal: off.signal,
      onOutput: () => off.abort(new Error('the person said stop')),
    });
    await expect(result).rejects.toThrow('the person said stop');
    expect(processes(mark)).toBe(0);
    expect(await at.containers()).toEqual([]);
    await expect(sh('true', { signal: off.signal })).rejects.toThrow('the person said stop');
  });

  it('may print a gigabyte: beginning and end are kept, memory stays', async () => {
    const before = process.memoryUsage().rss;
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 20);
    const result = await sh('echo first; yes 0123456789abcdef | head -c 1000000000; echo last', {
      maxOutput: 20_000,
      timeoutMs: 280_000,
    });
    clearInterval(watch);
    expect(result).toMatchObject({ code: 0, cut: true });
    expect(result.stdout).toMatch(/^first\n/);
    expect(result.stdout).toMatch(/last\n$/);
    expect(result.stdout).toMatch(/… 9999\d{5} bytes left out …/);
    expect(result.stdout.length).toBeLessThan(20_100);
    expect(most - before).toBeLessThan(150e6);
  }, 300_000);

  it.runIf(IS_ROOT)('is given a workspace that root made, and what links in it lead to stays as it was', async () => {
    const workspace = at.workspace();
    const outside = join(at.home, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret'), 'mine');
    mkdirSync(join(workspace, 'deep', 'er'), { recursive: true });
    writeFileSync(join(workspace, 'deep', 'er', 'file'), 'old');
    symlinkSync(outside, join(workspace, 'folder'));
    symlinkSync(join(outside, 'secret'), join(workspace, 'deep', 'file'));
    expect((await sh('echo new > deep/er/file; cat folder/secret', { workspace })).stderr).toContain('No such file');
    expect(readFileSync(join(workspace, 'deep', 'er', 'file'), 'utf8')).toBe('new\n');
    for (const path of [outside, join(outside, 'secret')]) expect(statSync(path).uid).toBe(0);
  });

  it('is refused a folder outside of its workspace', async () => {
    for (const cwd of ['..', '../..', 'src/../../etc'])
      await expect(sh('pwd', { workspace: at.workspace(), cwd })).rejects.toThrow('outside of the workspace');
  });

  it('whose worker was killed is removed when its time is over', async () => {
    const worker = openKennel(at.config);
    const { docker } = worker.engine;
    const image = await worker.images.provide('tools');
    const left = (until: number) =>
      docker.createContainer({
        Image: image,
        Labels: { 'fetch.home': homeLabel(at.home), 'fetch.until': String(until) },
      });
    const over = await left(Date.now() - 1);
    const live = await left(Date.now() + 60_000);
    expect(await at.kennel.sweep()).toBe(1);
    expect(await at.containers()).toEqual([live.id]);
    await live.remove();
    await expect(over.inspect()).rejects.toThrow('no such container');
  });

  it('has ended, is removed by any instance, where its own was killed and never came back', async () => {
    const { docker } = openKennel(at.config).engine;
    const image = await openKennel(at.config).images.provide('tools');
    const left = async (seconds: string, until: number) => {
      const made = await docker.createContainer({
        Image: image,
        Cmd: ['sleep', seconds],
        Labels: { 'fetch.home': 'another home', 'fetch.until': String(until) },
      });
      await made.start();
      return made;
    };
    // instances of other tests sweep too: nothing is over before it was started
    const soon = Date.now() + 3_000;
    const [over, waited, works] = [
      await left('0', soon),
      await left('0', Date.now() + 600_000),
      await left('600', soon),
    ];
    await waited.wait();
    await until('the ended one is removed', async () => {
      await at.kennel.sweep();
      return await over.inspect().then(
        () => false,
        (error) => error.statusCode === 404,
      );
    });
    expect((await works.inspect()).State.Running).toBe(true);
    for (const each of [waited, works]) await each.remove({ force: true });
  });
});

describe.skipIf(NO_DOCKER)('the container of a step', () => {
  it('is started once, however many ask for it at once and later', async () => {
    const step = run();
    const { taskId } = step.spec;
    await Promise.all(Array.from({ length: 5 }, () => at.kennel.start(step)));
    await running(taskId);
    const first = await at.kennel.inspect(taskId, 1);
    await openKennel(at.config).start(step);
    expect(await at.kennel.inspect(taskId, 1)).toEqual(first);
    expect(await at.kennel.list()).toEqual([first]);
    expect(first).toMatchObject({
      taskId,
      step: 1,
      harness: 'practice',
      state: 'running',
      exitCode: null,
      outOfMemory: false,
    });
  });

  it('has the same walls as a command', async () => {
    const step = run();
    await at.kennel.start(step);
    await running(step.spec.taskId);
    const { output } = await at.inside(step.spec.taskId, 1, [
      'sh',
      '-c',
      'id -u; grep CapBnd /proc/self/status; ls /sys/class/net; touch /probe; ls /var/run/docker.sock; echo $HOME $SAID; cat /proc/1/comm',
    ]);
    expect(output).toMatch(/CapBnd:\s*0+\s/);
    expect(output).not.toMatch(/eth|^0\r?$/m);
    expect(output).toContain("touch: cannot touch '/probe': Read-only file system");
    expect(output).toContain("cannot access '/var/run/docker.sock'");
    expect(output).toContain('/run/fetch/home hello');
    expect(output).toMatch(/docker-init|tini/);
  });

  it('can write its run folder, and cannot lead the host elsewhere from it', async () => {
    const step = run();
    const { taskId } = step.spec;
    await at.kennel.start(step);
    await running(taskId);
    const { output } = await at.inside(taskId, 1, [
      'sh',
      '-c',
      `cd /run/fetch; for name in gate spec.json commands.ndjson log.ndjson; do
         mv $name moved 2>&1; rm -rf $name 2>&1; ln -sf /etc/passwd $name 2>&1
       done; echo forged >> commands.ndjson; echo forged > spec.json; touch gate/model.sock; touch home/mine own && echo wrote`,
    ]);
    expect(output).toContain('wrote');
    expect(output).toMatch(/busy/);
    for (const name of ['spec.json', 'commands.ndjson', 'log.ndjson'])
      expect(statSync(join(step.runFolder, name)).isFile()).toBe(true);
    expect(JSON.parse(readFileSync(join(step.runFolder, 'spec.json'), 'utf8'))).toEqual(step.spec);
    expect(readFileSync(join(step.runFolder, 'commands.ndjson'), 'utf8')).toBe('');
    expect(statSync(join(step.runFolder, 'gate')).isDirectory()).toBe(true);
    await until('the runner still writes its log', () =>
      readFileSync(join(step.runFolder, 'log.ndjson'), 'utf8').includes('"started"'),
    );
  });

  it('reads what the host appends to the commands while it runs', async () => {
    const step = run();
    await at.kennel.start(step);
    await running(step.spec.taskId);
    writeFileSync(join(step.runFolder, 'commands.ndjson'), '{"later":true}\n', { flag: 'a' });
    expect((await at.inside(step.spec.taskId, 1, ['cat', '/run/fetch/commands.ndjson'])).output).toContain(
      '{"later":true}',
    );
  });

  it('is gone with all of its processes when it is removed, frozen or not', async () => {
    for (const frozen of [false, true]) {
      const mark = `7${Date.now()}`;
      const step = script(`trap '' TERM; setsid sleep ${mark} & sleep ${mark}`);
      const { taskId } = step.spec;
      await at.kennel.start(step);
      await until('its processes are there', () => processes(mark) >= 2);
      if (frozen) expect(await at.kennel.setPaused(taskId, 1, true)).toBe(true);
      expect(await at.kennel.remove(taskId)).toBe(true);
      expect(processes(mark)).toBe(0);
      expect(await at.kennel.inspect(taskId, 1)).toBeNull();
      expect(await at.kennel.remove(taskId)).toBe(false);
    }
  });

  it('stands still while it is paused, and goes on after', async () => {
    const step = script('while :; do echo x >> ticks; sleep 0.02; done');
    const { taskId } = step.spec;
    const ticks = () => statSync(join(step.workspace, 'ticks'), { throwIfNoEntry: false })?.size ?? 0;
    expect(await at.kennel.setPaused(taskId, 1, true)).toBe(false);
    await at.kennel.start(step);
    await until('it works', () => ticks() > 10);
    expect(await at.kennel.setPaused(taskId, 1, true)).toBe(true);
    expect(await at.kennel.setPaused(taskId, 1, true)).toBe(true);
    expect(await at.kennel.inspect(taskId, 1)).toMatchObject({ state: 'paused' });
    const still = ticks();
    await sh('sleep 0.5');
    expect(ticks()).toBe(still);
    expect(await at.kennel.setPaused(taskId, 1, false)).toBe(true);
    await until('it goes on', () => ticks() > still);
  });

  it('finds a place or is refused, and a place is free when its container is gone', async () => {
    const steps = [run(), run(), run()];
    const started = await Promise.allSettled(steps.map((step) => at.kennel.start(step)));
    expect(started.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    const refused = started.findIndex(({ status }) => status === 'rejected');
    expect((started[refused] as PromiseRejectedResult).reason).toBeInstanceOf(KennelFull);
    await at.kennel.remove(steps[(refused + 1) % 3]!.spec.taskId);
    await at.kennel.start(steps[refused]!);
    expect((await at.kennel.list()).filter(({ state }) => state === 'running')).toHaveLength(2);
  });

  it('of one step can be removed alone', async () => {
    const first = run();
    const second = run('wait 600', 2, first.spec.taskId);
    await at.kennel.start(first);
    await at.kennel.start(second);
    expect(await at.kennel.remove(first.spec.taskId, 1)).toBe(true);
    expect((await at.kennel.list()).map(({ step }) => step)).toEqual([2]);
    expect(await at.kennel.remove(first.spec.taskId)).toBe(true);
  });

  it('that ran out of memory says so when it has ended, and stays until it was looked at', async () => {
    // with half of the memory in files, the kernel takes the process that asks for it: the runner
    const volunteer =
      'for each in /proc/[0-9]*; do if tr "\\0" " " < $each/cmdline | grep -q "^node.*runner/main.ts"; then echo 1000 > $each/oom_score_adj; fi; done';
    const step = script(`${volunteer}; head -c 120M /dev/zero > /tmp/half; exec ${EATER}`);
    await at.kennel.start(step);
    const ended = await until('it ended', async () => {
      const found = await at.kennel.inspect(step.spec.taskId, 1);
      return found?.state === 'exited' ? found : null;
    });
    expect(ended.outOfMemory).toBe(true);
  });

  it('whose command alone ran out of memory has not, and its log tells of the command', async () => {
    const step = script(EATER);
    await at.kennel.start(step);
    const ended = await until('it ended', async () => {
      const found = await at.kennel.inspect(step.spec.taskId, 1);
      return found?.state === 'exited' ? found : null;
    });
    expect(ended).toMatchObject({ outOfMemory: false, exitCode: 0 });
    expect(readFileSync(join(step.runFolder, 'log.ndjson'), 'utf8')).toContain(
      'The container ran out of memory, and a process in it was ended.',
    );
  });

  it('tells what it said last when it could not do its work', async () => {
    const step = run();
    await at.kennel.start({ ...step, env: { NODE_OPTIONS: '--no-such-option' } });
    const ended = await until('it ended', async () => {
      const found = await at.kennel.inspect(step.spec.taskId, 1);
      return found?.state === 'exited' ? found : null;
    });
    expect(ended.exitCode).not.toBe(0);
    expect(ended.lastOutput).toContain('--no-such-option');
  });

  it('is not started when its workspace is missing, and leaves nothing behind', async () => {
    const step = run();
    await expect(at.kennel.start({ ...step, workspace: join(at.home, 'no-such-folder') })).rejects.toThrow(
      /no-such-folder/,
    );
    expect(await at.containers()).toEqual([]);
  });
});

describe.skipIf(NO_DOCKER)('fetch kennel', () => {
  it('says that coding tasks can run here, by a look from inside of a container', async () => {
    const { code, stdout } = await fetchKennel('doctor', '--json');
    const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    expect(findings.find(({ name }) => name === 'container')).toMatchObject({
      state: 'ok',
      detail: expect.stringContaining('no capabilities, no network'),
    });
  });

  it('lists the containers of tasks and the places that they take', async () => {
    const step = run();
    await at.kennel.start(step);
    const { stdout } = await fetchKennel('ps', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      slots: 2,
      containers: [{ taskId: step.spec.taskId, step: 1, harness: 'practice', state: 'running' }],
    });
    expect((await fetchKennel('ps')).stdout).toMatch(/practice.*running.*\n1 of 2 slots taken/);
  });

  it('finds an image that is there already', async () => {
    const { code, stdout } = await fetchKennel('build');
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^✓ fetch-kennel:[0-9a-f]{12} {2}\d+ MB/),
    });
  });

  it('without an engine says what to do', async () => {
    const { code, stdout } = await fetchKennel('doctor', '--json', 'unix:///nonexistent/docker.sock');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      findings: [{ name: 'engine', state: 'missing', mend: expect.stringContaining('nstall') }],
    });
  });
});

describe('an engine that is not there', () => {
  it('is told with what to do, by every call', async () => {
    const kennel = openKennel(
      loadConfig({ FETCH_HOME: '/nonexistent', DOCKER_HOST: 'unix:///nonexistent/docker.sock' }),
    );
    await expect(kennel.ready()).rejects.toThrow(KennelUnavailable);
    await expect(kennel.ready()).rejects.toThrow(/No Docker engine answers.*nstall/);
    await expect(kennel.list()).rejects.toThrow(KennelUnavailable);
    await expect(kennel.provide('claude', () => {})).rejects.toThrow(KennelUnavailable);
  });

  it('and one on another machine is refused', async () => {
    const kennel = openKennel(loadConfig({ FETCH_HOME: '/nonexistent', DOCKER_HOST: 'ssh://somewhere' }));
    await expect(kennel.ready()).rejects.toThrow('the engine has to run on this machine');
  });
});
