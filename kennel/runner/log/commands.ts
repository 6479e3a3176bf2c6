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
  if (
    type === 'permit' &&
    typeof line.permissionId === 'string' &&
    (line.decision === 'allow' || line.decision === 'deny')
  ) {
    return { id, step, type, permissionId: line.permissionId, decision: line.decision };
  }
  return null;
}
