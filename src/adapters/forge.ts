import type { Check } from '../domain/shipping/checks.ts';

/**
 * A server of pull requests, as far as one is watched and answered: GitHub now. GitLab's merge requests and Gitea's
 * pull requests have the same parts. All texts and names are of strangers.
 */
export interface Forge {
  /** the open pull request of a branch; null when there is none */
  find(branch: string): Promise<ForgePull | null>;
  make(wanted: { title: string; body: string; branch: string; base: string }): Promise<ForgePull>;
  look(number: number): Promise<ForgePull>;
  /** every check of a commit, whatever made it */
  checks(commit: string): Promise<Check[]>;
  /** the output of a check that failed, the end of it where it is long; empty where there is none */
  output(check: Pick<Check, 'kind' | 'id' | 'said'>): Promise<string>;
  /** what people have written about it, oldest first, the newest of thousands; and what the newest reviews decide */
  remarks(
    pull: Pick<ForgePull, 'number' | 'written'>,
  ): Promise<{ remarks: ForgeRemark[]; review: 'none' | 'approved' | 'changes requested' }>;
  /** writes a comment, once for each mark: a comment that has it already is left */
  comment(number: number, text: string, mark: string): Promise<void>;
  /** merges this commit; why not, when the server refuses */
  merge(number: number, commit: string): Promise<{ merged: true } | { merged: false; why: string }>;
}

export interface ForgePull {
  number: number;
  url: string;
  state: 'open' | 'merged' | 'closed';
  /** newest commit of its branch */
  head: string;
  /** null: the server has not worked it out yet */
  mergeable: boolean | null;
  /** how many comments there are about all of it, and about lines of it */
  written: { about: number; inCode: number };
}

export interface ForgeRemark {
  /** the same for each reading; another one when its text was changed */
  key: string;
  author: string;
  /** the author may write to the repository */
  inside: boolean;
  body: string;
  /** file and line; empty for a remark about all of it */
  place: string;
}
