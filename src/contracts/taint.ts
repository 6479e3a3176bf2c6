/** The words of taint: where text of other people comes from, and what must not happen on its word alone. */

/** What a turn may have read that the person did not write. */
export const SOURCE_KINDS = [
  /** a web page */
  'page',
  /** titles and snippets of a web search */
  'search',
  /** a file of a repository, or its history or file names */
  'file',
  /** output of a command, a test or another program */
  'command',
  /** a document or picture that came with a message, from any sender */
  'attachment',
  /** report or question of a coding agent */
  'report',
  /** the result of a workflow */
  'routine',
  /** a person other than the owner, in a group or in a quote */
  'member',
  /** a later part of an earlier tool result */
  'output',
  /** a tool of an MCP server */
  'mcp',
  /** a program that calls our tools over MCP: its model may have read anything */
  'client',
  /** stored before sources were recorded */
  'unknown',
] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

export interface Source {
  kind: SourceKind;
  /** which one, in a few words: a host, a path, a name */
  label: string;
}

/** Effects that leave the machine, outlast the turn outside a workspace, delete, or run a command. */
export const SINKS = [
  'fetch',
  'search',
  'publish',
  'push',
  'message',
  'schedule',
  'routine',
  'task',
  'egress',
  'memory',
  'settings',
  'browse',
  'mcp',
  'delete',
  'command',
] as const;
export type Sink = (typeof SINKS)[number];

/** Stored with a call that has a sink, or works in a workspace. */
export interface CallTaint {
  /** what the turn had read when the model made the call */
  sources: Source[];
  /** sinks that a person must allow; empty when all are granted, or when all that is sent is the person's own */
  asks: Sink[];
  /** no grant covers it: the person is asked each time */
  each?: true;
}
