import { fileStamp, NO_FILE } from '../../adapters/file-stamp.ts';
import { mcpConfigFile } from '../../adapters/mcp/config-file.ts';
import { MINUTE } from '../../domain/time.ts';
import { ExtensionFiles } from './find-files.ts';
import { type FindDeps, findServers } from './find-servers.ts';

/** How soon a change of the file is seen. */
const FILE_MS = 2_000;
/** How often servers are asked whether what they offer has changed. */
const ASK_MS = 10 * MINUTE;
/** How soon they are asked again when one did not answer: an engine or a server may start later than this. */
const AGAIN_MS = 60_000;

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
