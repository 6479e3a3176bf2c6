import { workspacesFolder } from '../../../activities/task/task-workspace.ts';
import type { Call } from '../../setup/background/background.ts';
import { FoundServer } from '../../setup/background/server.ts';
import { agentApp } from './agent.ts';
import { ThreadApi } from './thread-api.ts';
import { stdio } from './wire.ts';

/**
 * `fetch acp`: an agent for editors that speak the Agent Client Protocol, on standard input and output. The running
 * instance does the work, so a session outlives this process. Returns when the editor has left.
 */
export async function runAcp(call: Call): Promise<void> {
  const left = new AbortController();
  const app = agentApp({
    api: new ThreadApi(new FoundServer(call, left.signal)),
    workspaces: workspacesFolder(call.config),
    say: (text) => void process.stderr.write(`${text}\n`),
    leave: () => connection.close(),
  });
  const connection = app.connect(stdio(process.stdin, process.stdout));
  await connection.closed;
  left.abort(new Error('The editor has left.'));
  // followers of threads and the channel to a parent would keep this process alive
  process.exit();
}
