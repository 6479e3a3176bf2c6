import type { Channel } from './ids.ts';

/**
 * `answered`: a question got an answer, or a plan got words that change it. `allow`/`deny`: an approval or a plan got
 * its decision.
 */
export type Decision = 'answered' | 'allow' | 'deny';

/**
 * Who wrote or decided something: the identity by which the channel knows a person. It is stored and never sent
 * anywhere.
 */
export interface Identity {
  /**
   * `client`: a program with the token of the HTTP API. `agent`: the model, on behalf of a person. `earlier`: decided
   * before identities were recorded.
   */
  role: 'owner' | 'trusted' | 'member' | 'terminal' | 'client' | 'agent' | 'earlier';
  channel?: Channel;
  /** the person's number or address on the channel, where the channel knows one */
  id?: string;
}

/** A question that a screen shows, and for how long it had shown it when the person sent the message. */
export interface Displayed {
  id: string;
  ms: number;
}

/** Who made a decision. `standing`: the question whose answer decides this one, too: it said "yes all", or showed both. */
export interface DecidedBy extends Identity {
  standing?: string;
}
