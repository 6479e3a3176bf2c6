import { ASK_USER, type Autonomy, type Danger } from '../../contracts/conversation.ts';
import type { DecidedBy } from '../../contracts/decision.ts';
import type { CallTaint } from '../../contracts/taint.ts';
import type { Judged } from './judge.ts';

export type Verdict = 'run' | 'ask' | 'refuse';

/**
 * What happens to a tool call: a pure function of how dangerous the tool is and how much the chat trusts the agent. No
 * argument of the model changes it.
 */
const table: Record<Autonomy, Record<Danger, Verdict>> = {
  supervised: { SAFE: 'run', MODERATE: 'ask', DANGEROUS: 'ask' },
  cautious: { SAFE: 'run', MODERATE: 'run', DANGEROUS: 'ask' },
  autonomous: { SAFE: 'run', MODERATE: 'run', DANGEROUS: 'run' },
};

export const decide = (danger: Danger, autonomy: Autonomy, autoApprove: boolean): Verdict =>
  autoApprove ? 'run' : table[autonomy][danger];

/**
 * A question to the person is always asked, whatever policy says. So is a call that text of others may have caused,
 * however much the chat trusts the agent.
 */
export const policyOf = (
  call: { name: string; danger: Danger },
  autonomy: Autonomy,
  autoApprove: boolean,
  taint: CallTaint | null = null,
): Verdict =>
  call.name === ASK_USER || (taint && taint.asks.length > 0) ? 'ask' : decide(call.danger, autonomy, autoApprove);

/**
 * The same in a chat whose owner allows this kind of action in this project, once a judge has seen the action. The
 * judge can only let run what a cautious chat asks about; it makes nothing run that is a question.
 */
export const policyJudged = (
  verdict: Verdict,
  autonomy: Autonomy,
  judged: Judged | null | undefined,
  isAllowed: boolean,
): Verdict => (verdict === 'ask' && autonomy === 'cautious' && isAllowed && judged?.says === 'run' ? 'run' : verdict);

/** Nobody is there when a schedule fires, so a call that would ask is refused. */
export const decideUnattended = (
  danger: Danger,
  autonomy: Autonomy,
  taint: CallTaint | null = null,
): Exclude<Verdict, 'ask'> => (table[autonomy][danger] === 'run' && !taint?.asks.length ? 'run' : 'refuse');

/**
 * Whether a person's yes lets a call run. In a group, a dangerous call needs the owner or the person who asked for it.
 * A call that text of others may have caused needs the owner, because the others in the group are among those who wrote
 * it. Anybody's no counts.
 */
export const mayApprove = (danger: Danger, by: { owner: boolean; asked: boolean }, tainted = false): boolean =>
  by.owner || (!tainted && (danger !== 'DANGEROUS' || by.asked));

/**
 * Only the owner can change how much the agent is trusted: at the terminal, with the token, or from the owner's number.
 */
export const mayTrust = ({ role }: Pick<DecidedBy, 'role'>): boolean =>
  role === 'owner' || role === 'terminal' || role === 'client';

/** The owner, and a person whom the owner trusts, may let more money be spent. */
export const maySpend = (by: Pick<DecidedBy, 'role'>): boolean => mayTrust(by) || by.role === 'trusted';

/** Which tools a thread, or one turn of it, permits. */
export interface ToolAccess {
  /** as the client wrote it; only `plan` restricts: it may read and change nothing */
  mode: string;
  /** whether commands may be run */
  allowShell: boolean;
  /** families of tools besides the core that the owner allows a group; all when unset or null */
  families?: readonly string[] | null | undefined;
}

/** The turn's settings count first, the thread's where the turn has none. */
export const accessOf = (
  turn: { mode: string | null; allow_shell: boolean | null },
  thread: { mode: string; allow_shell: boolean },
): ToolAccess => ({
  mode: turn.mode ?? thread.mode,
  allowShell: turn.allow_shell ?? thread.allow_shell,
});

/** Why a turn may not use a tool, in words for the model; null when it may. */
export function closedTo(
  tool: { family: string; danger: Danger; needsShell?: boolean },
  { mode, allowShell, families }: ToolAccess,
): string | null {
  if (families && tool.family !== 'core' && !families.includes(tool.family))
    return 'It is not available here: the owner lets this group use other tools only.';
  if (tool.needsShell && !allowShell)
    return 'It is not available here: this chat may run no commands (allow_shell is false).';
  if (mode === 'plan' && tool.danger !== 'SAFE')
    return 'It is not available here: this chat plans and changes nothing (mode is plan).';
  return null;
}
