import { confirm } from '@clack/prompts';
import { keepSettings } from '../../../adapters/env-file.ts';
import { endpointOf } from '../../../adapters/model/endpoint/endpoint.ts';
import type { Config } from '../../../config.ts';
import { typedCommand } from '../../../installation.ts';
import { ensureToken } from '../../instance/home/home.ts';
import { liveRunState } from '../../instance/home/state-file.ts';
import { terminalReporter } from '../../instance/progress.ts';
import { isCancel } from '../questions.ts';
import { type Call, ensureUp, type Up } from './background.ts';

/** `fetch start` on a terminal: brings the instance up in the background where none runs, and opens a chat with it. */
export async function run(call: Call): Promise<void> {
  const ending = onEnd(call.config.FETCH_ON_LEAVE);
  const report = terminalReporter();
  const up = await ensureUp(call, report, ending.starting);
  ending.serves();
  const page = `Your page: ${up.state.urls.runtime} (${typedCommand('open')} lets a browser in)`;
  report.done(
    up.began ? `Ready. ${page}` : `A chat with what runs already (process ${up.state.supervisor.pid}). ${page}`,
  );
  report.done(`${modelText(up.config)}. Type ? for help, /quit to leave`);
  // the end of the input may come before the signal that explains it
  const why = await Promise.race([
    openChat(up).then(() => (process.stdin.readableEnded || process.stdin.destroyed ? 'closed' : 'left')),
    ending.ended,
  ]);
  await leave(up, why, ending);
}

/** Which model answers. */
function modelText(config: Config): string {
  const endpoint = endpointOf(config);
  return endpoint
    ? `${config.AGENT_MODEL || 'The model of your endpoint'} answers`
    : `No model is set up yet, so the practice model answers (${typedCommand('setup')} takes one)`;
}

async function openChat({ config, state }: Up): Promise<void> {
  const [{ chat }, { whatsappOf }] = await Promise.all([import('../../chat/chat.ts'), import('../open-chat.ts')]);
  const token = ensureToken(config.FETCH_HOME, 'runtime-token', config.runtimeToken);
  await chat({ baseUrl: state.urls.runtime, token, home: config.FETCH_HOME, offer: whatsappOf(config) });
}

/** Decides what happens to the instance when a person leaves: only one that this terminal started may be stopped. */
async function leave(up: Up, why: End, ending: Ending): Promise<void> {
  const { config, state } = up;
  const now = await liveRunState(config.FETCH_HOME);
  if (!now)
    return say(
      `Fetch does not run any more (${config.FETCH_HOME}): somebody stopped it, or its log says why: ${typedCommand('logs')}`,
    );
  // another process may have started a new one since
  const isOurs = up.began && !up.isService && now.supervisor.pid === state.supervisor.pid;
  if (!isOurs || !(await isToStop(config, why, ending)))
    return say(
      `Fetch runs on in the background (process ${now.supervisor.pid}). Chat: ${typedCommand('chat')}  End: ${typedCommand('stop')}`,
    );
  say('Stopping; everything goes on at the next start. Ctrl-C waits for nothing that is under way.');
  await (await import('./stop.ts')).run(config, { hurried: ending.again() });
}

async function isToStop(config: Config, why: End, ending: Ending): Promise<boolean> {
  if (why === 'terminated') return true;
  if (why === 'closed') return config.FETCH_ON_LEAVE === 'stop';
  // the window may be closed while it asks
  const answer = await Promise.race([choice(config), ending.ended]);
  return answer === 'stop' || answer === 'terminated';
}

/**
 * The setting, or the answer to a question that is asked once. Without an answer it keeps running, and the question is
 * asked again.
 */
async function choice(config: Config): Promise<'keep' | 'stop'> {
  if (config.FETCH_ON_LEAVE !== 'ask') return config.FETCH_ON_LEAVE;
  const answer = await confirm({ message: 'Keep Fetch running in the background, so that schedules and tasks go on?' });
  if (isCancel(answer)) return 'keep';
  const chosen = answer ? 'keep' : 'stop';
  try {
    keepSettings(config.FETCH_HOME, { FETCH_ON_LEAVE: chosen });
    say(`Remembered as FETCH_ON_LEAVE=${chosen} in ${config.FETCH_HOME}/.env.`);
  } catch (error) {
    say((error as Error).message);
  }
  return chosen;
}

/** `left`: the person left the chat. `closed`: the window is gone. `terminated`: a signal ends everything. */
type End = 'left' | 'closed' | 'terminated';
interface Ending {
  /** aborts at a signal during the start */
  starting: AbortSignal;
  /** it has come up */
  serves(): void;
  ended: Promise<End>;
  /** aborts at the next signal */
  again(): AbortSignal;
}

function onEnd(onLeave: Config['FETCH_ON_LEAVE']): Ending {
  const starting = new AbortController();
  let serves = false;
  const ended = new Promise<End>((resolve) => {
    const end = (why: End) => {
      // if the window is closed early, what it started goes on
      if (!serves && why === 'closed' && onLeave !== 'stop') process.exit();
      starting.abort(new Error('Stopped while starting.'));
      resolve(why);
    };
    process.on('SIGTERM', () => end('terminated'));
    // a terminal without raw mode turns Ctrl-C into a signal; in a chat that interrupts a turn, and the chat handles it
    process.on('SIGINT', () => serves || end('terminated'));
    process.on('SIGHUP', () => end('closed'));
    // bin/fetch.js, which runs this process on an older Node, was killed
    process.on('disconnect', () => end('closed'));
  });
  return {
    starting: starting.signal,
    serves() {
      serves = true;
    },
    ended,
    again() {
      const controller = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
      return controller.signal;
    },
  };
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);
