import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { type RunSpec, SETUP, SETUP_BYTES } from '../../../src/contracts/kennel.ts';
import type { Sanitiser } from '../log/sanitiser.ts';
import type { PendingQuestions, Reply } from './pending-questions.ts';

/**
 * What `fetch-setup` prints, and the HTTP status by which it knows its exit code: 200 the image has it, 202 later,
 * anything else no.
 */
interface Answer {
  status: number;
  text: string;
}

const no = (text: string): Answer => ({ status: 403, text });
const THERE: Answer = { status: 200, text: 'The image has what this script installs. Go on.' };
const AGREED: Answer = {
  status: 202,
  text: 'The person agreed. The image is built when you stop, so stop now: your session goes on in the new image, and is told whether the script worked.',
};
const LATER: Answer = {
  status: 202,
  text: 'There is no answer yet, and it may take hours. Finish what can be finished without it and then stop. The answer comes with the next message; do not propose it again.',
};
const DENIED = no('The person said no. Do without it, or say what that means for the work.');

export interface ProposalsOptions {
  spec: RunSpec;
  pending: PendingQuestions;
  /** the current one, because the runner learns secrets while it starts */
  sanitiser: () => Sanitiser;
  /** hash of the script that the image was made with */
  present: string | undefined;
}

/** Scripts that the agent proposes for the image, one at a time. Each is a question to the person. */
export class SetupProposals {
  private readonly options: ProposalsOptions;
  /** scripts that came to nothing, by their hash: they are not asked about again */
  private readonly refused = new Map<string, Answer>();
  private open: string | null = null;

  constructor(options: ProposalsOptions) {
    this.options = options;
    const { proposed } = options.spec;
    if (proposed) this.refused.set(proposed.sha256, no(proposed.answer));
  }

  /**
   * A script waits for its answer. The program that handed it in may be gone: agents end commands that take long, or go
   * on beside them.
   */
  get waits(): boolean {
    return this.open !== null;
  }

  async take(script: string): Promise<Answer> {
    const hash = createHash('sha256').update(script).digest('hex');
    if (hash === this.options.present) return THERE;
    const fault = this.refused.get(hash) ?? this.fault(script, hash);
    if (fault) return fault;
    this.open = hash;
    const reply = await this.options.pending.permit({
      title: 'install what a script of it needs root for',
      kind: SETUP,
      command: script,
    });
    this.open = null;
    return this.answerTo(reply, hash);
  }

  private fault(script: string, hash: string): Answer | null {
    if (this.options.spec.plan)
      return no(
        'Only a plan is made now. Say in it what must be installed, and propose the script when the work has begun.',
      );
    if (script.trim() === '') return no('The script is empty.');
    if (Buffer.byteLength(script) > SETUP_BYTES) return no(`The script is too long: ${SETUP_BYTES} bytes at most.`);
    if (this.options.sanitiser().text(script) !== script)
      return no(
        'The script has invisible characters, or something that looks like a key. A person could not see what it does.',
      );
    return this.open === null || this.open === hash
      ? null
      : no('Another script waits for an answer. Propose one at a time.');
  }

  private answerTo(reply: Reply, hash: string): Answer {
    if (reply.what === 'parked') return LATER;
    if (reply.what !== 'answer') return no('No more can be asked now.');
    if (reply.text !== 'allow') {
      this.refused.set(hash, DENIED);
      return DENIED;
    }
    // nothing of this container can have the new image
    this.options.pending.park();
    return AGREED;
  }
}

/** Takes scripts at a socket, for the program `fetch-setup`. Only processes of this container reach it. */
export async function serveProposals(socket: string, proposals: SetupProposals): Promise<{ close(): void }> {
  rmSync(socket, { force: true });
  const server = createServer((request, response) => {
    void read(request)
      .then((script) => proposals.take(script))
      .then(({ status, text }) => response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text))
      .catch(() => response.destroy());
  });
  // a person may take their time
  server.requestTimeout = 0;
  server.timeout = 0;
  server.maxConnections = 8;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, resolve);
  });
  return {
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A body that is longer than a script may be is cut after that, and refused for its length. */
async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if (size <= SETUP_BYTES) chunks.push(chunk);
    size += chunk.length;
  }
  return Buffer.concat(chunks).toString();
}
