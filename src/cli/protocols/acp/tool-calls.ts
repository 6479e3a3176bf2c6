import { isAbsolute, join } from 'node:path';
import type { ToolCall, ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk';
import type { ItemRecord } from '../../../contracts/records.ts';

/** A call as `item.started` announces it. */
export interface StartedTool {
  id: string;
  name: string;
  input: Record<string, unknown>;
}

const KINDS: ReadonlyArray<readonly [RegExp, ToolKind]> = [
  [/^(file|folder)_delete$/, 'delete'],
  [/^(file_(write|edit)|undo)$/, 'edit'],
  [/^(file_search|web_search|recall|github_search_)/, 'search'],
  [/^(web_fetch|browser_open|workspace_clone)$/, 'fetch'],
  [/^(shell_run|app_)/, 'execute'],
  [/^(file_|git_(status|diff|log)|read_|workspace_(list|status)|task_status|github_.*_(list|view|status))/, 'read'],
];
const kindOf = (name: string): ToolKind => KINDS.find(([names]) => names.test(name))?.[1] ?? 'other';

/** Items that editors show as calls of tools. */
export const isTool = ({ kind }: Pick<ItemRecord, 'kind'>): boolean =>
  kind === 'tool_call' || kind === 'file_change' || kind === 'command_execution';

/** An output longer than this is cut: the editor keeps all of it in memory. */
const LONGEST_OUTPUT = 100_000;
const LONGEST_TITLE = 200;

export const words = (text: string): ToolCallContent => ({
  type: 'content',
  content: {
    type: 'text',
    text:
      text.length > LONGEST_OUTPUT
        ? `${text.slice(0, LONGEST_OUTPUT)}\n… (${text.length - LONGEST_OUTPUT} more characters)`
        : text,
  },
});

/** `workspaces`: the folder of the workspaces, because editors open files by their absolute paths. */
export function startedCall(tool: StartedTool, workspaces: string): ToolCall {
  const { id, name, input } = tool;
  return {
    toolCallId: id,
    title: titleOf(tool),
    name,
    kind: kindOf(name),
    status: 'in_progress',
    rawInput: input,
    ...located(input.path, input.workspace, workspaces),
  };
}

/** The result of a call so far. Differences are shown as such, everything else as text. */
export function endedCall(toolCallId: string, item: ItemRecord, workspaces: string): Omit<ToolCall, 'title'> {
  const { metadata = {}, detail = '', status } = item;
  const { path, diff, workspace } = metadata as { path?: unknown; diff?: unknown; workspace?: unknown };
  const at = (file: string) => absolute(file, workspace, workspaces);
  const diffs = typeof diff === 'string' ? diffsIn(diff, at, typeof path === 'string' ? path : undefined) : [];
  return {
    toolCallId,
    status: status === 'completed' ? 'completed' : 'failed',
    content: [...diffs, ...(diffs.length === 0 || status !== 'completed' ? [words(detail)] : [])],
    ...located(path, workspace, workspaces),
  };
}

/** `file_read notes.txt`, `shell_run npm test`: the name of the tool, and what it is about. */
function titleOf({ name, input }: StartedTool): string {
  const about = [
    input.command,
    input.path,
    input.url,
    input.query,
    input.pattern,
    input.question,
    input.goal,
    input.workspace,
  ].find((value) => typeof value === 'string' && value !== '') as string | undefined;
  const line = about?.replace(/\s+/g, ' ').trim() ?? '';
  return `${name}${line ? ` ${line}` : ''}`.slice(0, LONGEST_TITLE);
}

function located(path: unknown, workspace: unknown, workspaces: string): { locations?: ToolCallLocation[] } {
  if (typeof path !== 'string' || typeof workspace !== 'string') return {};
  return { locations: [{ path: absolute(path, workspace, workspaces) }] };
}

export const absolute = (path: string, workspace: unknown, workspaces: string): string =>
  isAbsolute(path) ? path : join(workspaces, typeof workspace === 'string' ? workspace : '', path);

/** Editors show a whole file beside a small change badly, and a huge one not at all. */
const MOST_HUNKS = 50;

/**
 * Each hunk of a unified diff as editors show it: the lines before and after, with those around them. Empty for a text
 * that is no diff. One without git's own lines, as people are asked with, is read where its file is named; between its
 * hunks stands `…`.
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
  const isPlain = named !== undefined && !/^@@/m.test(text);
  for (const line of text.split('\n')) {
    if (isPlain && !hunk && /^[ +-]/.test(line)) hunk = { before: [], after: [] };
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
