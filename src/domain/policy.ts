import type { Autonomy, Danger } from '../contracts/conversation.ts';

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

/** A question to the person is asked, whatever policy says of the others. */
export const policyOf = (call: { name: string; danger: Danger }, autonomy: Autonomy, autoApprove: boolean): Verdict =>
  call.name === 'ask_user' ? 'ask' : decide(call.danger, autonomy, autoApprove);

/** Nobody can be asked when a schedule fires: what would ask is refused. */
export const decideUnattended = (danger: Danger, autonomy: Autonomy): Exclude<Verdict, 'ask'> => (table[autonomy][danger] === 'run' ? 'run' : 'refuse');

/**
 * Whether somebody's yes lets a call run. Where several people write, what is dangerous is approved by the owner, or by whoever asked for it;
 * a no counts from anybody.
 */
export const mayApprove = (danger: Danger, by: { owner: boolean; asked: boolean }): boolean => danger !== 'DANGEROUS' || by.owner || by.asked;
