import { type FoundFile, readCustomTools, readSkills } from '../../adapters/extension-files.ts';
import { type Declaration, type ExtensionKind, KIND_WORDS, nameOf } from '../../domain/extensions/extension.ts';
import { forgetOthers, hashOf, noteFound, noteProblem } from '../../store/owner/extensions.ts';
import { tellScreens } from '../../store/turns/notices.ts';
import type { FindDeps } from './find-servers.ts';

/**
 * Reads custom tools and skills, and stores what has changed since the last look. What is new waits for the owner, who
 * is told once.
 */
export class ExtensionFiles {
  private readonly deps: FindDeps;
  private seen = '';

  constructor(deps: FindDeps) {
    this.deps = deps;
  }

  async look(): Promise<void> {
    const { FETCH_HOME: home } = this.deps.config;
    const [tools, skills] = await Promise.all([readCustomTools(home), readSkills(home)]);
    const now = JSON.stringify(
      [tools, skills].map((found) =>
        found.map(({ name, found: one }) => [name, typeof one === 'string' ? one : hashOf(one)]),
      ),
    );
    if (now === this.seen) return;
    await this.store('tool', tools);
    await this.store('skill', skills);
    this.seen = now;
  }

  private async store(kind: ExtensionKind, found: ReadonlyArray<FoundFile<Declaration>>): Promise<void> {
    const { db } = this.deps;
    const names: string[] = [];
    for (const { name, found: one } of found) {
      const known = typeof one === 'string' ? name : nameOf(one);
      // two files of one name: the first one counts
      if (names.includes(known)) continue;
      names.push(known);
      if (typeof one === 'string') await noteProblem(db, kind, known, one);
      else await this.note(one);
    }
    await forgetOthers(db, kind, names);
  }

  private async note(declaration: Declaration): Promise<void> {
    const { hash, isNew } = await noteFound(this.deps.db, declaration);
    if (!isNew) return;
    const { kind } = declaration;
    const name = nameOf(declaration);
    await tellScreens(
      this.deps.db,
      `ext-${hash.slice(0, 16)}`,
      `The ${KIND_WORDS[kind]} ${name} waits for your yes: \`tools show ${name}\`.`,
      true,
    );
  }
}
