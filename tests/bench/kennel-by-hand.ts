import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostConfig } from 'dockerode';
import { containerUser } from '../../src/adapters/kennel/docker/engine.ts';
import { hostConfig, mount } from '../../src/adapters/kennel/docker/hardening.ts';
import { openKennel } from '../../src/adapters/kennel/open-kennel.ts';
import { childEnvironment, loadConfig } from '../../src/config.ts';
import { INSIDE, type LogLine, type RunSpec } from '../../src/contracts/kennel.ts';
import { isAgentLine } from './kennel-points.ts';

/** Milliseconds from the command to: the agent's first line, the last line of the log, the command's end. */
export interface ByHandTimes {
  first: number;
  ended: number;
  exited: number;
}

export interface ByHand {
  run(goal: string): Promise<ByHandTimes>;
}

/**
 * The agent as a person runs it without Fetch: `docker run` of the same image with the same walls, and the
 * specification in a folder. Nothing remembers what was there before, nothing commits, and nobody follows the log.
 */
export async function openByHand(folder: string, workspace: string): Promise<ByHand> {
  const config = loadConfig();
  const { engine, images } = openKennel(config);
  const image = await images.provide('tools');
  const { cpus } = await engine.facts();
  const user = containerUser();
  const limits = {
    memoryMb: config.FETCH_KENNEL_MEMORY_MB,
    cpus: config.FETCH_KENNEL_CPUS,
    pids: config.FETCH_KENNEL_PIDS,
    hostCpus: cpus,
  };
  const give = (path: string) =>
    void (process.getuid?.() === 0 && execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, path]));
  give(workspace);
  let count = 0;
  return {
    run: async (goal) => {
      count += 1;
      const begun = Date.now();
      const run = join(folder, `hand-${count}`);
      const spec: RunSpec = {
        version: 1,
        taskId: `hand${count}`,
        step: 1,
        harness: 'practice',
        prompt: goal,
        sessionId: null,
        model: null,
        permissions: 'run',
        holdMs: 60_000,
      };
      mkdirSync(join(run, 'gate'), { recursive: true });
      mkdirSync(join(run, 'home'));
      for (const name of ['commands.ndjson', 'log.ndjson']) writeFileSync(join(run, name), '');
      writeFileSync(join(run, 'spec.json'), JSON.stringify(spec));
      give(run);
      const host = hostConfig({
        limits,
        user,
        output: 'short',
        mounts: [
          mount(workspace, INSIDE.workspace),
          mount(run, INSIDE.run),
          mount(join(run, 'gate'), `${INSIDE.run}/gate`, true),
          mount(join(run, 'spec.json'), INSIDE.spec, true),
          mount(join(run, 'commands.ndjson'), INSIDE.commands, true),
          mount(join(run, 'log.ndjson'), INSIDE.log),
        ],
      });
      const who = [
        '--user',
        `${user.uid}:${user.gid}`,
        '--workdir',
        INSIDE.workspace,
        '--env',
        `HOME=${INSIDE.home}`,
        '--hostname',
        'kennel',
      ];
      await docker(['run', '--rm', ...who, ...flagsOf(host), image]);
      const exited = Date.now() - begun;
      const lines = readFileSync(join(run, 'log.ndjson'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as LogLine);
      const at = (line: LogLine | undefined): number => (line ? Date.parse(line.at) - begun : Number.NaN);
      return { first: at(lines.find(isAgentLine)), ended: at(lines.find((line) => line.type === 'ended')), exited };
    },
  };
}

function docker(args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('docker', args, { env: childEnvironment({}), stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (text: Buffer) => {
      said += text;
    });
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`docker ended with ${code}: ${said}`))));
  });
}

/** The walls of a container as flags of `docker run`. */
function flagsOf(host: HostConfig): string[] {
  const [noNewPrivileges, seccomp] = host.SecurityOpt!;
  // the command line takes the file of a profile, the engine its text
  const profile = join(tmpdir(), `fetch-bench-seccomp-${process.pid}.json`);
  writeFileSync(profile, seccomp!.slice('seccomp='.length));
  return [
    ['--network', host.NetworkMode!],
    ...host.CapDrop!.map((name: string) => ['--cap-drop', name]),
    ['--security-opt', noNewPrivileges!],
    ['--security-opt', `seccomp=${profile}`],
    ['--read-only'],
    ['--ipc', host.IpcMode!],
    ['--init'],
    ['--memory', String(host.Memory)],
    ['--memory-swap', String(host.MemorySwap)],
    ['--cpus', String(host.NanoCpus! / 1e9)],
    ['--pids-limit', String(host.PidsLimit)],
    ['--oom-score-adj', String(host.OomScoreAdj)],
    ...host.Ulimits!.map((one) => ['--ulimit', `${one.Name}=${one.Soft}:${one.Hard}`]),
    ...Object.entries(host.Tmpfs!).map(([path, options]) => ['--tmpfs', `${path}:${options}`]),
    ...host.Mounts!.map((one) => [
      '--mount',
      `type=bind,source=${one.Source},target=${one.Target},bind-propagation=${one.BindOptions!.Propagation}${one.ReadOnly ? ',readonly' : ''}`,
    ]),
    ['--log-driver', host.LogConfig!.Type],
    ...Object.entries(host.LogConfig!.Config).map(([name, value]) => ['--log-opt', `${name}=${value}`]),
  ].flat();
}
