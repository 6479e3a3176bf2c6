#!/usr/bin/env node
// Starts on any Node from 20 on, and goes on in Node 24, which the `node` package brings along: a person needs nothing
// but npm. An installed package has no sources: it runs the bundle that `npm pack` made of them. A clone runs the one
// that `npm ci` made as long as its sources are what they were then, and else its TypeScript as it is.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freshBundle } from './bundle.js';
import { nameSources } from './source-lines.js';

const REQUIRED = 24;
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const isClone = existsSync(join(root, 'src', 'cli', 'main.ts'));
const reinstall = isClone ? `Run: cd ${root} && npm ci` : 'Install the package again.';
const rebuild = `Run: cd ${root} && npm rebuild node --foreground-scripts`;

const fail = (message) => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
};

/** The runtime that npm installed; undefined when its install script did not run. */
function bundledNode() {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve('node/package.json'));
    return [join(folder, 'bin', 'node'), join(folder, 'bin', 'node.exe')].find((file) => existsSync(file));
  } catch {
    return undefined;
  }
}

if (isClone && !existsSync(join(root, 'node_modules'))) {
  fail(`The dependencies are not installed. ${reinstall}`);
} else if (Number(process.versions.node.split('.')[0]) >= REQUIRED) {
  try {
    const bundle = isClone ? freshBundle(root) : new URL('../dist/bundle/main.js', import.meta.url).href;
    // types are stripped and code is compiled once for all starts, of every process: a third of a second of CPU and 20
    // MB for each. Each bundle of a clone has names of its own, so what was compiled lies in it and is removed with it
    const beside = isClone && bundle ? [fileURLToPath(new URL('compiled', bundle))] : [];
    // biome-ignore lint/style/noProcessEnv: config.ts, which reads the environment, is among what is cached
    const ofUser = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'fetch', 'node');
    // the clone of another user can be read and not written
    const { FAILED } = nodeModule.constants.compileCacheStatus;
    [...beside, ofUser].find((folder) => nodeModule.enableCompileCache(folder).status !== FAILED);
    // a role that is killed writes nothing at its end
    setTimeout(nodeModule.flushCompileCache, 20_000).unref();
    if (bundle) nameSources(new URL('.', bundle).href);
    await import(bundle ?? '../src/cli/main.ts');
  } catch (error) {
    if (error?.code !== 'ERR_MODULE_NOT_FOUND' || !/Cannot find package/.test(error.message)) throw error;
    fail(`A dependency is missing: ${error.message.split('\n')[0]}\n${reinstall}`);
  }
} else {
  const node = bundledNode();
  if (!node) {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    fail(
      `This is Node ${process.versions.node}; Fetch runs on Node ${REQUIRED}, which the npm package "node" ${dependencies.node} brings along.\n` +
        `Its binary is missing, probably because npm was told not to run install scripts. ${rebuild}\n` +
        `Or install Node ${REQUIRED} from https://nodejs.org and start again.`,
    );
  }
  // the channel tells the child when this process is killed, so that it never runs on unseen
  const child = spawn(node, [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  child.on('message', (message) => process.send?.(message));
  process.on('disconnect', () => child.connected && child.disconnect());
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // a terminal sends Ctrl-C to the whole group: passing it on would count it twice
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  child.on('error', (error) => fail(`${node} does not start: ${error.message}\n${rebuild}`));
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
