import { type FoundFile, readCustomTools, readSkills } from '../../adapters/extension-files.ts';
import { fileStamp, NO_FILE } from '../../adapters/file-stamp.ts';
import { mcpConfigFile } from '../../adapters/mcp/configured.ts';
import { type Declaration, type ExtensionKind, nameOf } from '../../domain/extensions/extension.ts';
import { MINUTE } from '../../domain/time.ts';
import { forgetOthers, hashOf, noteFound, noteProblem } from '../../store/owner/extensions.ts';
import { tellScreens } from '../../store/turns/notices.ts';
import { type FindDeps, findServers } from './find-servers.ts';

/** How soon a change of the file is seen. */
const FILE_MS = 2_000;
/** How often servers are asked whether what they offer has changed. */
const ASK_MS = 10 * MINUTE;
/** How soon they are asked again when one did not answer: an engine or a server may start later than this. */
const AGAIN_MS = 60_000;

/**
 * Reads custom tools and skills, and stores what has changed since the last look. What is new waits for the owner, who
 * is told once.
 */
class ExtensionFiles {
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
      (say) => say('tools.new', { what: say(`tools.${kind}`, { name }), name }),
      true,
    );
  }
}

/**
 * Looks for MCP servers at the start, when their file changes, and every some minutes; and for custom tools and skills.
 * Returns a function that ends it.
 */
export function watchServers(deps: FindDeps): () => void {
  const stopped = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let seen: string | null = null;
  let askAt = 0;
  // one process of an instance is enough
  const files = deps.kennel ? null : new ExtensionFiles(deps);
  const round = async (): Promise<void> => {
    await files?.look();
    const now = fileStamp(mcpConfigFile(deps.config));
    if (now !== seen || (now !== NO_FILE && Date.now() >= askAt)) {
      // taken before the file is read, so that a change meanwhile is seen in the next round
      const answered = await findServers(deps, stopped.signal);
      seen = now;
      askAt = Date.now() + (answered ? ASK_MS : AGAIN_MS);
    }
  };
  const next = (): void => {
    round()
      .catch(
        (error: Error) =>
          void deps.log.warn({ error: error.message }, 'could not look for MCP servers; the next round tries again'),
      )
      .finally(() => {
        if (!stopped.signal.aborted) timer = setTimeout(next, FILE_MS).unref();
      });
  };
  next();
  return () => {
    stopped.abort();
    clearTimeout(timer);
  };
}
