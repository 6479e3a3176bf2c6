import { basename } from 'node:path';
import { styleText } from 'node:util';
import { hasModel, isAgent } from '../../../kennel/agents/registry.ts';
import type { SetupScripts } from '../../adapters/kennel/environment/setup-scripts.ts';
import { IMAGE_KINDS, type ImageKind } from '../../adapters/kennel/images/image-files.ts';
import { openKennel } from '../../adapters/kennel/open-kennel.ts';
import type { Config } from '../../config.ts';
import { blockQuote } from '../../domain/text/foreign-text.ts';
import { printFindings } from './finding.ts';
import { kennelFindings } from './kennel.ts';

/** `fetch kennel …`: the containers of this host, without a running instance. */

/** Builds the image for commands and the practice agent, and the images of these agents. */
export async function build(config: Config, agents: string[], options: { fresh?: boolean }): Promise<void> {
  const kennel = openKennel(config);
  await kennel.ready();
  const named = agents.filter(
    (agent): agent is ImageKind => agent === 'browser' || (isAgent(agent) && hasModel(agent)),
  );
  const kinds = agents.includes('all') ? IMAGE_KINDS : (['tools', ...new Set(named)] as ImageKind[]);
  const interrupted = new AbortController();
  process.once('SIGINT', () =>
    interrupted.abort(new Error('Interrupted. What was finished is kept; the same command goes on from there.')),
  );
  for (const kind of kinds) {
    const began = Date.now();
    let last = '';
    const name = await kennel.images.provide(
      kind,
      (text) => {
        if (text !== last) process.stdout.write(`${styleText('dim', '…')} ${text}\n`);
        last = text;
      },
      { fresh: options.fresh, signal: interrupted.signal },
    );
    const { bytes } = (await kennel.images.state(kind)) ?? { bytes: 0 };
    process.stdout.write(
      `${styleText('green', '✓')} ${name}  ${Math.round(bytes / 1e6)} MB  ${((Date.now() - began) / 1000).toFixed(1)} s\n`,
    );
  }
}

/** The exit code is 1 when coding tasks cannot run. */
export async function doctor(config: Config, options: { json?: boolean }): Promise<void> {
  const findings = await kennelFindings(config);
  process.exitCode = printFindings(findings, options);
}

/** The images of repositories on this engine, and the setup scripts that people agreed to in this home. */
export async function environments(
  config: Config,
  options: { json?: boolean; prune?: boolean; revoke?: string },
): Promise<void> {
  const { engine, environmentImages, setupScripts } = openKennel(config);
  if (options.revoke !== undefined) return await revoke(setupScripts, options.revoke);
  await engine.facts();
  const removed = options.prune ? await environmentImages.prune(true) : [];
  const images = await environmentImages.list();
  const scripts = await setupScripts.list();
  if (options.json) return void process.stdout.write(`${JSON.stringify({ removed, images, scripts })}\n`);
  for (const name of removed) process.stdout.write(`${styleText('green', '✓')} removed ${name}\n`);
  for (const { name, title, bytes, usedAt } of images) {
    const used = usedAt ? `used ${usedAt.toISOString().slice(0, 16).replace('T', ' ')}` : 'not used by this home';
    process.stdout.write(`${name}  ${Math.round(bytes / 1e6)} MB  ${used}  ${title}\n`);
  }
  if (images.length === 0) process.stdout.write('No image of a repository on this engine.\n');
  for (const { workspace, script, agreedAt } of scripts)
    process.stdout.write(
      `\nsetup script of ${basename(workspace)}, agreed to ${agreedAt.slice(0, 16).replace('T', ' ')}:\n${blockQuote(script)}\n`,
    );
}

async function revoke(scripts: SetupScripts, name: string): Promise<void> {
  const found = (await scripts.list()).filter(({ workspace }) => basename(workspace) === name);
  if (found.length === 0)
    throw new Error(`No setup script of a workspace ${name} is kept. "fetch kennel environments" lists them.`);
  for (const { workspace } of found) await scripts.revoke(workspace);
  process.stdout.write(
    `${styleText('green', '✓')} the setup script of ${name} is taken back; its next task has an image without it\n`,
  );
}

/** The containers of tasks of this home. */
export async function ps(config: Config, options: { json?: boolean }): Promise<void> {
  const kennel = openKennel(config);
  await kennel.ready();
  const containers = await kennel.list();
  if (options.json)
    return void process.stdout.write(`${JSON.stringify({ slots: config.FETCH_KENNEL_SLOTS, containers })}\n`);
  if (containers.length === 0) return void process.stdout.write(`No container of a task for ${config.FETCH_HOME}.\n`);
  const rows = containers.map(({ taskId, step, harness, state, exitCode, outOfMemory, startedAt, id }) => [
    taskId,
    `step ${step}`,
    harness,
    state === 'exited' ? `exited ${outOfMemory ? 'out of memory' : exitCode}` : state,
    startedAt ? `since ${startedAt.replace(/\.\d+/, '')}` : '',
    id.slice(0, 12),
  ]);
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows) {
    process.stdout.write(
      `${row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd()}\n`,
    );
  }
  const working = containers.filter(({ state }) => state !== 'exited').length;
  process.stdout.write(`${working} of ${config.FETCH_KENNEL_SLOTS} slots taken\n`);
}
