import type { TestApp } from '../support/app.ts';
import type { TestGitHub } from '../support/github.ts';
import type { WhatsAppFixture } from '../support/whatsapp/fixture.ts';
import type { Person } from './person.ts';

/** What a story happens in: an instance, a local WhatsApp, a local GitHub and the owner's phone. */
export interface World {
  app: TestApp;
  fixture: WhatsAppFixture;
  github: TestGitHub;
  ann: Person;
  /** folder of a project */
  folder(project: string): string;
  /** git in a project, as its owner would call it */
  git(project: string, ...args: string[]): string;
  /** git in a repository on GitHub */
  onGitHub(repository: string, ...args: string[]): string;
}

/**
 * Between every two steps the processes may be killed, so a step is one thing that a person does or sees. What is under
 * way then must be found again by the next processes.
 */
export interface Step {
  sentence: string;
  act: () => Promise<unknown>;
  /**
   * The kill comes at once, before anything was begun. For the start of what never runs twice: a kill in the middle of
   * it is told to the person as an unknown outcome, and that is another story
   * (tests/integration/workspaces/github-once.test.ts).
   */
  killAtOnce?: true;
}

export interface Story {
  title: string;
  settings?: Record<string, string>;
  tell(world: World): Step[];
  /**
   * what must be there in the end, once, however often everything was killed; what phones show is counted for every
   * story
   */
  end(world: World): Promise<void>;
}

export const step = (sentence: string, act: Step['act'], options: { killAtOnce?: true } = {}): Step => ({
  sentence,
  act,
  ...options,
});
