import { stat, writeFile } from 'node:fs/promises';
import { forwardSocket, HOLD } from '../runner/watch/socket-forwarder.ts';

/**
 * The first process in the container of a browser. It joins the port of the proxy to the socket of the gate, which is
 * the only way out, and ends the container when no call has come for a while. It needs no process of the host for that.
 */

/** Each call touches this file first. */
const USED = '/tmp/used';
const LOOK_MS = 1_000;
const [port, idleMs] = process.argv.slice(2).map(Number) as [number, number];

await writeFile(USED, '');
await forwardSocket(port, '/run/fetch/gate/egress.sock', HOLD);
setInterval(async () => {
  const { mtimeMs } = await stat(USED);
  if (Date.now() - mtimeMs > idleMs) process.exit(0);
}, LOOK_MS);
