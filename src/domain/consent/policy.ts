import type { Autonomy, Danger } from '../../contracts/conversation.ts';
import type { DecidedBy } from '../../contracts/decision.ts';
import type { CallTaint } from '../../contracts/taint.ts';

export type Verdict = 'run' | 'ask' | 'refuse';

/**
 * What happens to a tool call: a pure function of how dangerous the tool is and how much the chat trusts the agent.
 * Wording plays no part in it, and no argument of the model can change it.
 */
const table: Record<Autonomy, Record<Danger, Verdict>> = {
  supervised: { SAFE: 'run', MODERATE: 'ask', DANGEROUS: 'ask' },
  cautious: { SAFE: 'run', MODERATE: 'run', DANGEROUS: 'ask' },
  autonomous: { SAFE: 'run', MODERATE: 'run', DANGEROUS: 'run' },
};

export const decide = (danger: Danger, autonomy: Autonomy, autoApprove: boolean): Verdict => (autoApprove ? 'run' : table[autonomy][danger]);

/** A question to the person is asked, whatever policy says of the others; so is what text of others may have led to, however much the chat trusts the agent. */
export const policyOf = (call: { name: string; danger: Danger }, autonomy: Autonomy, autoApprove: boolean, taint: CallTaint | null = null): Verdict =>
  call.name === 'ask_user' || (taint && taint.asks.length > 0) ? 'ask' : decide(call.danger, autonomy, autoApprove);

/** Nobody can be asked when a schedule fires: what would ask is refused. */
export const decideUnattended = (danger: Danger, autonomy: Autonomy, taint: CallTaint | null = null): Exclude<Verdict, 'ask'> =>
  table[autonomy][danger] === 'run' && !taint?.asks.length ? 'run' : 'refuse';

/**
 * Whether somebody's yes lets a call run. Where several people write, what is dangerous is approved by the owner, or by the person who asked for it;
 * what text of others may have led to only by the owner, because the others there are among those who wrote it. A no counts from anybody.
 */
export const mayApprove = (danger: Danger, by: { owner: boolean; asked: boolean }, tainted = false): boolean =>
  by.owner || (!tainted && (danger !== 'DANGEROUS' || by.asked));

/** Trust in the agent is the owner's to give: at the terminal, with the token, or from the owner's number. */
export const mayTrust = ({ role }: Pick<DecidedBy, 'role'>): boolean => role === 'owner' || role === 'terminal' || role === 'client';
