import type { Channel } from './ids.ts';

/** `answered`: a question got an answer. `allow`/`deny`: an approval got its decision. */
export type Decision = 'answered' | 'allow' | 'deny';

/** Who wrote something, or decided something: the identity by which its channel knows a person. Kept in the store, never sent anywhere. */
export interface Identity {
  /** `client`: a program with the token of the HTTP API. `agent`: the model, in a person's place. `earlier`: decided before identities were recorded. */
  role: 'owner' | 'trusted' | 'member' | 'terminal' | 'client' | 'agent' | 'earlier';
  channel?: Channel;
  /** the person's number or address on the channel, where the channel knows one */
  id?: string;
}

/** Who made a decision. `standing`: the question whose "yes all" allows this one as well. */
export interface DecidedBy extends Identity {
  standing?: string;
}
