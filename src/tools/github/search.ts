import { z } from 'zod';
import { searchRepositories } from '../../adapters/github/repositories.ts';
import { defineTool } from '../tool.ts';
import { text } from '../workspace/in-workspace.ts';
import { readAccess, retried } from './access.ts';
import { day, name, title } from './foreign-words.ts';

export const searchTool = defineTool({
  name: 'github_search_repos',
  family: 'github',
  effect: 'idempotent',
  runsIn: 'worker',
  timeoutMs: 60_000,
  danger: 'SAFE',
  reads: ['page'],
  readFrom: () => 'a search of GitHub',
  // nobody sees a search but the server that the owner has chosen for all of these tools
  sends: [],
  description: 'Search GitHub repositories. Qualifiers such as language:go or stars:>100 work.',
  schema: z.strictObject({ query: text(256).trim().min(1), limit: z.int().min(1).max(20).default(5) }),
  run: ({ query, limit }, context) =>
    retried(async () => {
      const { total, repositories } = await searchRepositories(await readAccess(context), query, limit);
      const lines = repositories.map(
        ({ fullName, description, stars, language, archived, updatedAt, url }) =>
          `${name(fullName)} ${title(description)} (${[...(language ? [name(language)] : []), `${stars} stars`, ...(archived ? ['archived'] : [])].join(', ')}, changed ${day(updatedAt)}) ${url}`,
      );
      return {
        ok: true,
        output:
          lines.length === 0
            ? 'No repository matches.'
            : `${lines.length} of ${total} repositories:\n${lines.join('\n')}`,
        metadata: { total, repositories },
      };
    }),
});
