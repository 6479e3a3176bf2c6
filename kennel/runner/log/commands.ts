import type { Command } from '../../../src/contracts/kennel.ts';
import { LineFollower } from './line-follower.ts';

/**
 * Follows `commands.ndjson` and passes on each command of this run once. `onLater`: a later run of the task has begun.
 */
export function followCommands(
  path: string,
  step: number,
  onCommand: (command: Command) => void,
  onLater: () => void = () => {},
): LineFollower {
  const seen = new Set<string>();
  return new LineFollower(path, (line) => {
    const command = commandOf(line);
    if (command?.type === 'begin' && command.step > step) onLater();
    if (!command || command.step !== step || seen.has(command.id)) return;
    seen.add(command.id);
    onCommand(command);
  });
}

export function commandOf(line: Record<string, unknown>): Command | null {
  const { id, step, type } = line;
  if (typeof id !== 'string' || id.length > 200 || typeof step !== 'number') return null;
  if (type === 'cancel') return { id, step, type };
  if (type === 'begin' && typeof line.token === 'string') return { id, step, type, token: line.token };
  if (type === 'answer' && typeof line.questionId === 'string' && typeof line.answer === 'string') {
    return { id, step, type, questionId: line.questionId, answer: line.answer };
  }
  if (type === 'tell' && typeof line.wordsId === 'string' && typeof line.text === 'string')
    return { id, step, type, wordsId: line.wordsId, text: line.text };
  if (
    type === 'permit' &&
    typeof line.permissionId === 'string' &&
    (line.decision === 'allow' || line.decision === 'deny')
  ) {
    return { id, step, type, permissionId: line.permissionId, decision: line.decision };
  }
  return null;
}

/**
 * Whether this container may work. An engine that dies while it starts a container may leave it running without knowing
 * of it. So a container whose run waits begins only when it reads its own token, and ends when it reads another one.
 */
export class StartToken {
  /** the container may work and write the log */
  confirmed: boolean;
  private readonly own: string | undefined;
  private readonly told = Promise.withResolvers<void>();
  private upToDate = false;

  constructor(own: string | undefined, waits: boolean) {
    this.own = own;
    this.confirmed = !waits;
  }

  /** A container of this run was told to begin. */
  take(token: string): void {
    if (this.confirmed) return;
    if (token === this.own) {
      this.confirmed = true;
      this.told.resolve();
    } else if (this.upToDate) process.exit(1);
  }

  /** Tokens from before this container started were meant for an earlier one. What comes from now on counts. */
  caughtUp(): void {
    this.upToDate = true;
  }

  async untilConfirmed(): Promise<void> {
    if (!this.confirmed) await this.told.promise;
  }
}
