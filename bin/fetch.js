#!/usr/bin/env node
// Starts on any Node from 20 on, and goes on in Node 24: the sources are TypeScript that only Node 24 runs without a build.
// The `node` package brings that runtime along, so a person needs nothing but npm.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REQUIRED = 24;
const root = join(dirname(fileURLToPath(import.meta.url)), '..');

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

if (!existsSync(join(root, 'node_modules')) && !root.includes('node_modules')) {
  fail(`The dependencies are not installed. Run: cd ${root} && npm ci`);
} else if (Number(process.versions.node.split('.')[0]) >= REQUIRED) {
  try {
    await import('../src/cli/main.ts');
  } catch (error) {
    if (error?.code !== 'ERR_MODULE_NOT_FOUND' || !/Cannot find package/.test(error.message)) throw error;
    fail(`A dependency is missing: ${error.message.split('\n')[0]}\nRun: cd ${root} && npm ci`);
  }
} else {
  const node = bundledNode();
  if (!node) {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    fail(
      `This is Node ${process.versions.node}; Fetch runs on Node ${REQUIRED}, which the npm package "node" ${dependencies.node} brings along.\n` +
        `Its binary is missing, probably because npm was told not to run install scripts. Run: cd ${root} && npm rebuild node --foreground-scripts\n` +
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
  child.on('error', (error) => fail(`${node} does not start: ${error.message}\nRun: cd ${root} && npm rebuild node --foreground-scripts`));
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
