import type { ToolCallContent } from '@agentclientprotocol/sdk';

/** Editors show a whole file beside a small change badly, and a huge one not at all. */
const MOST_HUNKS = 50;

/**
 * Each hunk of a unified diff as editors show it: the lines before and after, with those around them. Empty for a text
 * that is no diff.
 */
export function diffsIn(text: string, pathOf: (path: string) => string, named?: string): ToolCallContent[] {
  const found: ToolCallContent[] = [];
  let path = named;
  let hunk: { before: string[]; after: string[] } | null = null;
  const end = (): void => {
    if (hunk && path !== undefined && found.length < MOST_HUNKS)
      found.push({
        type: 'diff',
        path: pathOf(path),
        oldText: hunk.before.length > 0 ? hunk.before.join('\n') : null,
        newText: hunk.after.join('\n'),
      });
    hunk = null;
  };
  for (const line of text.split('\n')) {
    if (line.startsWith('@@')) {
      end();
      hunk = { before: [], after: [] };
    } else if (hunk && /^[ +-]/.test(line)) {
      const content = line.slice(1);
      if (line[0] !== '+') hunk.before.push(content);
      if (line[0] !== '-') hunk.after.push(content);
    } else if (!line.startsWith('\\')) {
      end();
      const file = /^\+\+\+ (?:b\/)?(.+?)\t?$/.exec(line)?.[1];
      if (file && file !== '/dev/null') path = file;
    }
  }
  end();
  return found;
}
